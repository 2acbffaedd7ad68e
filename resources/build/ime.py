"""The table of input-method slips: the word that pinyin input writes in place of the one that was meant.

One slip each, in this order: another candidate for the same letters; one fuzzy sound (zh/z, ch/c, sh/s, n/l, f/h, ang/an,
eng/en, ing/in) in one syllable; one wrong key (a neighbour on the keyboard, a letter left out, a letter typed twice). A
candidate competes if it is common beside the word that was meant; a character, for where it is typed alone, gives way to
those only that are typed alone more often, and so stand before it.
"""

from collections import defaultdict
from collections.abc import Iterator

from homophone import LICENCE, SOURCE, offered, read_characters, toneless, usable_words
from sources import dictionary, table

from crt.perturbations.polarity import keeps_polarity

KEY_COUNT, CANDIDATE_COUNT = 20, 300
RARER = 20
"""How many times as often as the candidate the word that was meant may be counted."""
FIRST, FUZZY, WRONG_KEY = 2, 2, 1
INITIALS = (("zh", "z"), ("ch", "c"), ("sh", "s"), ("n", "l"), ("f", "h"))
FINALS = (("ang", "an"), ("eng", "en"), ("ing", "in"))
NAMES = ("nr", "ns", "nt", "nz")
"""How the tags of names begin."""
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def fuzzy(syllable: str) -> Iterator[str]:
    """Yield what somebody types for a syllable who does not hear one difference: shang -> sang, shan."""
    for one, other in (*INITIALS, *(pair[::-1] for pair in INITIALS)):
        if syllable.startswith(one) and not (len(one) == 1 and syllable[1:2] == "h"):
            yield other + syllable[len(one) :]
    for one, other in (*FINALS, *(pair[::-1] for pair in FINALS)):
        if syllable.endswith(one):
            yield syllable.removesuffix(one) + other


def neighbours(key: str) -> str:
    """Return the keys beside a key: left, right, above and below."""
    row = next(k for k, keys in enumerate(ROWS) if key in keys)
    at = ROWS[row].index(key)
    places = [(row, at - 1), (row, at + 1), (row - 1, at), (row - 1, at + 1), (row + 1, at - 1), (row + 1, at)]
    return "".join(ROWS[r][c] for r, c in places if 0 <= r < len(ROWS) and 0 <= c < len(ROWS[r]))


def misheard(letters: str) -> Iterator[str]:
    """Yield what one fuzzy syllable makes of the letters of a word."""
    syllables = letters.split(" ")
    for at, syllable in enumerate(syllables):
        for other in fuzzy(syllable):
            yield " ".join([*syllables[:at], other, *syllables[at + 1 :]])


def mistyped(letters: str) -> Iterator[str]:
    """Yield what one wrong key makes of some letters."""
    for at, key in enumerate(letters):
        yield letters[:at] + letters[at + 1 :]
        yield letters[:at] + key + letters[at:]
        for other in neighbours(key):
            yield letters[:at] + other + letters[at + 1 :]


def words() -> dict[str, list[str]]:
    """Return the slips of every word of two to four characters."""
    rows = {word: (toneless(sounds), count, tag) for word, sounds, count, tag in usable_words(KEY_COUNT)}
    spelt, typed = defaultdict(list), defaultdict(list)
    for word, (letters, count, _) in sorted(rows.items(), key=lambda row: (-row[1][1], row[0])):
        if count >= CANDIDATE_COUNT:
            spelt[letters].append(word)
            typed[letters.replace(" ", "")].append(word)
    entries = {}
    for word, (letters, count, tag) in rows.items():
        plain = letters.replace(" ", "")

        def fit(found: Iterator[str], word: str = word, count: int = count, tag: str = tag) -> list[str]:
            """Return what competes with the word, the most frequent first."""
            others = (other for other in dict.fromkeys(found) if other != word and len(other) == len(word))
            near = [other for other in others if rows[other][1] * RARER >= count and keeps_polarity(word, other)]
            allowed = [other for other in near if tag.startswith(NAMES) or not rows[other][2].startswith(NAMES)]
            return sorted(allowed, key=lambda other: (-rows[other][1], other))

        first = fit(iter(spelt[letters]))[:FIRST]
        heard = fit(other for wrong in misheard(letters) for other in spelt.get(wrong, ()))
        hit = fit(other for wrong in mistyped(plain) for other in typed.get(wrong, ()) if other not in heard)
        if options := [*first, *heard[:FUZZY], *hit[:WRONG_KEY]]:
            entries[word] = list(dict.fromkeys(options))
    return entries


def characters() -> dict[str, list[str]]:
    """Return the slips of every character: other characters for its letters that are typed alone more often."""
    spelt = defaultdict(list)
    for char, sound in sorted(offered().items(), key=lambda row: (-alone(row[0]), row[0])):
        spelt[sound[:-1]].append(char)
    entries = {}
    for key, char, sound in read_characters():
        before = (other for other in spelt[sound[:-1]] if alone(other) > alone(char))
        if options := [other for other in before if keeps_polarity(char, other)][:FIRST]:
            entries[key] = options
    return entries


def alone(char: str) -> int:
    """Return how often a character is counted as a word."""
    return dictionary().get(char, (0, ""))[0]


def build() -> str:
    """Return the text of resources/perturbations/ime.json."""
    return table("ime", characters() | words(), licence=LICENCE, source=SOURCE)
