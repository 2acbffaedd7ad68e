"""Train and evaluate onto a disk that is too small, then onto the same disk when there is room: `sudo python …/full_disk.py`.

The disk is a small tmpfs. Each case puts something else on it: the artifacts of the runs, the SQLite store, the tables and
figures, the state of a training, or the temporary files.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow

from crt.tracking.history import read_stored

ROOT = Path(__file__).parent.parent.parent
COMMANDS = {
    "evaluate": ("evaluate", "--smoke", "--dataset", "tnews"),
    "train": ("train", "--smoke", "--dataset", "tnews", "--max_length", "64", "--num_train_epochs", "2", "--resume"),
}
CELLS, ROWS = 55, 45
"""What `evaluate` measures, and the examples of a cell."""


@dataclass(frozen=True, slots=True)
class Case:
    """What lies on the small disk, and what the command is to make of it."""

    command: str
    """Key of COMMANDS."""
    full: str
    """What lies there."""
    size: str
    """Of the disk, as mount takes it."""
    code: int = 1
    """Exit code while the disk is full."""


CASES = (
    Case("evaluate", "artifacts", "200k"),
    Case("evaluate", "store", "1500k"),
    Case("evaluate", "outputs", "16k"),
    Case("evaluate", "temporary", "4k"),
    Case("train", "artifacts", "200k"),
    Case("train", "states", "64k", code=0),
    Case("train", "temporary", "64k"),
)


def main() -> None:
    """Fill a disk in each case; the trained weights are those of a training that had room."""
    weights = set()
    for case in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder, disk = Path(name), Path(name, "disk")
            disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={case.size}", "tmpfs", str(disk)], check=True)
            try:
                weights |= fill(case, folder, disk)
            finally:
                # lazy: this process still holds the store open
                subprocess.run(["umount", "--lazy", str(disk)], check=True)
    print(f"weights of the trainings: {', '.join(weights)}")
    assert len(weights) == 1


def fill(case: Case, folder: Path, disk: Path) -> set[str]:
    """Run a command onto a full disk, make room, run it again; return the digests of the weights that it stored, if any."""

    def place(name: str) -> Path:
        path = (disk if case.full == name else folder) / name
        path.mkdir()
        return path

    uri = f"sqlite:///{place('store')}/mlflow.db"
    mlflow.set_tracking_uri(uri)
    mlflow.MlflowClient().create_experiment("x", artifact_location=f"file://{place('artifacts')}")
    (folder / ".crt").symlink_to(place("states"))
    command = [*COMMANDS[case.command]]
    outputs = place("outputs")
    if case.command == "evaluate":
        command += ["--output_dir", str(outputs)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_TRACKING_URI": uri, "MLFLOW_EXPERIMENT_NAME": "x"}
    environment |= {"TMPDIR": str(place("temporary"))}

    def run() -> int:
        done = subprocess.run(
            [sys.executable, "-m", f"entrypoints.{command[0]}", *command[1:]],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = done.stderr.strip().splitlines()
        assert "Traceback" not in done.stderr, done.stderr
        print(
            f"{case.command}, {case.full} on it: exit {done.returncode}; {said[-1] if done.returncode else 'ok'}",
            flush=True,
        )
        return done.returncode

    assert run() == case.code
    check_cells()
    assert all(file.read_bytes().endswith((b"\n", b">")) for file in outputs.iterdir())
    subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
    assert run() == 0
    assert check_cells() == (CELLS if case.command == "evaluate" else 0)
    return check_weights() if case.command == "train" else set()


def check_cells() -> int:
    """Every finished cell is whole; return how many there are."""
    for run in mlflow.search_runs(experiment_names=["x"], output_format="list"):
        if run.data.tags.get("crt.kind") == "cell" and run.info.status == "FINISHED":
            file = Path(run.info.artifact_uri.removeprefix("file://")) / "outcomes.csv"
            assert len(file.read_text(encoding="utf-8").splitlines()) == 1 + ROWS, f"{file} is not whole"
    return len(read_stored(["x"], ()).cells)


def check_weights() -> set[str]:
    """Every registered version has its weights; return their digests."""
    digests = set()
    for version in mlflow.MlflowClient().search_model_versions("name = 'crt-tnews'"):
        model = Path(mlflow.artifacts.download_artifacts(f"models:/crt-tnews/{version.version}"))
        (weights,) = model.rglob("model.safetensors")
        digests.add(hashlib.sha256(weights.read_bytes()).hexdigest()[:16])
    return digests


if __name__ == "__main__":
    main()
