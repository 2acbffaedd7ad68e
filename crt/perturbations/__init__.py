"""The table of perturbations: one entry each, made of a site finder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from crt.errors import lookup
from crt.perturbations.alignment import as_written
from crt.perturbations.colloquial import colloquial
from crt.perturbations.engine import SiteFinder
from crt.perturbations.evade import Way, evade, in_the_way_of
from crt.perturbations.garden_path import garden_path
from crt.perturbations.guards import entries_meaning_alike, guarded, meaning_alike, uncut
from crt.perturbations.insertion import INVISIBLE, SPACE, blanks, punctuation
from crt.perturbations.pinyin import pinyin
from crt.perturbations.slips import delete, repeat, slips, swap
from crt.perturbations.substitution import substitution
from crt.perturbations.synonym import synonym
from crt.perturbations.traditional import taiwan, traditional
from crt.perturbations.width import width
from crt.resources import Table, file_sha256, load_table, load_words


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
    """What its rule or its table was read for, so that it may write it otherwise: "negations" (没 -> 沒), "numbers" (万 -> 萬)."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A perturbation that is ready for use."""

    perturbation: Perturbation
    """The entry of PERTURBATIONS."""
    find: SiteFinder
    """The site finder, guarded."""
    table: Table | None
    """The table behind it."""
    ways: tuple[str, ...] = ()
    """Those of WAYS_TO_EVADE that the user chose."""


_READINGS = ("readings.json",)


LISTED = "listed"
"""The way to evade that a table lists for a word."""

WAYS_TO_EVADE = (
    LISTED, "homophone", "pinyin", "split", "invisible", "space", "punctuation", "martian", "traditional", "emoji",
)  # fmt: skip
"""How `evade` disguises a word, the most usual way first: as listed, or as another perturbation writes it."""

_TABLES_TO_EVADE = tuple(f"perturbations/{name}.json" for name in ("evade", "homophone", "split", "martian", "emoji"))


def _evade(table: Table, ways: Sequence[str] = ()) -> SiteFinder:
    def way(name: str) -> Way:
        return table.entries.__getitem__ if name == LISTED else in_the_way_of(load(name).find)

    return evade(table.entries, [way(name) for name in WAYS_TO_EVADE if name in (ways or WAYS_TO_EVADE)])


PERTURBATIONS: Mapping[str, Perturbation] = {
    p.name: p
    for p in (
        Perturbation(
            "homophone", "characters and words that sound the same: 权利 -> 权力", substitution, "homophone",
            resources=_READINGS, libraries=("jieba",),
        ),
        Perturbation(
            "shape", "characters that look alike: 晴 -> 睛", substitution, "shape", libraries=("jieba",)
        ),
        Perturbation(
            "traditional", "traditional script by phrase: 网络 -> 網絡", traditional, libraries=("OpenCC", "jieba"),
            trusted=frozenset(("negations", "numbers")),
        ),
        Perturbation(
            "space", "stray spaces between Han characters: 电影 -> 电 影", partial(blanks, SPACE),
            trusted=frozenset(("numbers",)),
        ),
        Perturbation(
            "punctuation", "stray punctuation between Han characters: 好看 -> 好，看", punctuation, libraries=("jieba",)
        ),
        Perturbation(
            "synonym", "words of the same meaning, from hand-written groups: 喜欢 -> 喜爱", synonym, "synonym",
            libraries=("jieba",), trusted=frozenset(("negations",)),
        ),
        Perturbation(
            "synonym_all", "the same with mined pairs: more words, somewhat less exact", synonym, "synonym_all",
            libraries=("jieba",), trusted=frozenset(("negations",)),
        ),
        Perturbation(
            "ime", "slips of pinyin input: first candidate, fuzzy sound, wrong key: 期间 -> 其间", substitution, "ime",
            resources=_READINGS, libraries=("jieba",),
        ),
        Perturbation(
            "colloquial", "slang, and what people mix up: 什么 -> 啥, 跑得快 -> 跑的快", colloquial, "colloquial",
            libraries=("jieba",),
        ),
        Perturbation(
            "garden_path", "synonyms that make another word seem to stand there: 肯定比现在好 -> 肯定比如今好", garden_path,
            "synonym", libraries=("jieba",),
        ),
        Perturbation(
            "pinyin", "words written as pinyin or initials: 安全 -> anquan", pinyin, resources=_READINGS,
            libraries=("jieba",),
        ),
        Perturbation("split", "characters taken apart: 好 -> 女子", substitution, "split", libraries=("jieba",)),
        Perturbation("invisible", "characters without a width between Han characters", partial(blanks, INVISIBLE), trusted=frozenset(("numbers",))),
        Perturbation("width", "punctuation of the other width: ， -> ,", lambda: width),
        Perturbation(
            "martian", "characters dressed up (火星文): 我 -> 莪", substitution, "martian", libraries=("jieba",)
        ),
        Perturbation("emoji", "emoji for words: 牛 -> 🐮", substitution, "emoji", libraries=("jieba",)),
        Perturbation(
            "traditional_tw", "traditional script with the words of Taiwan: 软件 -> 軟體", taiwan,
            libraries=("OpenCC", "jieba"), trusted=frozenset(("negations", "numbers")),
        ),
        Perturbation(
            "evade", "words that filters look for, disguised: 微信 -> 薇信; table=evade:FILE lists others", _evade, "evade",
            takes_words=True, resources=(*_READINGS, *_TABLES_TO_EVADE), libraries=("OpenCC", "jieba"),
        ),
        Perturbation("swap", "neighbouring characters of a word exchanged: 电影 -> 影电", partial(slips, swap), libraries=("jieba",)),
        Perturbation("repeat", "characters typed twice: 电影 -> 电电影", partial(slips, repeat), libraries=("jieba",)),
        Perturbation("delete", "characters left out: 电影 -> 影", partial(slips, delete, after_negators=False), libraries=("jieba",)),
    )
}  # fmt: skip
"""The perturbations by name."""

