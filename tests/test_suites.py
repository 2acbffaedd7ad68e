"""The suites that come with crt are whole, and a bad case is refused by its name."""

import json
from collections import Counter

import pytest

from crt.catalogue import TASKS
from crt.errors import DataError
from crt.resources import resource_dir
from crt.suites import load_suite, suite_path

SHIPPED = ("chnsenticorp", "ocnli", "tnews")
BINARY = ("negative", "positive")


def shipped(name):
    """Return a suite that comes with crt."""
    return load_suite(suite_path(name), TASKS[name].labels, len(TASKS[name].fields))


def entries(name):
    """Return the cases of a suite as they are written, templates not expanded."""
    return json.loads(suite_path(name).read_text(encoding="utf-8"))["cases"]


def test_every_suite_is_tested():
    """There is no suite beside those below."""
    differ = ", ".join(sorted({path.stem for path in (resource_dir() / "suites").glob("*.json")} ^ set(SHIPPED)))
    assert not differ, f"{differ}: in resources/suites/ or in SHIPPED only; edit tests/test_suites.py"


@pytest.mark.parametrize("name", SHIPPED)
def test_suites_are_rich(name):
    """At least 8 capabilities and 40 cases, all three types, and every label expected somewhere."""
    suite, edit = shipped(name), f"edit resources/suites/{name}.json"
    capabilities, types = ({getattr(case, key) for case in suite.cases} for key in ("capability", "type"))
    missing = set(TASKS[name].labels) - {case.expected for case in suite.cases if case.type == "MFT"}
    assert len(entries(name)) >= 40, f"{len(entries(name))} of 40 cases; {edit}"
    assert len(capabilities) >= 8, f"{len(capabilities)} of 8 capabilities; {edit}"
    assert types == {"MFT", "INV", "DIR"}, f"there are only the types {', '.join(sorted(types))}; {edit}"
    assert not missing, f"no MFT case expects {', '.join(sorted(missing))}; {edit}"
    assert all(case.reason for case in suite.cases), f"a case has no reason; {edit}"
    assert suite.version, f"the suite has no version; {edit}"


@pytest.mark.parametrize("name", SHIPPED)
def test_one_answer_does_not_pass_a_capability(name):
    """A model that always says the same fails a minimum-functionality case in every capability that has two of them."""
    expected = {}
    for case in shipped(name).cases:
        if case.type == "MFT" and not case.disputed:
            expected.setdefault(case.capability, Counter())[case.expected] += 1
    passed = ", ".join(capability for capability, counts in expected.items() if len(counts) < 2)
    assert not passed, f"a single answer passes {passed}; add cases of another label to resources/suites/{name}.json"


def write(tmp_path, *cases, lists=None):
    """Write a JSON suite."""
    path = tmp_path / "suite.json"
    path.write_text(json.dumps({"schema": 1, "version": "1", "lists": lists or {}, "cases": cases}), encoding="utf-8")
    return path


def case(**values):
    """Return an MFT case with some values in place of others."""
    return {"id": "a", "type": "MFT", "capability": "c", "text": "好", "expected": "positive", "reason": "r"} | values


def test_templates(tmp_path):
    """MFT and DIR make a case of each filling; an INV without variants takes the other fillings for them."""
    lists = {"x": ["甲", "乙", "丙"], "y": ["一", "二"]}
    path = write(
        tmp_path,
        case(text="{x}{y}好{x}"),
        case(id="b", type="INV", text="{x}好", expected=""),
        case(id="c", type="DIR", text="{y}好", changed=["{y}很好"], target="positive", must="not_fall", expected=""),
        lists=lists,
    )
    cases = load_suite(path, BINARY, 1).cases
    assert [c.original[0] for c in cases[:6]] == [
        "甲一好甲",
        "甲二好甲",
        "乙一好乙",
        "乙二好乙",
        "丙一好丙",
        "丙二好丙",
    ]
    assert cases[3].id == "a[乙,二]"
    assert (cases[6].original, cases[6].changed) == (("甲好",), (("乙好",), ("丙好",)))
    assert [(c.original, c.changed) for c in cases[7:]] == [(("一好",), (("一很好",),)), (("二好",), (("二很好",),))]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"type": "XYZ"}, "unknown type 'XYZ'. Known: DIR, INV, MFT"),
        ({"expected": "neutral"}, "expected 'neutral' is no label\\. The labels are negative, positive"),
        ({"expected": ""}, "an MFT case needs `expected`"),
        ({"type": "INV"}, "a INV case needs `changed` or a template"),
        ({"type": "DIR", "changed": ["好"]}, "must is ''. It is one of not_rise, not_fall"),
        (
            {"type": "DIR", "changed": ["好"], "must": "not_rise", "target": "x"},
            "target 'x' is no label. The labels are negative",
        ),
        ({"text": "{x}"}, "there is no list 'x'"),
        ({"text": ["好", "坏"]}, "has texts of 2 fields, the task has 1"),
        ({"text": 3}, "3 is no text, nor a list of two"),
        ({"tolerance": float("nan")}, "tolerance nan is not within 0..1"),
        ({"tolerance": "x"}, "tolerance 'x' is no number"),
        ({"resaon": "r"}, "unknown key 'resaon'; did you mean 'reason'"),
        ({"reason": ""}, "needs id, type, capability and reason"),
    ],
)
def test_bad_cases(tmp_path, values, message):
    """What is wrong with a case is said with its name."""
    with pytest.raises(DataError, match=f"case 'a': .*{message}"):
        load_suite(write(tmp_path, case(**values)), BINARY, 1)


