"""The commands as a user types them."""

import io
import os
import subprocess
import sys
from itertools import count

import pandas as pd
import pytest
from conftest import ROOT, SAMPLES, runner

from crt import door
from crt.commands import audit, baselines, evaluate, perturb, train
from crt.perturbations import PERTURBATIONS
from crt.studies.behaviour import command as behaviour
from crt.studies.detect import command as detect
from crt.studies.heuristics import command as heuristics
from crt.tracking.history import read_stored

WRONG = [
    (["--dataset", "tnew"], "unknown data set 'tnew'; did you mean 'tnews'?"),
    (["--perturbations", "homophon"], "unknown perturbation 'homophon'; did you mean 'homophone'?"),
    (["--probs", "1.5"], "prob 1.5 is outside 0..1"),
    (["--probs", "nan"], "prob nan is outside 0..1"),
    (["--prob", "-0.1"], "prob -0.1 is outside 0..1"),
    (["--probs", ""], "the prob list is empty"),
    (["--seeds", "13,13"], "seed 13 is listed twice"),
    (["--dataset", "tnews,tnews"], "data set tnews is listed twice"),
    (["--probs", "2", "--seeds", ""], "2 faults in the options"),
    (["--table", "homophone:/no/such.json"], "/no/such.json: no such file (in table=homophone:/no/such.json)"),
    (["--table", "space:x.json"], "perturbation 'space' has no table"),
    (["--data_dir", "/no/such/folder"], "data_dir /no/such/folder: no such folder"),
    (["--data_dir", "/", "--model", "rule"], "no such file; data_dir must be the folder that holds"),
    (["--smoke", "--dataset", "tnews", "--split", "test"], "the 5 rows of 'test' have no labels"),
    (
        ["--smoke", "--dataset", "tnews", "--split", "dev"],
        "tnews has no split 'dev'; did you mean 'validation'? It has train, validation, test",
    ),
    (["--smoke", "--model", "/"], "no usable weights"),
    (["--smoke", "--model", "models:/crt-x@best"], "there is no model 'crt-x'. The registry has no model at all"),
    (["--smoke", "--model", "tiny"], "'tiny' has random weights"),
    (["--dataset", "x" * 300], "unknown data set 'xxx"),
    (["--table", f"homophone:{'x' * 300}"], "xxx: no such file (in table=homophone:xxx"),
    (["--data_dir", "x" * 300], "xxx: no such folder"),
    (["--smoke", "--model", "x" * 300], "no such folder, and the hub gives no weights"),
    (["--smoke", "--output_dir", "/proc/nowhere"], "output_dir /proc/nowhere cannot be written to"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_bad_input_is_named(store, arguments, message):
    """Every wrong option ends with exit 1, a message that names it, and no finished cell."""
    import mlflow

    result = runner().invoke(evaluate.main, arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert mlflow.search_runs(filter_string="attributes.status = 'FINISHED'").empty


@pytest.mark.parametrize(
    ("command", "option"), [(train, "--augment"), (behaviour, "--perturbations"), (detect, "--perturbations")]
)
def test_an_unknown_perturbation_is_refused_before_anything_is_loaded(monkeypatch, command, option):
    """The commands that check no grid name the nearest perturbation too, and open no run."""
    monkeypatch.setattr("crt.tracking.runs.open_run", lambda *_: pytest.fail("a run was opened"))
    result = runner().invoke(command.main, ["--dataset", "sample", option, "homofone"])
    assert result.exit_code == 1, result.output
    assert "unknown perturbation 'homofone'; did you mean 'homophone'?" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--probs", "high"], "'high' is no list of numbers"),
        (["--seeds", "1.5"], "'1.5' is no list of whole numbers"),
        (["--epochs", "5"], "No such option"),
        (["--max_samples", "0"], "0 is not in the range"),
        (["--precision", "int8"], "'int8' is not one of"),
        (["--shard", "0/4"], "shard 0/4 does not exist; the shards of 4 workers are 1/4 to 4/4"),
        (["--shard", "5/4"], "shard 5/4 does not exist"),
        (["--shard", "x"], "'x' is no shard; write it like 2/4"),
        (["--shard", "1/0"], "'1/0' is no shard"),
        (["--shard", "-1/4"], "'-1/4' is no shard"),
        (["--label_map", "LABEL_0"], "'LABEL_0' is no new NAME=VALUE"),
    ],
)
def test_wrong_types_are_usage_errors(arguments, message):
    """What is no value of its type is click's exit 2, before anything is imported."""
    result = runner().invoke(evaluate.main, arguments)
    assert (result.exit_code, message in result.output) == (2, True), result.output


@pytest.mark.parametrize(("command", "option"), [(train, "--seed"), (detect, "--seed"), (baselines, "--train_seeds")])
def test_a_seed_that_numpy_does_not_take_is_a_usage_error(command, option):
    """The seed of a training is bounded, wherever it is given."""
    result = runner().invoke(command.main, [option, "5000000000"])
    assert (result.exit_code, "5000000000 is not in the range 0<=x<=4294967295" in result.output) == (2, True)


@pytest.mark.parametrize("dataset", ["chsenticorp", "tnews", "ocnli", "sample"])
def test_smoke(store, tmp_path, dataset):
    """--smoke runs the whole path on the shipped rows of every task, without a model or a network."""
    arguments = ["--smoke", "--dataset", dataset, "--probs", "0.3", "--seeds", "13,42", "--no_figures"]
    result = runner().invoke(evaluate.main, arguments)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "outputs" / "robustness_results_multi.csv")
    assert len(table) == 12
    assert (table["num_changed"] > 0).all()
    assert list(table["dataset"].unique()) == [dataset.replace("chsenticorp", "chnsenticorp")]


