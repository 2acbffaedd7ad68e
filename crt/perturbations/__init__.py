"""The table of perturbations: one entry each, made of a site finder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from crt.errors import UnknownName, unknown
from crt.outside import imported, load_offered, offered, source_digest
from crt.perturbations.alignment import as_written
from crt.perturbations.answering import in_script, or_simplified
from crt.perturbations.colloquial import colloquial
from crt.perturbations.engine import SiteFinder, checked
from crt.perturbations.evade import Way, evade, in_the_way_of
from crt.perturbations.garden_path import garden_path
from crt.perturbations.guards import entries_meaning_alike, guarded, meaning_alike, uncut
from crt.perturbations.insertion import INVISIBLE, SPACE, blanks, punctuation
from crt.perturbations.letters import digits, letters
from crt.perturbations.mixture import mixture
from crt.perturbations.own_words import NO_WORDS, OwnWords
from crt.perturbations.pinyin import pinyin
from crt.perturbations.polarity import entries_keeping_polarity
from crt.perturbations.script import in_simplified
from crt.perturbations.signs import signs
from crt.perturbations.slips import delete, repeat, slips, swap
from crt.perturbations.substitution import substitution
from crt.perturbations.synonym import synonym
from crt.perturbations.traditional import simplify, taiwan, traditional
from crt.perturbations.width import width
from crt.resources import OwnTable, Table, file_sha256, joined, load_table, load_words, own_table


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A way in which people's writing differs from the text that a model was trained on."""

    name: str
    """Key of PERTURBATIONS; part of the key of the draws."""
    summary: str
    """One line for the reference page."""
    finder: Callable[..., SiteFinder]
    """Makes the site finder; takes the table if there is one, else nothing."""
    table: str | None = None
    """Its sites come from `resources/perturbations/<table>.json`, or from the user's own table of that form."""
    takes_words: bool = False
    """The user may give a list of words in place of the table: the ones to be disguised, in some ways."""
    resources: tuple[str, ...] = ()
    """Other files below `resources` that its sites depend on."""
    libraries: tuple[str, ...] = ()
    """Distributions whose version its sites depend on."""
    trusted: frozenset[str] = frozenset()
    """What its rule or its table was read for, so that it may write it otherwise: "negations" (没 -> 沒), "numbers" (万 -> 萬),
    "polarity", "latin" (B -> Ｂ)."""
    source: str = ""
    """Digest of the source of one from outside of crt; empty: it is one of crt's own."""
    reads: Literal["words", "looks", "text"] = "words"
    """What its sites come from: words, which are the same in either script; the looks of characters; the text as it stands."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A perturbation that is ready for use."""

    perturbation: Perturbation
    """The entry of PERTURBATIONS."""
    find: SiteFinder
    """The site finder, guarded."""
    table: Table | None
    """The table behind it."""
    words: OwnWords = NO_WORDS
    """The user's own words, to which its sites are bound."""
    ways: tuple[str, ...] = ()
    """Those of WAYS_TO_EVADE that the user chose."""


_READINGS = ("readings.json",)
_POLARITY = ("polarity.json",)

_WORDS = ("OpenCC", "jieba")
"""What tells the script of a text, and its words."""


def _evade(table: Table, ways: Sequence[str] = ()) -> SiteFinder:
    entries = {in_simplified(word): options for word, options in table.entries.items()}

    def way(name: str) -> Way:
        return entries.__getitem__ if name == LISTED else in_the_way_of(load(name).find)

    return evade(entries, [way(name) for name in WAYS_TO_EVADE if name in (ways or WAYS_TO_EVADE)])


def _mixture() -> SiteFinder:
    return mixture([load(name).find for name in MIXED])


MIXED = ("homophone", "letters", "signs", "pinyin", "digits", "split", "emoji_sound")
"""What `mixture` composes, by how many public comments hold it: 1.6-3.6 % homophones, 0.7-1.4 % initials, 0.6-1.1 % single
letters, 0.5 % signs, 0.3-0.6 % masks, at most 0.3 % digits and split characters."""

_TABLES_TO_MIX = tuple(f"perturbations/{name}.json" for name in MIXED if name not in ("signs", "pinyin"))

LISTED = "listed"
"""The way to evade that a table lists for a word."""

WAYS_TO_EVADE = (
    LISTED, "homophone", "letters", "pinyin", "signs", "digits", "emoji_sound", "split", "space", "punctuation", "invisible",
    "martian", "traditional", "simplified", "emoji",
)  # fmt: skip
"""How `evade` disguises a word, the most usual way first: as listed, or as another perturbation writes it."""

_TABLES_TO_EVADE = tuple(
    f"perturbations/{name}.json"
    for name in ("evade", "homophone", "letters", "digits", "emoji_sound", "split", "martian", "emoji")
)

