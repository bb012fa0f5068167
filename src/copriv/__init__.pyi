from copriv.api.audit import Audit as Audit
from copriv.api.audit import audit as audit
from copriv.api.data import Data as Data
from copriv.api.data import read as read
from copriv.api.model import Model as Model
from copriv.api.model import load as load
from copriv.api.reproduce import Reproduction as Reproduction
from copriv.api.reproduce import reproduce as reproduce
from copriv.api.sweep import Sweep as Sweep
from copriv.api.sweep import sweep as sweep
from copriv.api.train import Run as Run
from copriv.api.train import train as train

__version__: str
__all__ = [
    "Audit",
    "Data",
    "Model",
    "Reproduction",
    "Run",
    "Sweep",
    "audit",
    "load",
    "read",
    "reproduce",
    "sweep",
    "train",
]
