from crt.api import Result as Result
from crt.api import compare as compare
from crt.api import evaluate as evaluate
from crt.api import list_perturbations as list_perturbations
from crt.api import load_model as load_model
from crt.api import perturb as perturb
from crt.errors import CrtError as CrtError
from crt.models import Predictor as Predictor
from crt.records import Prediction as Prediction
from crt.records import Site as Site

__version__: str
SCORING_VERSION: int
