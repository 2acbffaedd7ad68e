"""What evaluate writes: the stored cells of a grid as tables, examples and figures."""

import json
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from crt.errors import CrtError, remedy
from crt.files import replacing
from crt.records import CLEAN
from crt.reporting.table import detail_table
from crt.scoring.summary import KEYS, Comparison, headline, in_order

if TYPE_CHECKING:
    from crt.tracking.runs import MlflowTracker


def publish(tracker: "MlflowTracker", keys: Collection[str], folder: Path, *, figures: bool) -> pd.DataFrame:
    """Write the files of a grid into a folder and to its run; return the cells.

    They are made from the cells as they are stored, so that a grid that was interrupted and resumed gives whole files.

    Args:
        tracker: of the run of the grid.
        keys: of all cells of the grid.
        folder: made if it does not exist.
        figures: draw them, if there is a perturbed cell.
    """
    cells = tracker.cells(keys)
    found = Comparison.of(cells)
    with staged(tracker, folder) as staging:
        detail_table(cells).to_csv(staging / "robustness_results_multi.csv", index=False, lineterminator="\n")
        found.summary.to_csv(staging / "robustness_summary_multi.csv", index=False, lineterminator="\n")
        _write_examples(cells, staging / "examples_multi.json")
        if figures and not found.summary.empty:  # a shard may hold the clean cell alone
            from crt.reporting.figures import write_figures

            write_figures(found.summary, staging, ".svg")
    if len(cells[["model", "dataset"]].drop_duplicates()) == 1:
        tracker.log_metrics(headline(found))
    return cells


@contextmanager
def staged(tracker: "MlflowTracker", folder: Path) -> Iterator[Path]:
    """Give a folder to write files into; when all are whole they go to the run and into the user's folder.

    Args:
        tracker: of the run.
        folder: made if it does not exist.

    Raises:
        CrtError: the files cannot be written, for a full disk say.
    """
    with tempfile.TemporaryDirectory() as temporary:
        staging = Path(temporary)
        try:
            yield staging
            tracker.log_folder(staging)
            move_files(staging, folder)
        except OSError as error:
            raise CrtError(
                f"the tables cannot be written to {folder} and to the run ({error}); {remedy(error)} and start again: "
                "what was measured is kept"
            ) from error


def check_output(folder: Path) -> None:
    """Make sure that files can be written into a folder, before hours are spent on them.

    Raises:
        CrtError: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CrtError(f"output_dir {folder} cannot be written to ({error.strerror}); name another one") from error


def move_files(source: Path, target: Path) -> None:
    """Write finished files into a folder; all of them are written before the first takes its place, each in one step."""
    names = sorted(file.name for file in source.iterdir())
    with replacing(*(target / name for name in names)) as files:
        for file, name in zip(files, names, strict=True):
            with (source / name).open("rb") as whole:
                shutil.copyfileobj(whole, file)


def _write_examples(cells: pd.DataFrame, path: Path) -> None:
    """Write a JSON list with an object for each cell: its keys and its examples, a line each."""
    from crt.tracking.history import stored_examples

    parts = []
    cells = in_order(cells[cells["perturbation"] != CLEAN])
    for row, examples in zip(cells.to_dict("records"), stored_examples(cells), strict=True):
        keys = json.dumps({key: row[key] for key in KEYS}, ensure_ascii=False)
        lines = ",\n  ".join(json.dumps(example, ensure_ascii=False) for example in examples)
        parts.append(f'{keys[:-1]}, "examples": [\n  {lines}\n]}}')
    path.write_text("[\n" + ",\n".join(parts) + "\n]\n", encoding="utf-8", errors="surrogatepass")