PAIRS = Perturbation("pairs", "what people wrote, from pairs of the user's own; pairs=FILE", as_written)
"""Stands beside PERTURBATIONS: it has sites in the texts of the pairs alone."""

REFERENCE_PERTURBATIONS = ("homophone", "shape", "traditional", "space", "punctuation", "synonym")
"""The perturbations of the reference protocol: the default grid."""


def load(name: str, table: Path | None = None, *, ways: tuple[str, ...] = ()) -> Loaded:
    """Return the perturbation of that name.

    Args:
        name: key of PERTURBATIONS.
        table: the user's own table, or a list of words where the perturbation takes one; None: the shipped table.
        ways: those of WAYS_TO_EVADE that listed words are disguised in; empty: all of them.

    Raises:
        UnknownName: there is none.
        ResourceError: its table is missing or malformed.
    """
    perturbation = lookup("perturbation", name, PERTURBATIONS)
    alike = "negations" not in perturbation.trusted
    if perturbation.takes_words:
        listed = _words_to_disguise(table)
        return Loaded(perturbation, uncut(meaning_alike(perturbation.finder(listed, ways))), listed, ways)
    loaded: Table | None = None
    if perturbation.table:
        loaded = load_table(perturbation.table, table)
        find = perturbation.finder(entries_meaning_alike(loaded) if alike else loaded)
    else:
        find = perturbation.finder()
        find = meaning_alike(find) if alike else find
    return Loaded(perturbation, guarded(find, numbers="numbers" not in perturbation.trusted), loaded)


def load_pairs(written: Mapping[str, str], path: Path) -> Loaded:
    """Return the perturbation of real pairs; what people wrote is not guarded.

    Args:
        written: how somebody wrote each text.
        path: the file that it is from.
    """
    entries = {text: (other,) for text, other in written.items()}
    return Loaded(PAIRS, as_written(written), Table(PAIRS.name, entries, file_sha256(path), modified=True, path=path))


def _words_to_disguise(path: Path | None) -> Table:
    """Return the table of `evade`; a list of words has the disguises that the shipped one knows."""
    if path is None or path.suffix == ".json":
        return load_table("evade", path)
    shipped, listed = load_table("evade").entries, load_words("evade", path)
    return replace(listed, entries={word: shipped.get(word, ()) for word in listed.entries})
