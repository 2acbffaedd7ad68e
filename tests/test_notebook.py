"""The notebook of the docs runs from top to bottom."""

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow


def test_the_notebook_runs(tmp_path, monkeypatch):
    """docs/crt.ipynb runs in a kernel of its own, in an empty folder, and leaves no file there."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(ROOT / "docs" / "crt.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("verdict" in str(output) or "<table" in str(output) for output in shown)
    assert not [*tmp_path.iterdir()]
