"""ChineseRobustText: how much worse a Chinese text classifier gets on the input that people really write."""

from importlib import import_module
from typing import Any

__all__ = [
    "CrtError", "Prediction", "Predictor", "Result", "Site", "compare", "evaluate", "list_perturbations", "load_model", "perturb",
]  # fmt: skip

__version__ = "0.1.0"

SCORING_VERSION = 4
"""Raised whenever a published number changes its meaning, or a new one is stored; part of every cell's fingerprint.

4: edits that keep the label: numbers, negations and persons stay, no option is offensive or of the other polarity, and a draw
belongs to the text rather than to its row.
3: three metrics beside those of 2, whose values are as they were; so a cell of 2 lacks them and is measured again.
`clean_unk_rate` came later and did not raise it: it says whether a model can read its input at all, and a cell without it is
whole.
"""

_HOMES = {"CrtError": "crt.errors", "Prediction": "crt.records", "Predictor": "crt.models", "Site": "crt.records"}
"""Where the names above are at home, if not in `crt.api`."""


def __getattr__(name: str) -> Any:
    """Load a name of the package when it is first used: `import crt` alone loads nothing (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'crt' has no attribute '{name}'")
    return getattr(import_module(_HOMES.get(name, "crt.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
