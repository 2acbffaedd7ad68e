"""The wheel alone: installed in an empty environment it runs every command."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

from crt.commands import COMMANDS


@pytest.mark.slow
def test_the_wheel_runs_every_command(tmp_path):
    """Beside nothing but its requirements it has its tables, its page and its types, and measures."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "MLFLOW_TRACKING_URI")}

    def run(*words):
        done = subprocess.run(
            list(map(str, words)), cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "env")
    run(tmp_path / "env/bin/pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
    crt = tmp_path / "env/bin/crt"
    assert "evaluate" in run(crt, "--help")
    for name in COMMANDS:
        assert "Usage:" in run(crt, name, "--help")
    small = ("--probs", "0.3", "--seeds", "13")
    assert "crt compare" in run(crt, "evaluate", "--dataset", "sample", "--model", "rule", *small)
    run(crt, "worst_case", "--dataset", "sample", "--model", "rule", "--degrees", "0.1", "--samples", "2")
    run(crt, "behaviour", "--dataset", "sample", "--model", "rule")
    run(crt, "compare")
    assert "<html" in (tmp_path / "outputs" / "report.html").read_text(encoding="utf-8")
    assert "房间" in run(crt, "perturb", "房间很干净", "--perturbations", "space", "--prob", "0")
    run(
        tmp_path / "env/bin/python",
        "-c",
        "import crt, pathlib; assert pathlib.Path(crt.__file__).with_name('py.typed').exists()",
    )
