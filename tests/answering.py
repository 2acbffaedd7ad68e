"""Models that stand outside of crt, in the forms that users bring them."""

import mlflow


def by_word(texts):
    """Return probabilities in the order of `labels`."""
    return [[0.9, 0.1] if "差" in text else [0.2, 0.8] for text in texts]


by_word.labels = ("negative", "positive")


def as_label(texts):
    """Return labels."""
    return ["negative" if "差" in text else "positive" for text in texts]


def overlap(pairs):
    """Return labels of pairs."""
    return ["entailment" if second in first else "neutral" for first, second in pairs]


class ByWord(mlflow.pyfunc.PythonModel):
    """A model of MLflow's own flavour, over a table with one column."""

    def predict(self, context, model_input, params=None):
        """Return a label for each row."""
        return as_label(model_input.iloc[:, 0])
