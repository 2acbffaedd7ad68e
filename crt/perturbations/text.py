"""What the site finders share: Han characters and word boundaries."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from itertools import accumulate, zip_longest

from crt.errors import ResourceError

log = logging.getLogger(__name__)

HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""Character class of Han characters, for a regular expression."""

BETWEEN_HAN = re.compile(f"(?<=[{HAN}])(?=[{HAN}])")
"""The gap between two neighbouring Han characters."""

UNSAFE = re.compile("[\0\ud800-\udfff]")
"""Code points that a library in C or Rust would stop at; it is given a "?" in their place."""


DICTIONARY = "7197c3211ddd98962b036cdf40324d1ea2bfaa12bd028e68faa70111a88e12a8"
"""SHA-256 of the dictionary of jieba 0.42.1: a fingerprint names the version alone, so there is no other."""

RJIEBA = "0.2.2"
"""The release of rjieba that was seen to cut as jieba does; another one may bring another dictionary."""


@cache
def _words_file() -> bytes:
    """Return jieba's dictionary, as it lies in the package."""
    import jieba

    with jieba.Tokenizer().get_dict_file() as file:
        content: bytes = file.read()
        place = getattr(file, "name", "dict.txt of jieba")
    if (found := sha256(content).hexdigest()) != DICTIONARY:
        raise ResourceError(
            f"{place} has the SHA-256 {found[:16]}…, that of jieba 0.42.1 has {DICTIONARY[:16]}…: other words would give other "
            "numbers under the same fingerprint; install jieba again: pip install --force-reinstall jieba==0.42.1"
        )
    return content


@cache
def _cut_of_jieba() -> Callable[[str], Iterable[str]]:
    """Return what cuts by jieba's dictionary alone: words that others add to `jieba.dt` do not count.

    jieba itself would read a cache that lies in the temporary folder of the machine, where anyone may have written it.
    """
    import jieba

    cutter = jieba.Tokenizer()
    cutter.FREQ, cutter.total = cutter.gen_pfdict(BytesIO(_words_file()))
    cutter.initialized = True
    return partial(cutter.cut, HMM=False)


@cache
def _cutter() -> tuple[str, Callable[[str], Iterable[str]]]:
    """Return what cuts texts into words: its name, and how."""
    try:
        import rjieba
    except ImportError:
        return f"jieba {version('jieba')}", _cut_of_jieba()
    if version("rjieba") != RJIEBA:
        log.info("rjieba %s was not compared with jieba, %s was: jieba does the work", version("rjieba"), RJIEBA)
        return f"jieba {version('jieba')}", _cut_of_jieba()
    return f"rjieba {RJIEBA}", partial(
        rjieba.Jieba().cut, hmm=False
    )  # its own: others may add words to that of the module


def cutter() -> str:
    """Return the library that cuts texts into words, with its version."""
    return _cutter()[0]


def tokens(text: str) -> list[str]:
    """Return the words of a text: jieba's dictionary segmentation, without guessing unknown words.

    Where rjieba is installed it does the work, about 10 times as fast and with the same result.

    Raises:
        ResourceError: the dictionary is not that of jieba 0.42.1.
    """
    return list(_cutter()[1](UNSAFE.sub("?", text)))


def words(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word."""
    ends = list(accumulate(map(len, tokens(text))))
    return list(zip([0, *ends[:-1]], ends, strict=False))  # an empty text has no end, and one start too many


@cache
def dictionary() -> Mapping[str, tuple[int, str]]:
    """Return count and part of speech of each word of jieba's dictionary."""
    rows = (line.split() for line in _words_file().decode().splitlines())
    return {word: (int(count), tag) for word, count, tag in rows}


_GRAMMAR = ("c", "d", "e", "f", "m", "p", "q", "r", "u", "v", "y")
"""How jieba's tags begin of what stands beside a word of one character without making a name together with it."""

_UNTAGGED = frozenset("很较每仍您虽且稍此者们啊哦唉")
"""Others of them, of which the dictionary does not say what they are."""


NAMES = ("nr", "ns", "nt", "nz")
"""How jieba's tags of names begin: of persons, places, bodies and brands."""


def tag_of(word: str) -> str:
    """Return the part of speech of a word, as jieba's dictionary has it; empty if it lacks the word."""
    return dictionary().get(word, (0, ""))[1]


def in_turn(columns: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the first of each column, then the second of each, and so on."""
    return (option for row in zip_longest(*columns) for option in row if option is not None)


@cache
def grammatical(word: str) -> bool:
    """Tell whether a word makes no name together with a character beside it, as 皮 does in 里皮; marks do not either."""
    return len(word) != 1 or not word.isalpha() or word in _UNTAGGED or tag_of(word).startswith(_GRAMMAR)
