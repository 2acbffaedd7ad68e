"""resources/build: every built table comes out byte for byte as it is shipped."""

import runpy
import sys
from pathlib import Path

import pytest

from crt.resources import resource_dir

BUILD = Path(__file__).parents[1] / "resources/build"
BUILT = ("readings", "homophone", "ime", "martian", "shape", "split", "synonym", "synonym_all")


@pytest.fixture(scope="module")
def builders():
    """Return the builders by the path of what they make, if their inputs are at hand."""
    sys.path.insert(0, str(BUILD))
    try:
        import sources

        packages = [sources.INPUTS / f"{name}-{version}" for name, (version, _) in sources.PACKAGES.items()]
        if not all(path.exists() for path in (*packages, sources.INPUTS / "wn-data-cmn.tab")):
            pytest.skip("the inputs of the builders are not at hand; make resources fetches them")
        yield runpy.run_path(str(BUILD / "__main__.py"), run_name="builders")["BUILDERS"]
    finally:
        sys.path.remove(str(BUILD))


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT)
def test_a_table_is_rebuilt_byte_for_byte(builders, name):
    """The same inputs give the same file; and every builder is tested."""
    [path] = [path for path in builders if Path(path).stem == name]
    assert builders[path]() == (resource_dir() / path).read_text(encoding="utf-8")
    assert {Path(path).stem for path in builders} == set(BUILT)


def test_every_table_has_a_builder_or_is_written_by_hand():
    """What no builder makes is the work of a person."""
    files = {path.stem for path in (resource_dir() / "perturbations").iterdir()}
    assert files - set(BUILT) == {"colloquial", "emoji"}
