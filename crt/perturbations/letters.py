"""Latin letters and digits for what sounds like them: 傻逼 -> 傻b, sb, 垃圾 -> lj, 三八 -> 38, 去死 -> q4.

The tables say what people were seen to write, for words, phrases and characters. What they do not say is a rule: the letter
of a character is the initial of its syllable.
"""

from collections.abc import Iterator

from crt.perturbations.engine import SiteFinder
from crt.perturbations.phrases import FUNCTION_WORDS, Phrase, by_phrase
from crt.resources import Table


def letters(table: Table) -> SiteFinder:
    """Find the words and phrases that can be written with a letter for a character, or for each: small ones, then capitals.

    A function word is one only if the table knows it.
    """

    def options(phrase: Phrase) -> tuple[str, ...]:
        known = [*_listed(table, phrase), *_listed_characters(table, phrase)]
        if phrase.text in FUNCTION_WORDS:
            return _distinct(phrase, known)
        words, others = phrase.spans()[: len(phrase.words)], phrase.spans()[len(phrase.words) :]
        characters = [(at, at + 1) for at in reversed(range(len(phrase.text)))]
        spans = [*(span for span in words if span[1] - span[0] > 1), *characters, *others]
        return _distinct(phrase, [*known, *(new for span in spans for new in _initials(phrase, *span))])

    return by_phrase(options, table.entries)


def digits(table: Table) -> SiteFinder:
    """Find the words and phrases that can be written with a digit for a character; the others of a word may be letters.

    The table is trusted with numerals: it has them in words that are no amount, like 三八, and never alone.
    """

    def options(phrase: Phrase) -> tuple[str, ...]:
        known = [*_listed(table, phrase), *_listed_characters(table, phrase)]
        digit = {at: table.entries[char][0] for at, char in enumerate(phrase.text) if char in table.entries}
        mixed = (
            new
            for first, last in phrase.spans()[: len(phrase.words)]
            if not digit.keys().isdisjoint(range(first, last)) and last - first > 1
            for new in _initials(phrase, first, last, digit)
        )
        return _distinct(phrase, [*known, *mixed])

    return by_phrase(options, table.entries)


def _listed(table: Table, phrase: Phrase) -> Iterator[str]:
    """Yield the phrase with what the table has for it, for its words, runs of them and parts of long ones."""
    for first, last in phrase.spans():
        if last - first > 1:
            for new in table.entries.get(phrase.text[first:last], ()):
                yield phrase.put(new, first, last)


def _listed_characters(table: Table, phrase: Phrase) -> Iterator[str]:
    """Yield the phrase with what the table has for each character, from the last one on: it is disguised most often."""
    for at in reversed(range(len(phrase.text))):
        for new in table.entries.get(phrase.text[at], ()):
            yield phrase.put(new, at, at + 1)


def _initials(phrase: Phrase, first: int, last: int, digit: dict[int, str] | None = None) -> Iterator[str]:
    """Yield the phrase with initials for some of its characters, small ones and capitals; none if one cannot be read.

    A character that has a digit gets it instead.
    """
    digit = digit or {}
    if all(phrase.syllables[at] or at in digit for at in range(first, last)):
        new = "".join(digit.get(at, phrase.syllables[at][:1]) for at in range(first, last))
        yield phrase.put(new, first, last)
        yield phrase.put(new.upper(), first, last)


def _distinct(phrase: Phrase, options: list[str]) -> tuple[str, ...]:
    return tuple(option for option in dict.fromkeys(options) if option != phrase.text)
