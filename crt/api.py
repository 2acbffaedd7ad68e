"""crt from Python: perturb, evaluate and compare in a script, a notebook or a test; `crt` offers these names, loaded when used.

Nothing is written, and the process stays as it was, unless `tracking=True` asks for the MLflow store.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pandas as pd

from crt.catalogue import Task
from crt.errors import DataError, ModelError, lookup
from crt.files import write_files
from crt.grid import DEFAULT_PROBS, DEFAULT_SEEDS, Columns, Grid
from crt.models import Named, PredictOptions, Predictor, kind_of, load_predictor
from crt.perturbations import PERTURBATIONS, REFERENCE_PERTURBATIONS
from crt.perturbations import load as load_perturbation
from crt.perturbations.engine import find_sites, perturb_all
from crt.reading import Row
from crt.records import Cell, Edit, Example
from crt.reporting.page import Report
from crt.reporting.page import page as page_of
from crt.reporting.page.markup import Html, joined, tag
from crt.reporting.page.sections import paper_tables
from crt.reporting.table import PaperTable, paper_table
from crt.scoring.evidence import Evidence, weigh
from crt.scoring.metrics import METRICS
from crt.scoring.summary import Comparison
from crt.studies import benchmark
from crt.studies import compare as stored_comparison
from crt.studies.answers import at_hand
from crt.studies.evidence import Outcomes, read_stacked
from crt.studies.kept import Kept
from crt.studies.report import Examples, report
from crt.tasks import Source, find_task, own_task, with_labels

if TYPE_CHECKING:
    from accelerate import Accelerator

Data: TypeAlias = "str | Path | pd.DataFrame | tuple[Sequence[Any], Sequence[object]]"
"""A name in TASKS, a file or folder, a table, or texts (pairs as tuples of two) and their labels."""

Model: TypeAlias = "str | Predictor | Callable[[list[Any]], Any] | Any"
"""A spec, a predictor, a fitted estimator, or a function from a list of texts (of pairs) to labels or probabilities."""


def list_perturbations() -> dict[str, str]:
    """Return what each perturbation does, by its name."""
    return {name: perturbation.summary for name, perturbation in PERTURBATIONS.items()}


def perturb(texts: Any, perturbation: str, *, prob: float = 0.15, seed: int = 13, edits: bool = False) -> Any:
    """Perturb a text, or a list, tuple or Series of texts; in a list or Series, a tuple of two is a pair.

    A text gets the same edits as in `evaluate` with this prob and seed.

    Args:
        texts: what to perturb.
        perturbation: a name of `list_perturbations`, or `PACKAGE.MODULE:FUNCTION`, which makes a site finder.
        prob: share of the sites that are edited, 0..1.
        seed: of the draws.
        edits: give the edits too.

    Returns:
        The same kind of thing; with `edits`, beside it the edits of the text, or a list of those of each.

    Raises:
        DataError: something is no text.
        UnknownName: there is no such perturbation.
    """
    Grid(("rule",), ("sample",), (perturbation,), probs=(prob,), seeds=(seed,))  # checks them
    one = isinstance(texts, str)
    if not (one or isinstance(texts, Sequence | pd.Series)):
        raise DataError(f"{type(texts).__name__} is no text; give a text, or a list, tuple or Series of texts")
    given = [texts] if one else list(texts)
    for number, text in enumerate(given):
        if not (isinstance(text, str) or (_is_pair(text) and not one)):
            raise DataError(f"text {number} is {text!r}, which is no text")
    examples = [Example(str(n), (text,) if isinstance(text, str) else text, 0) for n, text in enumerate(given)]
    found = perturb_all(
        find_sites(examples, load_perturbation(perturbation).find), name=perturbation, prob=prob, seed=seed
    )
    after = [value[0] if isinstance(text, str) else value for text, value in zip(given, found.inputs, strict=True)]
    made: list[tuple[Edit, ...]] = [each.edits for each in found] if edits else []
    if one:
        return (after[0], made[0]) if edits else after[0]
    if isinstance(texts, pd.Series):
        perturbed: Any = pd.Series(after, index=texts.index, name=texts.name, dtype=texts.dtype)
    else:
        perturbed = tuple(after) if isinstance(texts, tuple) else after
    return (perturbed, made) if edits else perturbed


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(text, str) for text in value)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Cells that were measured alike, and what is told of them."""

    cells: pd.DataFrame
    """A row a cell, the clean ones included: keys, params, and metrics by name."""
    outcomes: Outcomes
    """Gives the outcomes of some of the cells, a frame for each, a row an example."""
    examples: Examples
    """Gives the example pairs of some of the cells, a list for each."""

    @cached_property
    def _found(self) -> Comparison:
        return Comparison.of(self.cells)

    @cached_property
    def _evidence(self) -> Evidence:
        return weigh(read_stacked(self.cells, self.outcomes))

    @cached_property
    def _report(self) -> Report:
        return report(self._found, self._evidence, (self.table(),), "", self.examples)

    @property
    def summary(self) -> pd.DataFrame:
        """Mean, standard deviation and number of each metric, by model, data set, perturbation and prob."""
        return self._found.summary

    @property
    def verdict(self) -> tuple[str, ...]:
        """What was found, in sentences, with intervals over texts."""
        return self._report.verdict.sentences

    def table(self, metric: str = "perturbed_acc") -> PaperTable:
        """Return the table of a metric over models, probs and perturbations; it has `.csv()`, `.markdown()` and `.latex()`.

        Raises:
            UnknownName: there is no such metric.
        """
        lookup("metric", metric, METRICS)
        return paper_table(self._found, metric)

    def page(self, path: str | Path) -> Path:
        """Write all that is known as one HTML page."""
        file = Path(path)
        write_files(file.parent, {file.name: page_of(self._report)})
        return file

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> Html:
        """Show verdict and table in a notebook."""
        return joined([tag("ul", *(tag("li", sentence) for sentence in self.verdict)), paper_tables([self.table()])])


