from copriv.api.audit import Audit as Audit
from copriv.api.audit import audit as audit
from copriv.api.data import Data as Data
from copriv.api.data import read as read
from copriv.api.forecast import Forecast as Forecast
from copriv.api.forecast import forecast as forecast
from copriv.api.inference import Inference as Inference
from copriv.api.inference import inference as inference
from copriv.api.model import Model as Model
from copriv.api.model import load as load
from copriv.api.plan import Plan as Plan
from copriv.api.plan import plan as plan
from copriv.api.power import Power as Power
from copriv.api.power import power as power
from copriv.api.reproduce import Reproduction as Reproduction
from copriv.api.reproduce import reproduce as reproduce
from copriv.api.sweep import Sweep as Sweep
from copriv.api.sweep import sweep as sweep
from copriv.api.train import Run as Run
from copriv.api.train import train as train
from copriv.api.validation_cost import ValidationCost as ValidationCost
from copriv.api.validation_cost import validation_cost as validation_cost
from copriv.api.verdict import Verdict as Verdict
from copriv.api.verdict import verdict as verdict
from copriv.planning.scenario import Scenario as Scenario

__version__: str
__all__ = [
    "Audit",
    "Data",
    "Forecast",
    "Inference",
    "Model",
    "Plan",
    "Power",
    "Reproduction",
    "Run",
    "Scenario",
    "Sweep",
    "ValidationCost",
    "Verdict",
    "audit",
    "forecast",
    "inference",
    "load",
    "plan",
    "power",
    "read",
    "reproduce",
    "sweep",
    "train",
    "validation_cost",
    "verdict",
]
