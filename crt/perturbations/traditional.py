"""Simplified script turned into traditional script, by phrase: 头发 and 发展 get different 发.

The whole text is converted (OpenCC, configuration s2tw: the forms that people in Taiwan type) and compared with the
original; a word that changes is one site, so that no word is ever half converted.
"""

import re
from functools import cache

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import words
from crt.records import Site

_UNSAFE = re.compile("[\0\ud800-\udfff]")


@cache
def _converter():  # type: ignore[no-untyped-def]  # noqa: ANN202  opencc has no types
    import opencc

    return opencc.OpenCC("s2tw")


def traditional() -> SiteFinder:
    """Find the words that OpenCC writes differently."""

    def find(text: str) -> tuple[Site, ...]:
        converted = _converter().convert(_UNSAFE.sub("?", text))
        if len(converted) != len(text):  # not aligned by position: nothing can be said about single words
            return ()
        sites = []
        for start, end in words(text):
            differing = [k for k in range(start, end) if text[k] != converted[k] and not _UNSAFE.match(text[k])]
            if differing:
                first, last = differing[0], differing[-1] + 1
                sites.append(Site(first, last, (converted[first:last],)))
        return tuple(sites)

    return find
