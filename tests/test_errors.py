"""crt.errors: the tree, and the messages of look-ups and grids."""

import pytest

from crt import errors
from crt.errors import (
    CrtError,
    GridError,
    UnknownName,
    is_full,
    lookup,
    nearest,
    one_of,
    remedy,
    unknown,
)


def caused(error, cause):
    """Return an error that has a cause."""
    error.__cause__ = cause
    return error


TREE = ("UnknownName", "GridError", "ResourceError", "DataError", "ModelError", "TrackingError")


@pytest.mark.parametrize("name", TREE)
def test_every_error_is_a_crt_error(name):
    """A door that catches CrtError catches everything that crt raises on purpose."""
    assert issubclass(getattr(errors, name), CrtError)


def test_the_tree_is_complete():
    """No error class hides from the tree that the module draws."""
    found = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, CrtError)}
    assert found == {*TREE, "CrtError"}
    assert all(name in errors.__doc__ for name in found)


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("", {}, "unknown thing ''. Known: "),
        ("a", {}, "unknown thing 'a'. Known: "),
        ("", {"shape": 1}, "unknown thing ''. Known: shape"),
        ("zzz", {"space": 1, "shape": 2}, "unknown thing 'zzz'. Known: shape, space"),
        ("homophon", {"shape": 1, "homophone": 2}, "unknown thing 'homophon'; did you mean 'homophone'? Known: homophone, shape"),
        ("同音", {"同音字": 1}, "unknown thing '同音'; did you mean '同音字'? Known: 同音字"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_answered_with_the_nearest_and_all(name, known, message):
    """The message quotes the name, suggests the nearest key if one is near, and lists the keys in order."""
    assert unknown("thing", name, known) == message
    with pytest.raises(UnknownName) as caught:
        lookup("thing", name, known)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("homophon", ["shape", "homophone"], "homophone"),
        ("LABEL", ["text", "Label", "label"], "Label"),
        ("train.CSV", ["test.csv", "train.csv"], "train.csv"),
        (".doc", [".csv", ".txt"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_name_is_found(name, known, near):
    """Nearness is that of the letters, whatever their case; a name that is far from all has none."""
    assert nearest(name, known) == near


def test_a_list_keeps_its_order():
    """The names are listed as they are given, after the fault and what is nearest."""
    message = one_of("no split 'valid'", "valid", ["train", "validation", "test"], "There are")
    assert message == "no split 'valid'; did you mean 'validation'? There are train, validation, test"


def test_a_known_name_is_looked_up():
    """A key gives its value, even one that is falsy."""
    assert lookup("thing", "a", {"a": 0}) == 0


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        (["seed list is empty"], "seed list is empty"),
        (["a", "b"], "2 faults in the options:\n  - a\n  - b"),
        (["a", "b", "a"], "3 faults in the options:\n  - a\n  - b\n  - a"),
    ],
)
def test_a_grid_error_lists_all_faults(faults, message):
    """One fault is its own message; several stand below each other and stay available as a tuple."""
    error = GridError(faults)
    assert str(error) == message
    assert error.faults == tuple(faults)


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(28, "No space left on device"), True),
        (OSError(122, "Disk quota exceeded"), True),
        (RuntimeError('IoError(Os { code: 28, message: "No space left on device" })'), True),
        (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), True),
        (RuntimeError("(sqlite3.OperationalError) database or disk is full"), True),
        (OSError(13, "Permission denied"), False),
        (OSError(28, "Kein Platz mehr"), True),
        (caused(RuntimeError("writing failed"), OSError(28, "Kein Platz mehr")), True),
        (caused(RuntimeError("writing failed"), OSError(13, "Permission denied")), False),
        (caused(first := RuntimeError("first"), caused(RuntimeError("second"), first)), False),
        (ValueError("full"), False),
    ],
)
def test_a_full_disk_is_known_whoever_reports_it(error, full):
    """The system, tempfile, SQLite, and libraries that keep only the text."""
    assert is_full(error) == full
    assert remedy(error) == ("make room" if full else "put that right")
