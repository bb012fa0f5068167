from copriv.api.data import Data as Data
from copriv.api.data import read as read
from copriv.api.model import Model as Model
from copriv.api.model import load as load
from copriv.api.train import Run as Run
from copriv.api.train import train as train

__version__: str
__all__ = ["Data", "Model", "Run", "load", "read", "train"]
