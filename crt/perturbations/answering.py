"""Texts in traditional script: read in simplified script, as the tables are, and answered in their own."""

import re

from crt.perturbations.engine import SiteFinder
from crt.perturbations.script import holds_simplified, in_simplified, is_traditional, simplified
from crt.perturbations.text import HAN, dictionary
from crt.perturbations.traditional import in_traditional
from crt.records import Site


def in_script(find: SiteFinder, *, looks: bool = False) -> SiteFinder:
    """Find the sites of a text in traditional script by its simplified form; its options are in traditional script.

    A site whose options have no certain form there is left out. A text in simplified script is handed on as it is.

    Args:
        find: a finder whose words are in simplified script.
        looks: its options look like what they replace, so they hold between characters that both scripts share.
    """
    answered = _looking_alike if looks else _written_alike

    def found(text: str) -> tuple[Site, ...]:
        if not is_traditional(text):
            return find(text)
        plain = in_simplified(text)
        sites = []
        for start, end, options in find(plain):
            old = text[start:end]
            there = (answered(option, plain[start:end], old) for option in options)
            if kept := tuple(dict.fromkeys(option for option in there if option is not None and option != old)):
                sites.append(Site(start, end, kept))
        return tuple(sites)

    return found


def or_simplified(find: SiteFinder) -> SiteFinder:
    """Give the sites of a finder the simplified form of what they replace as their last option, where it is another."""

    def found(text: str) -> tuple[Site, ...]:
        sites = []
        for start, end, options in find(text):
            plain = in_simplified(text[start:end])
            other = (plain,) if plain not in (text[start:end], *options) else ()
            sites.append(Site(start, end, (*options, *other)))
        return tuple(sites)

    return found


def _looking_alike(option: str, plain: str, old: str) -> str | None:
    return option if plain == old and not holds_simplified(option) else None


def _written_alike(option: str, plain: str, old: str) -> str | None:
    """Return an option in the script of the text; the characters that it shares with what it replaces stay as they are."""
    if len(option) > 1 and option in dictionary():
        there = in_traditional(option)
        return there if there and simplified(there) == option else None
    pairs = dict(zip(plain, old, strict=True))
    if any(pairs[char] != own for char, own in zip(plain, old, strict=True)):  # 發 and 髮 in one word
        return None
    parts = [pairs.get(char) or in_traditional(char) if re.match(f"[{HAN}]", char) else char for char in option]
    return None if None in parts else "".join(part for part in parts if part)
