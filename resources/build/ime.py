"""The table of input-method slips: what pinyin input writes in place of a word or a character.

Three slips, in this order: the first candidates for the same letters; a fuzzy initial or final (zh/z, ch/c, sh/s, n/l,
ang/an, eng/en, ing/in); one wrong key (a neighbour on the keyboard, a letter left out, a letter typed twice).
"""

from collections import defaultdict
from collections.abc import Iterator

from homophone import CHAR_COUNT, NAMES, UNSEEMLY, safe, toneless, word_sounds
from readings import MAIN_SHARE, OPTION_SHARE, mains, phrases
from sources import common, dictionary, frequency, table

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
    known = set(common(2))
    rows = {}
    for word, (count, tag) in dictionary().items():
        usable = 2 <= len(word) <= 4 and count >= KEY_COUNT and set(word) <= known and safe(word)
        if usable and (sounds := word_sounds(word)):
            rows[word] = (toneless(sounds), count, tag)
    same, fuzzy, typed = defaultdict(list), defaultdict(list), defaultdict(list)
    offered = [word for word, (_, count, tag) in rows.items() if count >= CANDIDATE_COUNT and tag not in NAMES]
    for word in sorted((word for word in offered if not UNSEEMLY & set(word)), key=lambda word: (-rows[word][1], word)):
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
    for char in sorted(common(), key=lambda char: (-frequency().get(char, 0), char)):
        main = mains()[char]
        if main.share >= OPTION_SHARE and frequency().get(char, 0) >= CHAR_COUNT and safe(char):
            same[main.sound[:-1]].append(char)
            fuzzy[fold(main.sound[:-1])].append(char)
    odd = defaultdict(set)
    for phrase, sounds in phrases().items():
        for char, sound in zip(phrase, sounds, strict=True):
            odd[char].add(sound)
    entries = {}
    for char in filter(safe, common(2)):
        main = mains()[char]
        readings = {main.sound, *odd[char]}
        for sound in sorted(readings):
            syllable = sound[:-1]
            first = [other for other in same[syllable] if other != char][: FIRST + 1]
            near = [other for other in fuzzy[fold(syllable)] if other != char and other not in same[syllable]]
            if options := [*first, *near[:FUZZY]]:
                plain = main.share >= MAIN_SHARE and len(readings) == 1
                entries[char if plain else f"{char}/{sound}"] = options
    return entries


def build() -> str:
    """Return the text of resources/perturbations/ime.json."""
    return table(
        "ime",
        characters() | words(),
        licence="Unicode-DFS-2016 and MIT",
        source="Unihan 14.0.0, pypinyin 0.55.0 (readings of phrases), jieba 0.42.1 (words and their counts), changed",
    )
