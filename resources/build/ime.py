"""The table of input-method slips: what pinyin input writes in place of a word or a character.

Three slips, in this order: the first candidates for the same letters; a fuzzy initial or final (zh/z, ch/c, sh/s, n/l,
ang/an, eng/en, ing/in); one wrong key (a neighbour on the keyboard, a letter left out, a letter typed twice).
"""

from collections import defaultdict
from collections.abc import Iterator

from homophone import LICENCE, NAMES, SOURCE, UNSEEMLY, offered, read_characters, toneless, usable_words
from sources import table

KEY_COUNT, CANDIDATE_COUNT = 100, 500
FIRST, FUZZY, WRONG_KEY = 2, 2, 1
FOLDS = (("zh", "z"), ("ch", "c"), ("sh", "s"))
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def fold(syllable: str) -> str:
    """Return the syllable as somebody types it who does not hear the difference: shang -> san."""
    for full, flat in FOLDS:
        if syllable.startswith(full):
            syllable = flat + syllable[2:]
    if syllable.startswith("n") and syllable != "n":
        syllable = "l" + syllable[1:]
    return syllable[:-1] if syllable.endswith(("ang", "eng", "ing")) else syllable


def folded(letters: str) -> str:
    """Fold every syllable of a word."""
    return " ".join(fold(syllable) for syllable in letters.split(" "))


def neighbours(key: str) -> str:
    """Return the keys beside a key: left, right, above and below."""
    row = next(k for k, keys in enumerate(ROWS) if key in keys)
    at = ROWS[row].index(key)
    places = [(row, at - 1), (row, at + 1), (row - 1, at), (row - 1, at + 1), (row + 1, at - 1), (row + 1, at)]
    return "".join(ROWS[r][c] for r, c in places if 0 <= r < len(ROWS) and 0 <= c < len(ROWS[r]))


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
    same, fuzzy, typed = defaultdict(list), defaultdict(list), defaultdict(list)
    candidates = [word for word, (_, count, tag) in rows.items() if count >= CANDIDATE_COUNT and tag not in NAMES]
    for word in sorted(
        (word for word in candidates if not UNSEEMLY & set(word)), key=lambda word: (-rows[word][1], word)
    ):
        letters = rows[word][0]
        same[letters].append(word)
        fuzzy[folded(letters)].append(word)
        typed[letters.replace(" ", "")].append(word)
    entries = {}
    for word, (letters, _, _) in rows.items():
        first = [other for other in same[letters] if other != word][:FIRST]
        near = [other for other in fuzzy[folded(letters)] if rows[other][0] != letters and len(other) == len(word)]
        plain = letters.replace(" ", "")
        slips = {other for wrong in mistyped(plain) if wrong != plain and wrong in typed for other in typed[wrong][:1]}
        wrong = sorted(slips - {word} - set(near), key=lambda other: (-rows[other][1], other))
        if options := [*first, *near[:FUZZY], *wrong[:WRONG_KEY]]:
            entries[word] = options
    return entries


def characters() -> dict[str, list[str]]:
    """Return the slips of every character: the first candidates for its letters, then those of a fuzzy syllable."""
    same, fuzzy = defaultdict(list), defaultdict(list)
    for char, sound in offered().items():
        same[sound[:-1]].append(char)
        fuzzy[fold(sound[:-1])].append(char)
    entries = {}
    for key, char, sound in read_characters():
        syllable = sound[:-1]
        first = [other for other in same[syllable] if other != char][: FIRST + 1]
        near = [other for other in fuzzy[fold(syllable)] if other != char and other not in same[syllable]]
        if options := [*first, *near[:FUZZY]]:
            entries[key] = options
    return entries


def build() -> str:
    """Return the text of resources/perturbations/ime.json."""
    return table("ime", characters() | words(), licence=LICENCE, source=SOURCE)