PERTURBATIONS: Mapping[str, Perturbation] = {
    p.name: p
    for p in (
        Perturbation(
            "homophone", "characters and words that sound the same: 权利 -> 权力", substitution, "homophone",
            resources=(*_POLARITY, *_READINGS), libraries=_WORDS,
        ),
        Perturbation(
            "shape", "characters that look alike: 晴 -> 睛", substitution, "shape", resources=_POLARITY, libraries=_WORDS,
            reads="looks",
        ),
        Perturbation(
            "traditional", "traditional script by word: 网络 -> 網絡", traditional, libraries=_WORDS,
            trusted=frozenset(("negations", "numbers")), reads="text",
        ),
        Perturbation(
            "space", "stray spaces between Han characters: 电影 -> 电 影", partial(blanks, SPACE),
            trusted=frozenset(("negations", "numbers")), reads="text",
        ),
        Perturbation(
            "punctuation", "stray punctuation between Han characters: 好看 -> 好，看", punctuation, libraries=_WORDS
        ),
        Perturbation(
            "synonym", "words of the same meaning, from hand-written groups: 喜欢 -> 喜爱", synonym, "synonym",
            libraries=_WORDS, trusted=frozenset(("negations", "polarity")),
        ),
        Perturbation(
            "synonym_all", "the same with mined pairs: more words, somewhat less exact", synonym, "synonym_all",
            libraries=_WORDS, trusted=frozenset(("negations", "polarity")),
        ),
        Perturbation(
            "ime", "slips of pinyin input, a word for another: same letters or a fuzzy sound: 期间 -> 其间",
            partial(substitution, within=False), "ime", resources=(*_POLARITY, *_READINGS), libraries=_WORDS,
        ),
        Perturbation(
            "colloquial", "slang, and what people mix up: 什么 -> 啥, 跑得快 -> 跑的快", colloquial, "colloquial",
            libraries=_WORDS, trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "garden_path", "synonyms that make another word seem to stand there: 肯定比现在好 -> 肯定比如今好", garden_path,
            "synonym", libraries=_WORDS, trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "pinyin", "words, or a character of them, written as pinyin: 安全 -> anquan, 讨厌 -> 讨yan", pinyin,
            resources=(*_READINGS, "perturbations/letters.json"), libraries=_WORDS, trusted=frozenset(("negations",)),
        ),
        Perturbation(
            "letters", "a Latin letter for a character, or for each of a word: 傻逼 -> 傻b, 垃圾 -> lj", letters, "letters",
            resources=_READINGS, libraries=_WORDS, trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "digits", "digits that sound alike, where they read as no amount: 三八 -> 38, 去死 -> q4", digits, "digits",
            resources=_READINGS, libraries=_WORDS, trusted=frozenset(("numbers", "polarity")),
        ),
        Perturbation(
            "fuzzy", "sounds that many speakers do not tell apart, n/l, h/f, z/zh, in/ing: 牛奶 -> 流奶", substitution, "fuzzy",
            resources=(*_POLARITY, *_READINGS), libraries=_WORDS,
        ),
        Perturbation(
            "signs", "a sign inside a word, or a mask on a character: 垃圾 -> 垃*圾, 垃X", signs, resources=_READINGS,
            libraries=_WORDS,
        ),
        Perturbation(
            "split", "characters taken apart: 好 -> 女子", substitution, "split", libraries=_WORDS, reads="looks",
            trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "invisible", "characters without a width between Han characters", partial(blanks, INVISIBLE),
            trusted=frozenset(("negations", "numbers")), reads="text",
        ),
        Perturbation(
            "width", "punctuation of the other width, letters of another style: ， -> , B -> Ｂ", lambda: width,
            trusted=frozenset(("latin",)), reads="text",
        ),
        Perturbation(
            "martian", "characters dressed up (火星文): 我 -> 莪", substitution, "martian", resources=_POLARITY,
            libraries=_WORDS, reads="looks",
        ),
        Perturbation(
            "emoji", "emoji for words: 牛 -> 🐮", partial(substitution, within=False), "emoji", libraries=_WORDS,
            trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "emoji_sound", "emoji that sound alike: 妈的 -> 🐴的", substitution, "emoji_sound", libraries=_WORDS,
            trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "traditional_tw", "traditional script with the words of Taiwan: 软件 -> 軟體", taiwan,
            libraries=_WORDS, trusted=frozenset(("negations", "numbers")), reads="text",
        ),
        Perturbation(
            "simplified", "simplified script, for texts in traditional script: 網絡 -> 网络", simplify,
            libraries=_WORDS, trusted=frozenset(("negations", "numbers")), reads="text",
        ),
        Perturbation(
            "evade", "words that filters look for, disguised: 微信 -> 薇信; table=evade:FILE lists others", _evade, "evade",
            takes_words=True, resources=(*_POLARITY, *_READINGS, *_TABLES_TO_EVADE), libraries=_WORDS,
            trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "mixture", "each place in one of several ways, as posts mix them: 傻子都去死 -> 傻z都去4", _mixture,
            resources=(*_POLARITY, *_READINGS, *_TABLES_TO_MIX), libraries=_WORDS, trusted=frozenset(("numbers",)), reads="text",
        ),
        Perturbation("swap", "neighbouring characters of a word exchanged: 电影 -> 影电", partial(slips, swap), libraries=_WORDS),
        Perturbation("repeat", "characters typed twice: 电影 -> 电电影", partial(slips, repeat), libraries=_WORDS),
        Perturbation("delete", "characters left out: 电影 -> 影", partial(slips, delete, after_negators=False), libraries=_WORDS),
    )
}  # fmt: skip
"""The perturbations by name."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "sound": ("homophone", "ime", "fuzzy", "digits", "emoji_sound", "evade", "mixture"),
    "romanised": ("pinyin", "letters", "digits", "evade", "mixture"),
    "look": ("shape",),
    "script": ("traditional", "traditional_tw", "simplified", "martian", "evade"),
    "parts": ("split", "evade", "mixture"),
    "inserted": ("space", "punctuation", "invisible", "signs", "evade", "mixture"),
    "symbols": ("emoji", "emoji_sound", "evade", "mixture"),
    "meaning": ("synonym", "synonym_all", "garden_path"),
    "chat": ("colloquial",),
    "width": ("width",),
    "keyboard": ("swap", "repeat", "delete"),
}
"""Perturbations that leave the same traces: whoever has seen one of a family has seen something of the others."""


def relatives(name: str) -> frozenset[str]:
    """Return the perturbations that share a family with this one, itself among them; of an unknown one itself alone."""
    return frozenset([name]).union(*(family for family in FAMILIES.values() if name in family))


PAIRS = Perturbation("pairs", "what people wrote, from pairs of the user's own; pairs=FILE", as_written)
"""Stands beside PERTURBATIONS: it has sites in the texts of the pairs alone."""

REFERENCE_PERTURBATIONS = ("homophone", "shape", "traditional", "space", "punctuation", "synonym")
"""The perturbations of the reference protocol: the default grid."""


GROUP = "crt.perturbations"
"""The entry points by which an installed package offers a perturbation: the name, and the function that makes its site finder."""


def find_perturbation(name: str) -> Perturbation:
    """Return the perturbation of a name: a key of PERTURBATIONS, `PACKAGE.MODULE:FUNCTION`, or what a package offers.

    Those from outside are held to all guards, and their sites are looked at as they are found.

    Raises:
        UnknownName: there is none.
        CrtError: it cannot be imported.
    """
    if name in PERTURBATIONS:
        return PERTURBATIONS[name]
    point = offered(GROUP, name)
    if point is None and ":" not in name:
        raise UnknownName(unknown("perturbation", name, PERTURBATIONS))
    factory = load_offered(point) if point else imported(name)
    summary = (factory.__doc__ or "").strip().partition("\n")[0]
    return Perturbation(
        name, summary, lambda: checked(factory(), name), libraries=_WORDS, source=source_digest(factory)
    )


def load(name: str, table: OwnTable | None = None, words: OwnWords = NO_WORDS, *, ways: tuple[str, ...] = ()) -> Loaded:
    """Return the perturbation of that name.

    Args:
        name: key of PERTURBATIONS.
        table: the user's own, or a list of words where it takes one.
        words: the user's own, which are spared or are all that is changed.
        ways: those of WAYS_TO_EVADE that listed words are disguised in; empty: all of them.

    Raises:
        UnknownName: there is none.
        ResourceError: its table is missing or malformed.
    """
    perturbation = find_perturbation(name)
    trusted = perturbation.trusted
    loaded: Table | None = None
    if perturbation.takes_words:
        loaded = _words_to_disguise(table)
        find = uncut(words.restrict(meaning_alike(perturbation.finder(loaded, ways))))
    else:
        if perturbation.table:
            loaded = kept = own_table(perturbation.table, table)
            if "negations" not in trusted:
                kept = entries_meaning_alike(kept)
            if "polarity" not in trusted:
                kept = entries_keeping_polarity(kept)
            find = perturbation.finder(kept)
        else:
            find = perturbation.finder()
            find = find if "negations" in trusted else meaning_alike(find)
        find = guarded(
            words.restrict(find),
            numbers="numbers" not in trusted,
            latin="latin" not in trusted,
            negating="negations" not in trusted,
        )
    if perturbation.reads != "text":
        find = in_script(find, looks=perturbation.reads == "looks")
    if perturbation.takes_words and "simplified" in (ways or WAYS_TO_EVADE):
        find = or_simplified(find)
    return Loaded(perturbation, words.spare(find), loaded, words, ways)


def load_pairs(written: Mapping[str, str], path: Path) -> Loaded:
    """Return the perturbation of real pairs; what people wrote is not guarded.

    Args:
        written: how somebody wrote each text.
        path: the file that it is from.
    """
    entries = {text: (other,) for text, other in written.items()}
    return Loaded(PAIRS, as_written(written), Table(PAIRS.name, entries, file_sha256(path), modified=True, path=path))


def _words_to_disguise(own: OwnTable | None) -> Table:
    """Return the table of `evade`; a list of words has the disguises that the shipped one knows."""
    if own is None or own.path.suffix == ".json":
        return own_table("evade", own)
    shipped, listed = load_table("evade"), load_words("evade", own.path)
    table = replace(listed, entries={word: shipped.entries.get(in_simplified(word), ()) for word in listed.entries})
    return joined(table, shipped) if own.adds else table
