"""The data sets: what their labels and fields are, and where they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crt.resources import resource_dir

ABSENT = frozenset({"", "-"})
"""How a missing label reads, in the user's own data as in the published ones."""


@dataclass(frozen=True, slots=True)
class Hub:
    """Where a data set stands on the Hugging Face hub."""

    repository: str
    """Id of the data set."""
    config: str | None = None
    """Configuration within it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A classification data set."""

    name: str
    """Key of TASKS, or the name of the user's own file or folder."""
    summary: str
    """One line for the reference page."""
    labels: tuple[str, ...]
    """Label names in index order; empty where only the model knows them."""
    fields: tuple[tuple[str, ...], ...]
    """For each field of the input, the column names it goes by in the known sources."""
    files: Mapping[str, str]
    """File of each split, below `data_dir`."""
    eval_split: str
    """The split that is reported by default."""
    without_labels: tuple[str, ...] = ()
    """Splits that are published without labels."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of a label in the known sources."""
    unlabelled: frozenset[str] = ABSENT | {"-1"}
    """Labels that stand for none, if they are none of `labels`."""
    label_column: str = "label"
    """Column of the label."""
    id_columns: tuple[str, ...] = ()
    """Columns that number the rows in a way that outlives dropped rows."""
    group_columns: tuple[str, ...] = ()
    """Columns that sort the rows of a probing set into groups, coarsest first."""
    hub: Hub | None = None
    """The hub data set; without one the files are at hand."""
    root: Path | None = None
    """Folder of the files where it is fixed: built-in samples and the user's own data."""
    licence: str = ""
    """Licence of the data, as far as it is stated."""
    citation: str = ""
    """Whom to cite."""

    @property
    def registered_name(self) -> str:
        """The name under which its checkpoints are registered."""
        return "crt-" + "".join(char if char.isalnum() or char in "-_." else "-" for char in self.name)

    @property
    def selects_on_validation(self) -> bool:
        """Whether a validation split is free to choose the best epoch on."""
        return "validation" in self.files and self.eval_split != "validation"

    @property
    def selection_split(self) -> str:
        """What the examples are called that the best epoch and the most robust model are chosen on."""
        return "validation" if self.selects_on_validation else "held out of train"

    @property
    def train_split(self) -> str:
        """The split that the labels of the user's own data are collected from: `train`, or the only file there is."""
        return "train" if "train" in self.files else next(iter(self.files))


_NEWS = "story culture entertainment sports finance house car edu tech military travel world stock agriculture game"
_NEWS_LABELS = tuple(f"news_{topic}" for topic in _NEWS.split())
_NEWS_CODES = ["100", "101", "102", "103", "104", "106", "107", "108", "109", "110", "112", "113", "114", "115", "116"]
_NLI_LABELS = ("neutral", "entailment", "contradiction")
_CLUE = "Xu et al., CLUE: A Chinese Language Understanding Evaluation Benchmark, COLING 2020, arXiv 2004.05986"


def _numbered(labels: Sequence[str]) -> dict[str, str]:
    return {str(index): label for index, label in enumerate(labels)}


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="chnsenticorp",
            summary="hotel, laptop and book reviews, 2 classes",
            labels=("negative", "positive"),
            fields=(("text_a", "text"),),
            files={s: f"chnsenticorp/{f}.tsv" for s, f in (("train",) * 2, ("validation", "dev"), ("test",) * 2)},
            eval_split="test",
            codes=_numbered(("negative", "positive")),
            hub=Hub("lansinuote/ChnSentiCorp"),
            licence="none stated",
            citation="Tan and Zhang, An empirical study of sentiment analysis for Chinese documents, "
            "Expert Systems with Applications 34(4), 2008",
        ),
        Task(
            name="tnews",
            summary="news titles, 15 topics (CLUE TNEWS 1.1)",
            labels=_NEWS_LABELS,
            fields=(("sentence",),),
            files={"train": "tnews/train.json", "validation": "tnews/dev.json", "test": "tnews/test.json"},
            eval_split="validation",
            without_labels=("test",),
            codes=dict(zip(_NEWS_CODES, _NEWS_LABELS, strict=True)) | _numbered(_NEWS_LABELS),
            id_columns=("idx",),
            hub=Hub("clue/clue", "tnews"),
            licence="none stated",
            citation=_CLUE,
        ),
        Task(
            name="ocnli",
            summary="natural language inference on sentence pairs, 3 classes (CLUE OCNLI)",
            labels=_NLI_LABELS,
            fields=(("sentence1",), ("sentence2",)),
            files={"train": "ocnli/train.50k.json", "validation": "ocnli/dev.json", "test": "ocnli/test.json"},
            eval_split="validation",
            without_labels=("test",),
            codes=_numbered(_NLI_LABELS),
            id_columns=("id", "idx"),
            hub=Hub("clue/clue", "ocnli"),
            licence="CC BY-NC 2.0",
            citation="Hu et al., OCNLI: Original Chinese Natural Language Inference, Findings of EMNLP 2020, "
            "arXiv 2010.05444",
        ),
        Task(
            name="hans",
            summary="English sentence pairs that follow a surface heuristic, 2 classes (HANS); for heuristics",
            labels=("entailment", "non-entailment"),
            fields=(("sentence1", "premise"), ("sentence2", "hypothesis")),
            files={"train": "hans/heuristics_train_set.txt", "validation": "hans/heuristics_evaluation_set.txt"},
            eval_split="validation",
            codes=_numbered(("entailment", "non-entailment")),
            label_column="gold_label",
            id_columns=("pairID",),
            group_columns=("heuristic", "subcase", "template"),
            licence="MIT",
            citation="McCoy et al., Right for the Wrong Reasons: Diagnosing Syntactic Heuristics in Natural Language "
            "Inference, ACL 2019, arXiv 1902.01007",
        ),
        Task(
            name="chinese_hans",
            summary="Chinese sentence pairs that follow a surface heuristic, 3 classes; for heuristics",
            labels=_NLI_LABELS,
            fields=(("sentence1",), ("sentence2",)),
            files={"validation": "chinese_nli_probing/chinese-hans-full.json"},
            eval_split="validation",
            id_columns=("id",),
            group_columns=("category", "template"),
            licence="none stated",
            citation="Hu et al., Investigating Transfer Learning in Multilingual Pre-trained Language Models through "
            "Chinese Natural Language Inference, Findings of ACL 2021, arXiv 2106.03983",
        ),
        Task(
            name="sample",
            summary="built-in reviews of everyday things, 2 classes, written for this project",
            labels=("negative", "positive"),
            fields=(("text",),),
            files={s: f"sample/{f}.tsv" for s, f in (("train",) * 2, ("validation", "dev"), ("test",) * 2)},
            eval_split="test",
            codes=_numbered(("negative", "positive")),
            root=resource_dir() / "samples",
            licence="CC0-1.0",
        ),
    )
}
"""The data sets by name."""

ALIASES: Mapping[str, str] = {"chsenticorp": "chnsenticorp"}
"""Other spellings of a name in TASKS."""
