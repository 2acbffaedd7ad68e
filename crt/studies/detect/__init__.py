"""TCAB: was a text attacked, and by what?"""

from crt.records import Study

STUDY = Study(
    kind="detect",
    summary="how well attacked texts are detected, and attacks named (TCAB)",
    shown=r"(encoder_)?(detection|labelling)_(balanced_accuracy|roc_auc)",
    agree=("data_digest",),
)