def test_a_shard_writes_what_it_holds(invoke, tmp_path, monkeypatch):
    """Each of many shards, an empty one and one with the clean cell alone among them, writes its own cells or nothing."""
    monkeypatch.setattr("crt.studies.cells.seen_in_training", lambda *_: None)  # a cell is then dealt by the key it has
    arguments = ["--smoke", "--dataset", "tnews", "--perturbations", "space", "--seed", "13", "--max_samples", "5"]
    invoke("evaluate", *arguments, "--no_figures")
    cells = read_stored((), ()).cells.sort_values("prob")  # the clean one first
    assert len(cells) == 4
    dealt = ([int(key, 16) % of + 1 for key in cells["key"]] for of in count(5))
    of, (alone, *others) = next((of, numbers) for of, numbers in zip(count(5), dealt) if numbers.count(numbers[0]) == 1)
    for number in range(1, of + 1):
        folder = tmp_path / str(number)
        result = invoke("evaluate", *arguments, "--shard", f"{number}/{of}", "--output_dir", folder)
        assert f"show shard {number}/{of} alone" in result.output
        table = folder / "robustness_results_multi.csv"
        rows = len(pd.read_csv(table)) if table.is_file() else None
        assert rows == (0 if number == alone else others.count(number) or None)
        assert bool(list(folder.glob("*.svg"))) == (number in others)


@pytest.mark.parametrize("dataset", ["chnsenticorp", "tnews", "ocnli"])
def test_smoke_trains(store, caplog, dataset):
    """--smoke of train registers a model that evaluate then takes by default."""
    result = runner().invoke(train.main, ["--smoke", "--dataset", dataset, "--max_length", "64"])
    assert result.exit_code == 0, result.output
    assert f"registered models:/crt-{dataset}/1" in result.output
    arguments = ["--dataset", dataset, "--data_dir", str(SAMPLES), "--max_length", "64", "--no_figures"]
    result = runner().invoke(evaluate.main, [*arguments, "--prob", "0.3", "--seed", "13"])
    assert result.exit_code == 0, result.output
    assert f"model models:/crt-{dataset}@best is models:/crt-{dataset}/1" in caplog.text


@pytest.mark.parametrize("said", ["No space left on device", "No usable temporary directory found in ['/tmp']"])
def test_no_room_for_temporary_files(store, monkeypatch, said):
    """A full disk, wherever a command meets it, is an error that says what to do; another fault keeps its traceback."""
    error = OSError(28, said)
    monkeypatch.setattr("tempfile.TemporaryDirectory", lambda **_: (_ for _ in ()).throw(error))
    arguments = ["--smoke", "--dataset", "tnews", "--max_length", "64"]
    result = runner().invoke(train.main, arguments)
    assert result.exit_code == 1
    assert result.stderr.rstrip().endswith("and start again: what was stored before is kept")
    assert f"error: a file cannot be written ([Errno 28] {said}); make room, or set TMPDIR to a folder" in result.stderr
    error = OSError(5, "Input/output error")
    assert runner().invoke(train.main, arguments).exception is error


def test_own_data(store, tmp_path):
    """A folder of the user's own files trains and evaluates; its labels come from the training file."""
    folder = tmp_path / "mine"
    folder.mkdir()
    rows = [("好吃" + "啊" * k, "好", "难吃" + "啊" * k, "差") for k in range(12)]
    text = "评论,标签\n" + "".join(f"{a},{b}\n{c},{d}\n" for a, b, c, d in rows)
    (folder / "train.csv").write_text(text, encoding="utf-8-sig")
    (folder / "test.csv").write_text(text)
    columns = ["--dataset", str(folder), "--text_column", "评论", "--label_column", "标签", "--max_length", "64"]
    result = runner().invoke(train.main, [*columns, "--model", "tiny", "--learning_rate", "1e-3"])
    assert result.exit_code == 0, result.output
    result = runner().invoke(evaluate.main, [*columns, "--prob", "0.3", "--seed", "13", "--no_figures"])
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "outputs" / "robustness_results_multi.csv")
    assert set(table["dataset"]) == {"mine"}
    assert (table["num_examples"] == 24).all()
    single = ["--dataset", str(folder / "test.csv"), *columns[2:], "--model", "models:/crt-mine@best"]
    result = runner().invoke(evaluate.main, [*single, "--prob", "0.3", "--seed", "13", "--no_figures"])
    assert result.exit_code == 0, result.output


