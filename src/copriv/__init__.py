"""Asynchronous, differentially private learning across organisations that may not pool their records.

Everything a user needs is here, and is imported when it is used. `__init__.pyi` has the types.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

_HOMES = {
    "read": "data",  # name a table, its target, its owners and its public rows
    "train": "train",  # one model across private owners
    "load": "model",  # a model from a file
    "sweep": "sweep",  # trainings over a grid of settings
    "audit": "audit",  # does the noise keep the promise?
    "reproduce": "reproduce",  # the paper's figures
    "Data": "data",  # what `read` gives
    "Run": "train",  # what `train` gives
    "Model": "model",  # what predicts
    "Sweep": "sweep",  # what `sweep` gives
    "Audit": "audit",  # what `audit` gives
    "Reproduction": "reproduce",  # what `reproduce` gives
}

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


def __getattr__(name: str) -> object:
    """Import what is asked for, when it is asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'copriv' has no attribute {name!r}")
    return getattr(import_module(f"copriv.api.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


class _Entrance(ModuleType):
    """Keeps a verb a verb: importing a package of the same name, such as copriv.audit, does not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Entrance