def test_a_direction_needs_its_class(tmp_path):
    """With two labels the second one is meant; with more it must be said."""
    path = write(tmp_path, case(type="DIR", expected="", changed=["很好"], must="not_fall"))
    assert load_suite(path, BINARY, 1).cases[0].target == "positive"
    with pytest.raises(DataError, match="case 'a': a DIR case on more than two labels needs `target`"):
        load_suite(path, ("a", "b", "c"), 1)


def test_bad_suites(tmp_path):
    """Repeated ids, empty lists and other files are refused."""
    with pytest.raises(DataError, match="case 'a': the id stands there twice"):
        load_suite(write(tmp_path, case(), case()), BINARY, 1)
    with pytest.raises(DataError, match="list 'x' is empty"):
        load_suite(write(tmp_path, case(), lists={"x": []}), BINARY, 1)
    with pytest.raises(DataError, match="holds no cases"):
        load_suite(write(tmp_path), BINARY, 1)
    for text in ('{"schema": 1, "cases": ["x"]}', '{"schema": 1, "cases": [], "lists": ["a"]}'):
        (tmp_path / "other.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="each of `cases` is an object"):
            load_suite(tmp_path / "other.json", BINARY, 1)
    for text in ("{", "[" * 100_000, "1" * 5000):
        (tmp_path / "other.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"other\.json: is no JSON suite"):
            load_suite(tmp_path / "other.json", BINARY, 1)
    (tmp_path / "other.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(DataError, match="needs `schema`: 1"):
        load_suite(tmp_path / "other.json", BINARY, 1)
    with pytest.raises(
        DataError, match=r"no behaviour suite comes with crt for 'mine'\. There are chnsenticorp.*; give suite=FILE"
    ):
        suite_path("mine")


ROWS = "id,type,original,changed,before_p,after_p,expected,must\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,MFT,好,,1.2,,positive,\n", "case 'a': score 1.2 is no probability"),
        ("a,MFT,好,,nan,,positive,\n", "case 'a': score nan is no probability"),
        ("a,MFT,好,,x,,positive,\n", "line 2: before_p 'x' is no number"),
        ("a,MFT,好,,0.5,,positive,\nb,MFT,好,,,,positive,\n", "case 'b': has no score, others have one"),
        ("a,INV,好,很好,0.5,,,\n", "case 'a': needs 2 scores: before_p and after_p"),
        ("a,,好,很好,0.5,,,\n", "case 'a': unknown type ''. Known: DIR, INV, MFT"),
        ("a,MFT,,,,,positive,\n", "line 2: needs the columns id, type and original"),
    ],
)
def test_bad_rows(tmp_path, rows, message):
    """A suite of rows is held to the same; scores are probabilities or an error."""
    path = tmp_path / "suite.csv"
    path.write_text(ROWS + rows, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load_suite(path, BINARY, 1)


@pytest.mark.parametrize(
    "broken", [{"text": "好\ud83d"}, {"reason": "\udc4d"}, {"id": "\ud83d"}, {"text": "{x}", "id": "t"}]
)
def test_half_a_surrogate_pair_is_refused(tmp_path, broken):
    """A case whose text, reason or id no file can hold is an error when the suite is read, which itself can be written."""
    path = write(tmp_path, case(**broken), lists={"x": ["好\udc4d"]})
    with pytest.raises(DataError, match=r"suite\.json: case '.*half a surrogate pair") as caught:
        load_suite(path, BINARY, 1)
    str(caught.value).encode()


def test_the_digest_says_what_is_expected(tmp_path):
    """Another expectation gives another digest, another reason does not."""
    one = load_suite(write(tmp_path, case()), BINARY, 1).digest
    assert load_suite(write(tmp_path, case(reason="other")), BINARY, 1).digest == one
    assert load_suite(write(tmp_path, case(expected="negative")), BINARY, 1).digest != one