def evaluate(
    model: Model,
    data: Data,
    perturbations: Sequence[str] = REFERENCE_PERTURBATIONS,
    probs: Sequence[float] = DEFAULT_PROBS,
    seeds: Sequence[int] = DEFAULT_SEEDS,
    *,
    name: str | None = None,
    model_name: str | None = None,
    text_column: str = "text",
    text_pair_column: str | None = None,
    label_column: str = "label",
    split: str | None = None,
    max_samples: int | None = None,
    label_map: Mapping[str, str] | None = None,
    max_length: int | None = None,
    eval_batch_size: int = 32,
    precision: str = "auto",
    data_dir: str | Path | None = None,
    tracking: bool = False,
) -> Result:
    """Measure a model on clean and on perturbed texts: the cells of the command `evaluate` with the same settings.

    Args:
        model: what is measured.
        data: what it is measured on.
        perturbations: names of `list_perturbations`, or `PACKAGE.MODULE:FUNCTION`.
        probs: shares of the sites that are edited, 0..1.
        seeds: of the perturbations.
        name: what own data are called.
        model_name: what the model is called; None: as the command calls it, or after its function or class.
        text_column: of a table or file; the other columns likewise.
        text_pair_column: of the second text, for pairs.
        label_column: of the labels.
        split: of the data set; None: the one that is reported.
        max_samples: at most so many examples.
        label_map: what labels of the model are called by the data.
        max_length: in tokens; None: as the model was trained.
        eval_batch_size: texts that a function gets at a time, see `PredictOptions` for encoders.
        precision: auto, fp32, bf16 or fp16.
        data_dir: folder of the published data sets; None: the hub.
        tracking: store each cell as a run in the MLflow store, below the active run if there is one; what is stored already
            under a model of a spec is not measured again.

    Returns:
        The cells, and tables, sentences and a page of them.

    Raises:
        CrtError: something does not fit; the message says what to do.
    """
    columns = Columns(text_column, text_pair_column, label_column)
    source, tasks, dataset = Source(Path(data_dir) if data_dir else None), {}, str(data)
    if not isinstance(data, str | Path):
        dataset = name or "data"
        tasks[dataset], source = _own(data, columns, dataset)
    spec = model if isinstance(model, str) else model_name or _called(model)
    grid = Grid(
        models=(spec,), datasets=(dataset,), perturbations=_several(perturbations), probs=_several(probs), seeds=_several(seeds),
        split=split, limit=max_samples, columns=columns, name=None if tasks else name, tasks=tasks,
    )  # fmt: skip
    options = PredictOptions(max_length, eval_batch_size, precision, label_map or {})

    def load(found: str, task: Task, accelerator: "Accelerator", options: PredictOptions, source: Source) -> Predictor:
        loaded: Predictor
        if isinstance(model, str):
            loaded = load_predictor(found, task, accelerator, options, source)
        elif _is_predictor(model):
            loaded = cast(Predictor, model)
        else:
            from crt.models.function import given

            loaded = given(model, task, options, source, name=spec)
        return Named(loaded, model_name) if model_name else loaded

    from crt.models.processes import borrowed

    with borrowed(precision) as accelerator:
        if tracking:
            return _tracked(grid, source, options, accelerator, load, force=not isinstance(model, str))
        kept = Kept()
        benchmark.run(grid, source, options, accelerator, kept, load=load)
        return Result(kept.cells(), kept.outcomes, kept.examples)


def _tracked(
    grid: Grid, source: Source, options: PredictOptions, accelerator: "Accelerator", load: Any, *, force: bool
) -> Result:
    from crt.tracking.history import stored_examples, stored_outcomes
    from crt.tracking.runs import current_run

    name = f"{grid.models[0]} on {grid.datasets[0]}"
    with current_run("grid", name, {"model": grid.models[0], "dataset": grid.datasets[0]}) as tracker:
        keys = benchmark.run(grid, source, options, accelerator, tracker, load=load, force=force)
        return Result(tracker.cells(keys, Cell.kind), stored_outcomes, stored_examples)


