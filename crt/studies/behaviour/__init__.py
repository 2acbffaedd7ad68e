"""CheckList: does a model do what hand-written cases expect?"""

from crt.records import Study

STUDY = Study(
    kind="behaviour",
    summary="pass rates of hand-written cases: minimum functionality, invariance, direction (CheckList)",
    shown=r"(mft|inv|dir)_pass_rate",
    agree=("suite_digest",),
)
