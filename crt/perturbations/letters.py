"""Latin letters and digits for what sounds like them: 傻逼 -> 傻b, sb, 垃圾 -> lj, 三八 -> 38, 去死 -> q4.

The tables say what people were seen to write, for words, phrases and characters. What they do not say is a rule for
letters alone: the letter of a character is the initial of its syllable.
"""

from collections.abc import Collection, Iterator, Sequence

from crt.errors import ResourceError
from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import COUNTED, NUMERALS
from crt.perturbations.lexicon import OPPOSITES, content, count, others
from crt.perturbations.phrases import FUNCTION_WORDS, Phrase, by_phrase
from crt.records import Site
from crt.resources import Table

FREQUENT = 1000
"""How often jieba must have counted a word of two characters before its initials stand for it."""

FREQUENT_LONG = 100
"""The same for longer ones: fewer words share their initials."""

CLEAR = 0.25
"""How often, to one occurrence of a word, the words may occur that it might be too with a letter in the same place."""

AMOUNTS = frozenset(f"{NUMERALS}{COUNTED}第多对對大毛任号星点分时時等后後")
"""Characters beside which a digit reads as a part of an amount."""

PARTICLES = frozenset("了我你吧啊呀啦的")
"""Characters before which 4 still is 死; what else follows it seems to be counted."""


def letters(table: Table) -> SiteFinder:
    """Find the words and phrases that can be written with a letter for a character, or for each of a word.

    A function word, and a word of one character, is one only if the table knows it. Letters that mean something else, like
    tm, are in the field "reserved" of the table; they stand for the words that it lists only.
    """
    kept = reserved(table)

    def options(phrase: Phrase) -> tuple[str, ...]:
        known = [*_listed(table, phrase), *_listed_characters(table, phrase, range(len(phrase.text)))]
        ruled = [] if phrase.text in FUNCTION_WORDS else [*_ruled(phrase, table.entries, kept)]
        return _distinct(phrase, [*known, *ruled])

    return by_phrase(options, table.entries)


def digits(table: Table) -> SiteFinder:
    """Find the words and phrases that the table writes with a digit, where it reads as no amount.

    The table is trusted with numerals: it has them in words that are no amount, like 三八, and never alone.
    """

    def options(phrase: Phrase) -> tuple[str, ...]:
        characters = [at for at in range(len(phrase.text)) if _reads_on(phrase.text[at + 1 : at + 2])]
        return _distinct(phrase, [*_listed(table, phrase), *_listed_characters(table, phrase, characters)])

    return _no_amounts(by_phrase(options, table.entries))


def reserved(table: Table) -> frozenset[str]:
    """Return the small letters that mean something else, from the field "reserved" of a table.

    Raises:
        ResourceError: the field is no list of texts; the message names the file.
    """
    found = table.more.get("reserved", [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ResourceError(f'{table.path}: \'reserved\' must be a list of letters, like ["tm", "zb"]')
    return frozenset(map(str.lower, found))


def initials(phrase: Phrase, first: int, last: int) -> str:
    """Return the initials of some characters of a phrase; "" if the sound of one is unknown."""
    syllables = phrase.syllables[first:last]
    return "".join(syllable[0] for syllable in syllables) if all(syllables) else ""


def _listed(table: Table, phrase: Phrase) -> Iterator[str]:
    """Yield the phrase with what the table has for it, for its words, runs of them and parts of long ones."""
    for first, last in phrase.spans():
        if last - first > 1:
            for new in table.entries.get(phrase.text[first:last], ()):
                yield phrase.put(new, first, last)


def _listed_characters(table: Table, phrase: Phrase, places: Sequence[int]) -> Iterator[str]:
    """Yield the phrase with what the table has for characters of it, from the last one on: it is disguised most often."""
    for at in reversed(places):
        for new in table.entries.get(phrase.text[at], ()):
            yield phrase.put(new, at, at + 1)


def _ruled(phrase: Phrase, listed: Collection[str], kept: Collection[str]) -> Iterator[str]:
    """Yield the phrase with a letter in each word, then with the initials of one, which are read less easily."""
    spots = [
        (at, phrase.syllables[at][0])
        for first, last in phrase.spans()[: len(phrase.words)]
        for at in reversed(range(first, last))
        if phrase.syllables[at] and _clear(phrase, first, last, at, listed, kept)
    ]
    wholes = [
        (first, last, new)
        for first, last in phrase.spans()[: len(phrase.words)]
        if any(first <= at < last for at, _ in spots)
        if _frequent(phrase.text[first:last]) and (new := initials(phrase, first, last)) not in kept
    ]
    for style in (str.lower, str.upper):
        yield from (phrase.put(style(letter), at, at + 1) for at, letter in spots)
    yield from (phrase.put(new, first, last) for first, last, new in wholes if new)


def _clear(phrase: Phrase, first: int, last: int, at: int, listed: Collection[str], kept: Collection[str]) -> bool:
    """Tell whether a word is read with a letter in place of a character: any of a long or listed one, the last of two."""
    word, letter = phrase.text[first:last], phrase.syllables[at][0]
    if letter in kept or word in listed:
        return letter not in kept
    placed = last - first > 2 or (last - first == 2 and at == last - 1)
    return (
        placed
        and not {letter, phrase.text[at]} & {*kept, *OPPOSITES}
        and others(word, at - first, letter) <= CLEAR * count(word)
    )


def _frequent(word: str) -> bool:
    return content(word) and count(word) >= (FREQUENT if len(word) == 2 else FREQUENT_LONG)


def _no_amounts(find: SiteFinder) -> SiteFinder:
    """Leave out the digits of a finder that touch a number, what may be counted, or the digit of another site."""

    def clear(text: str) -> tuple[Site, ...]:
        found, touched = [], -1
        for site in find(text):
            options = tuple(new for new in site.options if _no_amount(text, site, new, touched))
            if options:
                found.append(site._replace(options=options))
                touched = site.end if any(new[-1].isdigit() for new in options) else -1
        return tuple(found)

    return clear


def _no_amount(text: str, site: Site, new: str, touched: int) -> bool:
    before, old, after = text[: site.start][-1:], text[site.start : site.end], text[site.end :][:1]
    if new[0].isdigit() and (site.start == touched or _counts(before)):
        return False
    return not new[-1].isdigit() or not (_counts(after) or (old[-1] == "死" and not _reads_on(after)))


def _reads_on(after: str) -> bool:
    """Tell whether a digit does not count what stands behind it."""
    return not after.isalpha() or after in PARTICLES


def _counts(char: str) -> bool:
    return char in AMOUNTS or char.isdigit() or (char.isascii() and char.isalpha())


def _distinct(phrase: Phrase, options: list[str]) -> tuple[str, ...]:
    return tuple(option for option in dict.fromkeys(options) if option != phrase.text)
