"""Characters and words replaced by those that a table lists: `homophone` and `shape`."""

from crt.perturbations.engine import SiteFinder
from crt.records import Site
from crt.resources import Table


def substitution(table: Table) -> SiteFinder:
    """Find the keys of the table, the longest at each position first, from left to right."""
    lengths: dict[str, list[int]] = {}
    for key in sorted(table.entries, key=lambda key: (-len(key), key)):
        known = lengths.setdefault(key[0], [])
        if len(key) not in known:
            known.append(len(key))

    def find(text: str) -> tuple[Site, ...]:
        sites, at = [], 0
        while at < len(text):
            for length in lengths.get(text[at], ()):
                word = text[at : at + length]  # shorter than `length` at the end of the text
                if options := table.entries.get(word):
                    sites.append(Site(at, at + len(word), options))
                    at += len(word)
                    break
            else:
                at += 1
        return tuple(sites)

    return find
