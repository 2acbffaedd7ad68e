"""Simplified script turned into traditional script, by phrase: 头发 and 发展 get different 发.

The whole text is converted (OpenCC, configuration s2tw: the forms that people in Taiwan type) and compared with the
original; a word that changes is one site, so that no word is ever half converted. With the words of Taiwan (s2twp) a
word that is another one there takes its place: 软件 is 軟體.
"""

from functools import cache, lru_cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import UNSAFE, words
from crt.records import Site


@cache
def _converter(configuration: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  opencc has no types
    import opencc

    return opencc.OpenCC(configuration)


@lru_cache(maxsize=1 << 16)
def _converted(configuration: str, word: str) -> str:
    converted: str = _converter(configuration).convert(word)
    return converted


def simplified(word: str) -> str:
    """Return a word in simplified script (OpenCC, t2s)."""
    return _converted("t2s", word)


def traditional() -> SiteFinder:
    """Find the words that OpenCC writes differently."""
    return lambda text: _sites(text, words(text))


def taiwan() -> SiteFinder:
    """Find the words that OpenCC writes differently, or that are other words in Taiwan."""

    def find(text: str) -> tuple[Site, ...]:
        bounds = words(text)
        regional = {start: site for start, end in bounds if (site := _regional(text[start:end], start))}
        taken = {at for site in regional.values() for at in range(site.start, site.end)}
        script = {site.start: site for site in _sites(text, bounds) if site.start not in taken}
        return tuple(site for _, site in sorted((script | regional).items()))

    return find


def _regional(word: str, start: int) -> Site | None:
    if len(word) > 1 and not UNSAFE.search(word):
        there = _converted("s2twp", word)
        if there not in (word, _converted("s2tw", word)):
            return Site(start, start + len(word), (there,))
    return None


def _sites(text: str, bounds: list[tuple[int, int]]) -> tuple[Site, ...]:
    converted = _converter("s2tw").convert(UNSAFE.sub("?", text))
    if len(converted) != len(text):  # not aligned by position: nothing can be said about single words
        return ()
    sites = []
    for start, end in bounds:
        differing = [k for k in range(start, end) if text[k] != converted[k] and not UNSAFE.match(text[k])]
        if differing:
            first, last = differing[0], differing[-1] + 1
            sites.append(Site(first, last, (converted[first:last],)))
    return tuple(sites)
