"""The behaviour study: the documented example, a real model on every suite, and regressions between two runs."""

import mlflow
import pandas as pd
import pytest

from crt.catalogue import TASKS
from crt.errors import TrackingError
from crt.models import PredictOptions
from crt.perturbations import load
from crt.studies.behaviour import study as behaviour
from crt.studies.behaviour.scoring import Answer, judge
from crt.suites import Case, load_suite, suite_path
from crt.tasks import Source
from crt.tracking.runs import open_run

FOUR = """id,type,original,changed,before_p,after_p,expected,must
m1,MFT,这部电影非常精彩。,,0.9,,positive,
m2,MFT,这部电影令人失望。,,0.2,,negative,
i1,INV,这部电影很精彩。,这部电影很精彩。导演名叫李青。,0.9,0.35,,
d1,DIR,电影还可以。,电影还可以，但结尾非常糟糕。,0.6,0.8,,not_rise
"""


def suite_of(name):
    """Return a suite that comes with crt."""
    return load_suite(suite_path(name), TASKS[name].labels, len(TASKS[name].fields))


def test_four_rows_with_given_scores(invoke, tmp_path):
    """The documented example: MFT 2/2, INV 0/1, DIR 0/1, and no model is asked."""
    (tmp_path / "four.csv").write_text(FOUR, encoding="utf-8")
    shown = invoke("behaviour", "--suite", "four.csv").stdout
    assert "| MFT | 2/2 | 100 %" in shown
    assert "| INV | 0/1 | 0 %" in shown
    assert "| DIR | 0/1 | 0 %" in shown
    assert "failed: i1, d1\n" in shown
    path = tmp_path / "outputs" / behaviour.REPORT
    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,type,original,changed,before_p,after_p,passed,expected,")
    table = pd.read_csv(path, keep_default_na=False)
    assert table["passed"].astype(str).tolist() == ["True", "True", "False", "False"]
    assert table["before_p"].tolist() == [0.9, 0.2, 0.9, 0.6]
    (run,) = mlflow.search_runs(search_all_experiments=True, output_format="list")
    assert run.data.metrics["mft_pass_rate"] == 1.0
    assert run.data.metrics["dir_passed"] == 0.0


@pytest.mark.parametrize("name", ["chnsenticorp", "tnews", "ocnli"])
def test_the_rules_run_every_suite(accelerator, name):
    """Every case of a suite gets a verdict, and none an execution failure."""
    suite = suite_of(name)
    found = behaviour.run(suite, TASKS[name], Source(), "rule", PredictOptions(), accelerator, None)
    assert list(found.report["id"]) == [case.id for case in suite.cases]
    assert found.metrics["execution_failures"] == 0
    assert 0 < found.metrics["mft_pass_rate"] < 1
    assert set(found.report["status"]) <= {"passed", "failed", "not applicable", "disputed"}


def test_a_transformer_runs_a_suite(accelerator, tiny_checkpoint):
    """A real transformer is asked once for each distinct input; probabilities are those of the named class."""
    found = behaviour.run(
        suite_of("tnews"), TASKS["tnews"], Source(), str(tiny_checkpoint), PredictOptions(), accelerator, None
    )
    assert found.report["before_p"].between(0, 1).all()
    assert found.params["suite_version"] == "1.0"
    assert (found.params["model"], found.params["train_seed"]) == ("tiny", "42")


def test_cases_from_a_perturbation():
    """Any perturbation gives invariance cases, one for each text that it changes."""
    suite = suite_of("chnsenticorp")
    more = behaviour.with_perturbations(suite, [load("homophone")], prob=0.3, seed=13)
    added = more.cases[len(suite.cases) :]
    assert len(added) > 50
    assert all(case.type == "INV" and case.changed[0] != case.original for case in added)
    assert more.digest != suite.digest


def test_regression(invoke, tmp_path):
    """Two runs of one suite are compared by case."""
    for number, scores in enumerate((FOUR, FOUR.replace("0.35", "0.85").replace("0.2", "0.7"))):
        (tmp_path / f"{number}.csv").write_text(scores, encoding="utf-8")
        invoke("behaviour", "--suite", f"{number}.csv", "--no_figures")
    runs = mlflow.search_runs(search_all_experiments=True, order_by=["start_time"], output_format="list")
    shown = invoke("behaviour", "--compare", ",".join(run.info.run_id for run in runs)).stdout
    assert "| all | 1 | 1 | 1 |" in shown
    assert "newly broken: m2" in shown
    cases = pd.read_csv(tmp_path / "outputs/behaviour_changes.csv")
    assert dict(zip(cases["id"], cases["change"], strict=True)) == {
        "i1": "fixed",
        "m2": "newly broken",
        "d1": "still failing",
    }


def test_no_cell_is_a_formula(invoke, tmp_path):
    """What a spreadsheet program would compute has an apostrophe before it, in the report and in a comparison of two."""
    header, *_ = FOUR.splitlines()
    for number, score in enumerate((0.9, 0.2)):
        suite = f"{header},capability\n=1+1,MFT,@SUM(1),,{score},,positive,,-2|x\nb,MFT,好,,0.9,,positive,,*c*\n"
        (tmp_path / f"{number}.csv").write_text(suite, encoding="utf-8")
        shown = invoke("behaviour", "--suite", f"{number}.csv", "--no_figures").stdout
    assert "| -2\\|x | 0/1 |" in shown
    assert "| \\*c\\* | 1/1 |" in shown
    runs = mlflow.search_runs(search_all_experiments=True, order_by=["start_time"], output_format="list")
    assert "newly broken: =1+1\n" in invoke("behaviour", "--compare", ",".join(run.info.run_id for run in runs)).stdout
    for name, column, number in ((behaviour.REPORT, "original", 2), ("behaviour_changes.csv", "original", 1)):
        table = pd.read_csv(tmp_path / "outputs" / name)
        assert len(table) == number
        assert table.loc[0, ["id", column, "capability"]].tolist() == ["'=1+1", "'@SUM(1)", "'-2|x"]
    assert pd.read_csv(tmp_path / "outputs/behaviour.csv")["capability"].tolist() == ["'-2|x", "*c*"]


def test_other_suites_and_runs_are_refused(store):
    """Runs of two suites, a run of another kind and one that does not exist are errors that say so."""
    ids = []
    for digest in ("1", "2"):
        with open_run("behaviour", "b", {}) as tracker:
            tracker.log_params({"suite_name": "s", "suite_digest": digest})
            ids.append(tracker.run_id)
    with open_run("train", "t", {}) as tracker:
        with pytest.raises(TrackingError, match="the runs tested different suites"):
            behaviour.compared(tracker, ids)
        with pytest.raises(TrackingError, match="there is no run 'nonsense'"):
            behaviour.compared(tracker, [ids[0], "nonsense"])
        with pytest.raises(TrackingError, match=r"is no finished run of behaviour \(train, RUNNING\)"):
            behaviour.compared(tracker, [ids[0], tracker.run_id])


@pytest.mark.parametrize(("after", "status"), [(0.8, "passed"), (0.8 + 2e-10, "passed"), (0.8 + 1e-6, "failed")])
def test_a_move_that_only_rounding_makes_is_no_move(after, status):
    """0.7 + 0.1 is not 0.8 for a machine: a DIR case has a slack of a billionth."""
    case = Case("d", "DIR", "c", ("好",), (("很好",),), target="positive", must="not_rise", tolerance=0.1)
    before, moved = (Answer("positive", {"positive": p}) for p in (0.7, after))
    assert judge(case, before, [moved])["status"] == status