def test_own_table(store, tmp_path):
    """A table of the user's own is used, makes other cells and is tagged."""
    import mlflow

    table = tmp_path / "mine.json"
    table.write_text('{"schema": 1, "entries": {"的": ["滴"]}}')
    arguments = ["--smoke", "--dataset", "tnews", "--perturbations", "homophone", "--prob", "1", "--seed", "1"]
    for extra in ([], ["--table", f"homophone:{table}"]):
        result = runner().invoke(evaluate.main, [*arguments, "--no_figures", *extra])
        assert result.exit_code == 0, result.output
    runs = mlflow.search_runs(filter_string="tags.`crt.perturbation` = 'homophone'")
    assert sorted(runs["tags.crt.table"].fillna("")) == ["", "modified"]
    assert runs["tags.crt.cell_key"].nunique() == 2


def test_baselines_prints_commands_that_can_be_run():
    """By default a line for each data set, model and training seed is printed, and nothing is run."""
    result = runner().invoke(baselines.main, ["--datasets", "tnews", "--models", "bert-base-chinese,rule"])
    lines = result.output.splitlines()
    assert len(lines) == 4
    assert lines[0] == (
        "accelerate launch --quiet --module crt train --dataset tnews --model bert-base-chinese --seed 13 && "
        "accelerate launch --quiet --module crt evaluate --dataset tnews "
        "--model models:/crt-tnews@bert-base-chinese-s13 --output_dir outputs/tnews/bert-base-chinese-s13"
    )
    assert lines[3].startswith("accelerate launch --quiet --module crt evaluate --dataset tnews --model rule")


@pytest.mark.slow
def test_baselines_goes_on_after_a_failure(command):
    """Executed jobs that fail do not stop the others; the summary names them and the exit is 1."""
    arguments = ["--datasets", "tnews", "--models", "no/such-model,tiny", "--train_seeds", "13", "--execute"]
    extra = f"--data_dir {ROOT / 'resources' / 'samples'} --max_length 64"
    result = command("baselines", *arguments, "--args", extra, check=False)
    assert result.returncode == 1
    assert "1 of 2 baselines done" in result.stdout
    assert "failed:\n  tnews/such-model-s13: accelerate launch" in result.stderr


def test_perturb_marks_the_edits():
    """Texts given as arguments, as an option, in a file or on standard input come back with their edits marked."""
    run = runner().invoke
    arguments = ["--perturbations", "space,repeat", "--prob", "1"]
    expected = "space (1 of 1 sites)\t电[+ ]影\nrepeat (2 of 2 sites)\t[电→电电][影→影影]\n"
    assert run(perturb.main, ["电影", *arguments]).stdout == expected
    assert run(perturb.main, ["--text", "电影", *arguments]).stdout == expected
    assert run(perturb.main, arguments, input="电影\n").stdout == expected


def test_perturb_reads_a_file_and_writes_plain_texts(tmp_path):
    """One text a line, and nothing but the perturbed texts."""
    file = tmp_path / "texts.txt"
    file.write_text("电影\n好看\n", encoding="utf-8")
    arguments = ["--file", str(file), "--perturbations", "space", "--prob", "1", "--plain"]
    assert runner().invoke(perturb.main, arguments).stdout == "电 影\n好 看\n"


def test_perturb_disguises_the_words_of_a_list(tmp_path):
    """With a list of words only these are edited, wherever they stand; a list without words is refused."""
    words = tmp_path / "words.txt"
    words.write_text("# mine\n微信\n\n", encoding="utf-8")
    arguments = ["加我微信，谢谢微信", "--perturbations", "evade", "--prob", "1", "--table", f"evade:{words}"]
    line = runner().invoke(perturb.main, arguments).stdout
    assert line.startswith("evade (2 of 2 sites)\t加我[微信→")
    words.write_text("#\n", encoding="utf-8")
    refused = runner().invoke(perturb.main, arguments)
    assert refused.exit_code == 1
    assert f"{words}: lists no word" in refused.stderr


