"""HANS: does a model of natural language inference follow surface cues in place of the meaning?"""

from crt.records import Study

STUDY = Study(
    kind="heuristics",
    summary="accuracy on pairs that follow a surface heuristic, by gold label (HANS)",
    shown=r"(.*)_(entailed|non_entailed)|nli_accuracy",
    agree=("data_digest",),
)
