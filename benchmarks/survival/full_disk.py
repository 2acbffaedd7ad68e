"""Evaluate onto a disk that is too small, then onto the same disk when there is room: `sudo python …/full_disk.py`.

The disk is a small tmpfs. It holds the artifacts in the first case, and `output_dir` in the second.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow

from crt.tracking import read_stored

ROOT = Path(__file__).parent.parent.parent


def main() -> None:
    """Fill both disks."""
    with tempfile.TemporaryDirectory() as name:
        for case, size in (("artifacts", "200k"), ("outputs", "16k")):
            folder = Path(name, case)
            disk = folder / "disk"
            disk.mkdir(parents=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=True)
            try:
                fill(case, folder, disk)
            finally:
                subprocess.run(["umount", str(disk)], check=True)


def fill(case: str, folder: Path, disk: Path) -> None:
    """Evaluate onto a full disk, make room, evaluate again."""
    uri = f"sqlite:///{folder}/mlflow.db"
    mlflow.set_tracking_uri(uri)
    place = disk if case == "artifacts" else folder / "artifacts"
    mlflow.MlflowClient().create_experiment("x", artifact_location=f"file://{place}")
    output = disk if case == "outputs" else folder / "outputs"
    command = ["--smoke", "--dataset", "tnews", "--output_dir", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_TRACKING_URI": uri, "MLFLOW_EXPERIMENT_NAME": "x"}

    def evaluate() -> tuple[int, str, int]:
        done = subprocess.run(
            [sys.executable, "-m", "entrypoints.evaluate", *command],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr, len(read_stored(["x"], ()).cells)

    code, said, cells = evaluate()
    print(f"{case}: exit {code}, {cells} cells finished; {said.strip().splitlines()[-1]}", flush=True)
    assert code == 1
    assert "Traceback" not in said
    for run in mlflow.search_runs(experiment_names=["x"], output_format="list"):
        if run.data.tags.get("crt.kind") == "cell" and run.info.status == "FINISHED":
            file = Path(run.info.artifact_uri.removeprefix("file://")) / "outcomes.csv"
            assert len(file.read_text(encoding="utf-8").splitlines()) == 46, f"{file} is not whole"
    assert case == "artifacts" or all(file.read_bytes().endswith((b"\n", b">")) for file in disk.iterdir())
    subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
    code, said, cells = evaluate()
    print(f"{case}, with room: exit {code}, {cells} cells finished", flush=True)
    assert (code, cells) == (0, 55), said


if __name__ == "__main__":
    main()
