"""How a model is trained: the settings, without the libraries that follow them."""

from dataclasses import dataclass, field

from crt.models import PredictOptions
from crt.scoring.metrics import accuracy, macro_f1

SELECTION_METRICS = {"accuracy": accuracy, "macro_f1": macro_f1}
"""What the best epoch may be chosen by."""


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """How a model is trained."""

    model: str = "hfl/chinese-roberta-wwm-ext"
    """Hub id or folder of an encoder or classifier, or `tiny`."""
    num_train_epochs: int = 1
    """Passes over the training examples."""
    train_batch_size: int = 8
    """Examples in a forward pass, over all processes."""
    gradient_accumulation_steps: int = 1
    """Forward passes that make one step of the optimizer."""
    learning_rate: float = 2e-5
    """Peak of the linear schedule."""
    weight_decay: float = 0.01
    """Not applied to biases and layer norms."""
    warmup_ratio: float = 0.1
    """Share of the steps over which the learning rate rises."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this norm."""
    seed: int = 42
    """Of the weights of a new head, of dropout and of the order of the examples."""
    selection_metric: str = "accuracy"
    """Key of SELECTION_METRICS."""
    predict: PredictOptions = field(default_factory=PredictOptions)
    """Input length and precision."""
    augment: tuple[str, ...] = ()
    """Perturbations of training examples; the selection split stays as it is."""
    augment_prob: float = 0.15
    """Share of the sites that these edit."""
    augment_share: float = 0.5
    """Share of the examples that are perturbed in an epoch."""
