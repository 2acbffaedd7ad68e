"""The table of perturbations: one entry each, made of a site finder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from crt.perturbations.engine import SiteFinder
from crt.perturbations.insertion import PUNCTUATION, insertion
from crt.perturbations.substitution import substitution
from crt.perturbations.synonym import synonym
from crt.perturbations.traditional import traditional
from crt.resources import Table, load_table


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A way in which people's writing differs from the text that a model was trained on."""

    name: str
    """Key of PERTURBATIONS; part of the key of the draws."""
    summary: str
    """One line for the reference page."""
    finder: Callable[..., SiteFinder]
    """Makes the site finder; takes the table if `has_table`, else nothing."""
    has_table: bool = False
    """Its sites come from `resources/perturbations/<name>.json`."""
    libraries: tuple[str, ...] = ()
    """Distributions whose version its sites depend on."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A perturbation that is ready for use."""

    perturbation: Perturbation
    """The entry of PERTURBATIONS."""
    find: SiteFinder
    """The site finder."""
    table: Table | None
    """The table behind it."""


PERTURBATIONS: Mapping[str, Perturbation] = {
    p.name: p
    for p in (
        Perturbation("homophone", "characters and words that sound the same: 安全 -> 按全", substitution, True),
        Perturbation("shape", "characters that look alike: 未 -> 末", substitution, True),
        Perturbation(
            "traditional", "traditional script by phrase: 网络 -> 網絡", traditional, libraries=("OpenCC", "jieba")
        ),
        Perturbation("space", "stray spaces between Han characters: 电影 -> 电 影", lambda: insertion((" ",))),
        Perturbation(
            "punctuation", "stray punctuation between Han characters: 好看 -> 好，看", lambda: insertion(PUNCTUATION)
        ),
        Perturbation("synonym", "words of the same meaning: 喜欢 -> 喜爱", synonym, True, libraries=("jieba",)),
    )
}
"""The perturbations by name."""


def load(name: str, table: Path | None = None) -> Loaded:
    """Return the perturbation of that name, with the user's own `table` if one is given.

    Raises:
        ResourceError: its table is missing or malformed.
    """
    perturbation = PERTURBATIONS[name]
    if not perturbation.has_table:
        return Loaded(perturbation, perturbation.finder(), None)
    loaded = load_table(name, table)
    return Loaded(perturbation, perturbation.finder(loaded), loaded)