def _several(values: Any) -> tuple[Any, ...]:
    """Return values as a tuple; one alone is one of them."""
    return (values,) if isinstance(values, str | float | int) else tuple(values)


def _is_predictor(model: object) -> bool:
    return all(hasattr(model, attribute) for attribute in ("name", "labels", "fingerprint", "settings", "predict"))


def _called(model: object) -> str:
    """Return what a model that is no spec is called: by its own name, that of its function, or of its class."""
    owner = getattr(model, "__self__", model)  # of a bound method
    if _is_predictor(model):
        return str(model.name)  # type: ignore[attr-defined]
    return getattr(owner, "__qualname__", type(owner).__qualname__).rpartition(".")[2]


def _own(data: Any, columns: Columns, name: str) -> tuple[Task, Source]:
    """Return the task of data that are in memory, and their rows.

    Raises:
        DataError: they are none, or not as many texts as labels.
    """
    if isinstance(data, pd.DataFrame):
        records: list[dict[str, Any]] = [
            {str(key): value for key, value in row.items()} for row in data.to_dict("records")
        ]
    else:
        records, pairs = _records(data)
        columns = Columns(text_pair="text_pair" if pairs else None)
    if not records:
        raise DataError("there are no texts to measure on")
    task = own_task(name, {"all": ""}, text=columns.text, text_pair=columns.text_pair, label=columns.label)
    return task, Source(rows=[Row(f"{name}, row {number}", record) for number, record in enumerate(records)])


def _records(data: Any) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of texts and labels, and whether the texts are pairs."""
    if not isinstance(data, tuple | list) or len(data) != 2 or any(isinstance(part, str) for part in data):
        raise DataError(
            f"data is a {type(data).__name__}; give a name like 'sample', a path, a DataFrame, or (texts, labels)"
        )
    texts, labels = map(list, data)
    if len(texts) != len(labels):
        raise DataError(f"there are {len(texts)} texts and {len(labels)} labels; give a label for each text")
    pairs = bool(texts) and _is_pair(texts[0])
    values = [text if _is_pair(text) else (text,) for text in texts]
    return [
        {**dict(zip(("text", "text_pair"), value, strict=False)), "label": label}
        for value, label in zip(values, labels, strict=True)
    ], pairs


def compare(*results: Result) -> Result:
    """Put results side by side; of a measurement that several hold, the last one counts.

    Raises:
        DataError: something is no result.
        TrackingError: they were not measured alike, or two models share a name; the message says which.
    """
    if not results or not all(isinstance(result, Result) for result in results):
        raise DataError("compare takes what evaluate gives, one or more of them")
    cells = stored_comparison.select(pd.concat([result.cells for result in results], ignore_index=True))
    owner = {key: result for result in results for key in result.cells["key"]}

    def each(cells: pd.DataFrame) -> Iterator[tuple[Result, pd.DataFrame]]:
        return ((owner[key], cells[cells["key"] == key][:1]) for key in cells["key"])

    return Result(
        cells,
        lambda cells: [result.outcomes(cell)[0] for result, cell in each(cells)],
        lambda cells: [result.examples(cell)[0] for result, cell in each(cells)],
    )


def load_model(
    spec: str,
    data: str | Path | None = None,
    *,
    label_map: Mapping[str, str] | None = None,
    max_length: int | None = None,
    precision: str = "auto",
    data_dir: str | Path | None = None,
) -> Predictor:
    """Return the model of a spec; `predict` takes tuples of one text, or of two, and `evaluate` takes the model.

    Args:
        spec: see the option `model` of the command `evaluate`.
        data: what it is for, where a model has no labels of its own: `rule`, `tfidf`, `embedding:`, `zeroshot:`, `python:`.
        label_map: see `evaluate`; so are the others.
        max_length: in tokens.
        precision: of the weights.
        data_dir: of the published data sets.

    Raises:
        CrtError: it cannot be loaded.
    """
    source = Source(Path(data_dir) if data_dir else None)
    if data is None and not kind_of(spec)[0].own_labels:
        raise ModelError(f"{spec} has no labels of its own; say what it is for, like load_model('{spec}', 'sample')")
    task = own_task("data", {}, text="text", text_pair=None, label="label") if data is None else find_task(str(data))
    if "train" in task.files:
        task = with_labels(task, source)
    found = at_hand(Kept().resolve(spec, task))

    from crt.models.processes import borrowed

    with borrowed(precision, kept=True) as accelerator:
        return load_predictor(
            found.spec, task, accelerator, PredictOptions(max_length, 32, precision, label_map or {}), source
        )
