"""crt.reporting.latex: a table stands in a two-column paper as it is."""

import re
import shutil
import subprocess
from itertools import product

import pytest

from crt.reporting.latex import in_latex

PERTURBATIONS = ("homophone", "shape", "traditional", "space", "punctuation", "synonym")
MODELS = ("bert-base-chinese", "chinese-roberta-wwm-ext", "chinese-macbert-base", "rule")
HEADER = ("data set", "model", "clean acc", *PERTURBATIONS, "mean")

PAPER = r"""\documentclass[11pt,a4paper,twocolumn]{article}
\usepackage[textwidth=455pt,textheight=704pt,columnsep=17pt]{geometry}
%s
\begin{document}
Tables~%s.
%s
\end{document}
"""
"""A page with the measures of the style of the ACL."""


def table(datasets, models, value="82.4±0.6*", header=HEADER):
    """Return a table for some models on some data sets."""
    rows = [(dataset, model, "90.5", *[value] * (len(header) - 3)) for dataset, model in product(datasets, models)]
    return in_latex(
        header, rows, frozenset({(0, 3)}), caption='Accuracy in percent, p < 0.05 | "all" > 0', note="±: over seeds.",
        label=f"{len(datasets)}-{len(models)}", comment="crt:1|scoring:4",
    )  # fmt: skip


TABLES = {
    "6 x 4": table(("chnsenticorp",), MODELS),
    "6 x 4 on three data sets": table(("chnsenticorp", "ocnli", "tnews"), MODELS),
    "one model": table(("tnews",), ("rule",)),
    "three perturbations": table(("tnews",), ("rule", "m"), header=(*HEADER[:6], "mean")),
    "wins": table(("tnews",), ("rule", "bert-base"), "3/2/1", ("data set", "model", "rule", "bert-base", "macbert")),
}


def test_what_stands_in_it():
    """The data set once for its models, means and spreads in columns of their own, a label, a short title and what it stands for."""
    text = TABLES["6 x 4 on three data sets"]
    assert r"\label{tab:crt-3-4}" in text
    assert text.count(r"\multirow{4}{*}{") == 3
    assert r"rule & 90.5 & & 82.4 & $^{*}_{\pm 0.6}$" in text
    assert r"\textbf{82.4} & $^{*}_{\pm 0.6}$" in text
    assert r"\multicolumn{2}{c}{homo.}" in text
    assert "homo. homophone" in text
    assert r"p $<$ 0.05 $|$ ''all'' $>$ 0" in text
    assert r"\begin{table*}" in text
    assert "multirow" not in TABLES["6 x 4"]
    assert r"\begin{table}" in TABLES["three perturbations"]


@pytest.mark.slow
@pytest.mark.parametrize("program", ["pdflatex", "xelatex"])
def test_nothing_sticks_out(tmp_path, program):
    """All tables compile, and no box of them is too wide for its column or the page."""
    if not shutil.which(program):
        pytest.skip(f"needs {program}")
    packages = {name for text in TABLES.values() for name in re.search(r"\\usepackage\{(.+?)\}", text)[1].split(",")}
    labels = ", ".join(
        rf"\ref{{{label}}}" for text in TABLES.values() for label in re.findall(r"\\label\{(.+?)\}", text)
    )
    preamble = "\n".join(
        rf"\usepackage{{{name}}}" for name in sorted(packages | {"times"} if program == "pdflatex" else packages)
    )
    (tmp_path / "paper.tex").write_text(PAPER % (preamble, labels, "\n".join(TABLES.values())), encoding="utf-8")
    done = subprocess.run(
        [program, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
