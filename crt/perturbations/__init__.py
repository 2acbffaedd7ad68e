"""The table of perturbations: one entry each, made of a site finder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from crt.errors import UnknownName, unknown
from crt.outside import imported, load_offered, offered, source_digest
from crt.perturbations.answering import in_script
from crt.perturbations.colloquial import colloquial
from crt.perturbations.engine import SiteFinder, checked
from crt.perturbations.evade import evade
from crt.perturbations.garden_path import garden_path
from crt.perturbations.guards import entries_meaning_alike, guarded, meaning_alike
from crt.perturbations.insertion import INVISIBLE, SPACE, blanks, punctuation
from crt.perturbations.own_words import NO_WORDS, OwnWords
from crt.perturbations.pinyin import pinyin
from crt.perturbations.polarity import entries_keeping_polarity
from crt.perturbations.slips import delete, repeat, slips, swap
from crt.perturbations.substitution import substitution
from crt.perturbations.synonym import synonym
from crt.perturbations.traditional import simplify, taiwan, traditional
from crt.perturbations.width import width
from crt.resources import OwnTable, Table, load_words, own_table


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
    """The user may give a list of words, the only ones to be disguised."""
    resources: tuple[str, ...] = ()
    """Other files below `resources` that its sites depend on."""
    libraries: tuple[str, ...] = ()
    """Distributions whose version its sites depend on."""
    trusted: frozenset[str] = frozenset()
    """What its rule or its table was read for, so that it may write it otherwise: "negations" (没 -> 沒), "numbers" (万 -> 萬), "polarity"."""
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


_READINGS = ("readings.json",)
_POLARITY = ("polarity.json",)

_WORDS = ("OpenCC", "jieba")
"""What tells the script of a text, and its words."""


def _evade(triggers: Table | None = None) -> SiteFinder:
    return evade(triggers, [load(name).find for name in WAYS_TO_EVADE])


WAYS_TO_EVADE = (
    "homophone",
    "pinyin",
    "split",
    "invisible",
    "space",
    "punctuation",
    "martian",
    "traditional",
    "simplified",
    "emoji",
)
"""What `evade` composes, the most usual first."""

_TABLES_TO_EVADE = tuple(f"perturbations/{name}.json" for name in ("homophone", "split", "martian", "emoji"))

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
            trusted=frozenset(("numbers",)), reads="text",
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
            "ime", "slips of pinyin input, a word for another: same letters, fuzzy sound, wrong key: 期间 -> 其间",
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
            "pinyin", "words written as pinyin or initials: 安全 -> anquan", pinyin, resources=_READINGS,
            libraries=_WORDS,
        ),
        Perturbation(
            "split", "characters taken apart: 好 -> 女子", substitution, "split", libraries=_WORDS, reads="looks",
            trusted=frozenset(("polarity",)),
        ),
        Perturbation(
            "invisible", "characters without a width between Han characters", partial(blanks, INVISIBLE),
            trusted=frozenset(("numbers",)), reads="text",
        ),
        Perturbation("width", "punctuation of the other width: ， -> ,", lambda: width, reads="text"),
        Perturbation(
            "martian", "characters dressed up (火星文): 我 -> 莪", substitution, "martian", resources=_POLARITY,
            libraries=_WORDS, reads="looks",
        ),
        Perturbation(
            "emoji", "emoji for words: 牛 -> 🐮", partial(substitution, within=False), "emoji", libraries=_WORDS,
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
            "evade", "words disguised from a filter, in one of the other ways; table=evade:FILE lists them", _evade,
            takes_words=True, resources=(*_POLARITY, *_READINGS, *_TABLES_TO_EVADE), libraries=_WORDS, reads="text",
        ),
        Perturbation("swap", "neighbouring characters of a word exchanged: 电影 -> 影电", partial(slips, swap), libraries=_WORDS),
        Perturbation("repeat", "characters typed twice: 电影 -> 电电影", partial(slips, repeat), libraries=_WORDS),
        Perturbation("delete", "characters left out: 电影 -> 影", partial(slips, delete, after_negators=False), libraries=_WORDS),
    )
}  # fmt: skip
"""The perturbations by name."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "sound": ("homophone", "ime", "evade"),
    "romanised": ("pinyin", "evade"),
    "look": ("shape",),
    "script": ("traditional", "traditional_tw", "martian", "evade"),
    "parts": ("split", "evade"),
    "inserted": ("space", "punctuation", "invisible", "evade"),
    "symbols": ("emoji", "evade"),
    "meaning": ("synonym", "synonym_all", "garden_path"),
    "chat": ("colloquial",),
    "width": ("width",),
    "keyboard": ("swap", "repeat", "delete"),
}
"""Perturbations that leave the same traces: whoever has seen one of a family has seen something of the others."""


def relatives(name: str) -> frozenset[str]:
    """Return the perturbations that share a family with this one, itself among them; of an unknown one itself alone."""
    return frozenset([name]).union(*(family for family in FAMILIES.values() if name in family))


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


def load(name: str, table: OwnTable | None = None, words: OwnWords = NO_WORDS) -> Loaded:
    """Return the perturbation of that name.

    Args:
        name: key of PERTURBATIONS.
        table: the user's own, or a list of words where it takes one.
        words: the user's own, which are spared or are all that is changed.

    Raises:
        UnknownName: there is none.
        ResourceError: its table is missing or malformed.
    """
    perturbation = find_perturbation(name)
    alike = "negations" not in perturbation.trusted
    loaded: Table | None = None
    if perturbation.table:
        loaded = kept = own_table(perturbation.table, table)
        if alike:
            kept = entries_meaning_alike(kept)
        if "polarity" not in perturbation.trusted:
            kept = entries_keeping_polarity(kept)
        find = perturbation.finder(kept)
    else:
        loaded = load_words(name, table.path) if table else None
        find = perturbation.finder(loaded) if table else perturbation.finder()
        find = meaning_alike(find) if alike else find
    find = guarded(words.restrict(find), numbers="numbers" not in perturbation.trusted)
    if perturbation.reads != "text":
        find = in_script(find, looks=perturbation.reads == "looks")
    return Loaded(perturbation, words.spare(find), loaded, words)
