"""What evaluate writes: the stored cells of a grid as tables, examples and figures."""

import json
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from crt.errors import CrtError, remedy
from crt.records import CLEAN
from crt.reporting.spreadsheet import write_csv
from crt.reporting.table import detail_table
from crt.scoring.summary import KEYS, Comparison, headline, in_order
from crt.studies.choice import by_version
from crt.studies.outputs import Files, put

if TYPE_CHECKING:
    from crt.tracking.runs import MlflowTracker

FILES = Files(
    "evaluate",
    {
        "robustness_results_multi.csv": "the metrics of each perturbed cell",
        "robustness_summary_multi.csv": "mean and standard deviation of each metric over the seeds",
        "examples_multi.json": "example pairs of each cell",
        "*_by_prob_multi.svg": "a metric over prob",
        "accuracy_drop_heat_map_multi.svg": "the accuracy drop of each model under each perturbation",
    },
)


def write_grid(tracker: "MlflowTracker", keys: Collection[str], folder: Path, *, figures: bool) -> pd.DataFrame:
    """Write the files of a grid into a folder and to its run; return the cells.

    They are made from the cells as they are stored, so that a grid that was interrupted and resumed gives whole files.

    Args:
        tracker: of the run of the grid.
        keys: of all cells of the grid.
        folder: made if it does not exist.
        figures: draw them, if there is a perturbed cell.
    """
    cells = tracker.cells(keys)
    shown = by_version(cells)
    found = Comparison.of(shown)
    with staged(tracker, folder, FILES) as staging:
        write_csv(detail_table(shown), staging / "robustness_results_multi.csv")
        write_csv(found.summary, staging / "robustness_summary_multi.csv")
        _write_examples(shown, staging / "examples_multi.json")
        if figures and not found.summary.empty:  # a shard may hold the clean cell alone
            from crt.reporting.figures import write_figures

            write_figures(found.summary, staging, ".svg", mark="_multi")
    if len(shown[["model", "dataset"]].drop_duplicates()) == 1:
        tracker.log_metrics(headline(found))
    return cells


@contextmanager
def staged(tracker: "MlflowTracker | None", folder: Path, files: Files) -> Iterator[Path]:
    """Give a folder to write files into; when all are whole they go to the run and into the user's folder.

    Args:
        tracker: of the run; None: there is none.
        folder: made if it does not exist.
        files: all that may be written.

    Raises:
        CrtError: the files cannot be written, for a full disk say, or would take the place of somebody else's.
    """
    with tempfile.TemporaryDirectory() as temporary:
        staging = Path(temporary)
        try:
            yield staging
            if tracker:
                tracker.log_folder(staging)
            put(staging, folder, files, tracker.run_id if tracker else "")
        except OSError as error:
            where = f"{folder} and to the run" if tracker else folder
            raise CrtError(
                f"the tables cannot be written to {where} ({error}); {remedy(error)} and start again: what was measured is kept"
            ) from error


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
