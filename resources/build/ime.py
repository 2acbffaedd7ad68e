"""The table of input-method slips: the word that pinyin input writes in place of the one that was meant.

One slip each, in this order: another candidate for the same letters; one fuzzy sound (zh/z, ch/c, sh/s, n/l, f/h before u,
ang/an, eng/en, ing/in) in one syllable. A wrong key is none of them: what it makes is a word that a reader cannot undo. What
names, counts or dates something has no fuzzy sound. A candidate competes if it is common beside the word that was meant; a
character, for where it is typed alone, gives way to those only that are typed alone many times as often, and so stand
before it.
"""

from collections import defaultdict
from collections.abc import Iterator

from fuzzy import misheard
from homophone import LICENCE, SOURCE, offered, read_characters, toneless, usable_words
from sources import dictionary, table

from crt.perturbations.guards import QUANTITY
from crt.perturbations.polarity import keeps_polarity

KEY_COUNT, CANDIDATE_COUNT = 20, 300
RARER = 20
"""How many times as often as the candidate the word that was meant may be counted."""
ALONE = 5
"""How many times as often as a character those are typed alone that it gives way to."""
FIRST, FUZZY = 2, 2
NAMES = ("nr", "ns", "nt", "nz", "t")
"""How the tags of names and times begin: not put in."""
FACTS = (*NAMES, "m", "r")
"""The same of counts, and of who or what is meant, too: no fuzzy sound changes one, or makes one."""
PEOPLE = tuple("人父母师官工友士长员者客兵使委")
"""How words end that name a person: not put in."""


def fuzzy(letters: str) -> Iterator[str]:
    """Yield what one fuzzy syllable makes of the letters of a word."""
    syllables = letters.split(" ")
    for at, syllable in enumerate(syllables):
        for other in misheard(syllable):
            yield " ".join([*syllables[:at], other, *syllables[at + 1 :]])


def words() -> dict[str, list[str]]:
    """Return the slips of every word of two to four characters."""
    rows = {word: (toneless(sounds), count, tag) for word, sounds, count, tag in usable_words(KEY_COUNT)}
    spelt = defaultdict(list)
    for word, (letters, count, tag) in sorted(rows.items(), key=lambda row: (-row[1][1], row[0])):
        if count >= CANDIDATE_COUNT and not tag.startswith(NAMES) and not word.endswith(PEOPLE):
            spelt[letters].append(word)
    entries = {}
    for word, (letters, count, tag) in rows.items():
        if tag.startswith("m") or QUANTITY.fullmatch(word):
            continue

        def fit(found: Iterator[str], word: str = word, count: int = count) -> list[str]:
            """Return what competes with the word, the most frequent first."""
            others = (other for other in dict.fromkeys(found) if other != word and len(other) == len(word))
            near = [other for other in others if rows[other][1] * RARER >= count and keeps_polarity(word, other)]
            return sorted(near, key=lambda other: (-rows[other][1], other))

        first = fit(iter(spelt[letters]))[:FIRST]
        alike = (other for wrong in fuzzy(letters) for other in spelt.get(wrong, ()))
        heard = [] if tag.startswith(FACTS) else fit(other for other in alike if not rows[other][2].startswith(FACTS))
        if options := [*first, *heard[:FUZZY]]:
            entries[word] = options
    return entries


def characters() -> dict[str, list[str]]:
    """Return the slips of every character: other characters for its letters that are typed alone much more often."""
    spelt = defaultdict(list)
    for char, sound in sorted(offered().items(), key=lambda row: (-alone(row[0]), row[0])):
        spelt[sound[:-1]].append(char)
    entries = {}
    for key, char, sound in read_characters():
        before = (other for other in spelt[sound[:-1]] if alone(other) > ALONE * alone(char))
        if options := [other for other in before if keeps_polarity(char, other)][:FIRST]:
            entries[key] = options
    return entries


def alone(char: str) -> int:
    """Return how often a character is counted as a word."""
    return dictionary().get(char, (0, ""))[0]


def build() -> str:
    """Return the text of resources/perturbations/ime.json."""
    return table("ime", characters() | words(), licence=LICENCE, source=SOURCE)
