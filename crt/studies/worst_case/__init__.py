"""RobTest: how often is a model right on several samples of a text, and how often on all of them?"""

from crt.records import Study

STUDY = Study(
    kind="worst_case",
    summary="average and worst case over several samples of each text, degree by degree (RobTest)",
    shown=r"(.*)_(average|worst|surviving)",
    agree=("data_digest", "protocol_digest", "*_digest"),
)