def test_perturb_lists_the_perturbations():
    """Without a text each perturbation has a line with its keys, options and reach."""
    lines = runner().invoke(perturb.main, ["--list"]).stdout.splitlines()
    assert [line.split()[0] for line in lines[1 : 1 + len(PERTURBATIONS)]] == list(PERTURBATIONS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["好", "--perturbations", "homophon"], "unknown perturbation 'homophon'; did you mean 'homophone'?"),
        (["--file", "/no/such.txt"], "/no/such.txt: no such file"),
        (["好", "--table", "space:x.json"], "perturbation 'space' has no table"),
    ],
)
def test_perturb_names_bad_input(arguments, message):
    """The message names what is wrong."""
    result = runner().invoke(perturb.main, arguments)
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (perturb, ["--file", "case.csv"]),
        (perturb, ["好", "--perturbations", "evade", "--table", "evade:case.csv"]),
        (behaviour, ["--dataset", "sample", "--model", "rule", "--suite", "case.csv"]),
        (behaviour, ["--dataset", "sample", "--model", "rule", "--suite", "case.json"]),
        (audit, ["--sheets", "case.csv", "--key", "key.csv"]),
        (audit, ["--sheets", "cases.csv", "--key", "case.csv"]),
        (detect, ["--attacks", "case.csv"]),
        (heuristics, ["--dataset", "pairs.csv", "--text_pair_column", "b", "--predictions", "case.csv"]),
        (evaluate, ["--dataset", "case.csv", "--model", "rule"]),
    ],
)
def test_a_missing_file_is_answered_with_the_nearest(store, tmp_path, command, arguments):
    """Every option that takes a file says that there is none, and what stands there under a name that is near."""
    for name, text in (("cases.csv", "pair\n"), ("pairs.csv", "text,b,label\na,b,entailment\nc,d,neutral\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "key.csv").write_text("pair,perturbation,prob,seed,id,gold,draw\n1,space,1,1,a,b,c\n", encoding="utf-8")
    result = runner().invoke(command.main, arguments)
    assert result.exit_code == 1, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert "no such file" in line
    assert "; did you mean cases.csv?" in line


NARROW = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""What makes the encoding of a shell ASCII."""


def shell(environment):
    """Return the environment of a command that runs anywhere."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": paths, **environment}


@pytest.mark.parametrize(
    ("environment", "arguments", "given"),
    [
        (NARROW, [], "电影👍\n".encode()),
        (NARROW, [], "电影，电影\n".encode("gb18030")),
        (NARROW | {"PYTHONIOENCODING": "ascii"}, ["--file", "texts.txt"], b""),
        ({"PYTHONIOENCODING": "ascii"}, ["电影"], b""),
        ({"PYTHONIOENCODING": "latin-1"}, ["--text", "电影"], b""),
    ],
)
def test_a_narrow_encoding_changes_no_text(tmp_path, environment, arguments, given):
    """Text on standard input, in a file or given as an argument is read right and printed readably in any encoding."""
    (tmp_path / "texts.txt").write_text("电影\n", encoding="utf-8")
    line = [sys.executable, "-m", "entrypoints.perturb", "--perturbations", "space", "--prob", "1", *arguments]
    result = subprocess.run(line, input=given, cwd=tmp_path, env=shell(environment), capture_output=True, check=True)
    assert "电[+ ]影" in result.stdout.decode()


def test_what_was_not_read_right_is_refused(tmp_path):
    """An argument or a folder in an encoding without Chinese, or in other bytes than UTF-8, is an error with a way out."""
    folder = tmp_path / "电影"
    folder.mkdir()
    for environment, where, argument, message in (
        (
            NARROW,
            ROOT,
            "电影".encode(),
            "error: '电影' cannot be read in this shell's encoding, ascii; set PYTHONUTF8=1",
        ),
        (NARROW, folder, b"--list", "/电影' cannot be read in this shell's encoding, ascii; set PYTHONUTF8=1"),
        ({"PYTHONUTF8": "1"}, ROOT, "电影".encode("gb18030"), "encoding, utf-8; write it in UTF-8, and start again"),
    ):
        line = [sys.executable, "-m", "entrypoints.perturb", argument]
        result = subprocess.run(line, cwd=where, env=shell(environment), capture_output=True, check=False)
        assert (result.returncode, result.stdout) == (1, b"")
        assert message in result.stderr.decode()


def test_what_an_encoding_lacks_is_written_as_its_number(monkeypatch):
    """An encoding that has Chinese is kept; a character that it lacks, or half of one, is neither an error nor a '?'."""
    for encoding, kept in (("gbk", "gbk"), ("utf-8", "utf-8"), ("ascii", "utf-8"), ("cp1252", "utf-8")):
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        door._write_any_text()
        for stream in (sys.stdout, sys.stderr):
            stream.write("中👍\ud83d")
            stream.flush()
            assert stream.buffer.getvalue() == "中👍\ud83d".encode(kept, "backslashreplace")
