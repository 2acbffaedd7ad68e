"""Words replaced by synonyms: only whole words of the segmentation, never inside the title of a work."""

import re

from crt.perturbations.engine import SiteFinder
from crt.perturbations.guards import outside
from crt.perturbations.substitution import substitution
from crt.resources import Table

TITLE = re.compile("《(?:[^《》]|《[^《》]*》)*》")


def synonym(table: Table) -> SiteFinder:
    """Find the words that are keys of the table."""
    return outside(TITLE, substitution(table, within=False))
