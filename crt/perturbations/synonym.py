"""Words replaced by synonyms: only whole words of the segmentation, never inside the title of a work."""

from crt.perturbations.engine import SiteFinder
from crt.perturbations.text import words
from crt.records import Site
from crt.resources import Table


def synonym(table: Table) -> SiteFinder:
    """Find the words that are keys of the table."""

    def find(text: str) -> tuple[Site, ...]:
        sites, depth = [], 0
        for start, end in words(text):
            word = text[start:end]
            depth = max(0, depth + word.count("《") - word.count("》"))
            if not depth and (options := table.entries.get(word)):
                sites.append(Site(start, end, options))
        return tuple(sites)

    return find
