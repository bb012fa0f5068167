"""Asynchronous, differentially private learning across organisations that may not pool their records.

Everything a user needs is here, and is imported when it is used. `__init__.pyi` has the types.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

_HOMES = {
    "read": "api.data",  # name a table, its target, its owners and its public rows
    "train": "api.train",  # one model across private owners
    "load": "api.model",  # a model from a file
    "forecast": "api.forecast",  # what training together will cost
    "power": "api.power",  # will an effect be found?
    "inference": "api.inference",  # coefficients of a run, with intervals
    "validation_cost": "api.validation_cost",  # what it takes to know how good a model is
    "plan": "api.plan",  # the ways to train, ranked
    "verdict": "api.verdict",  # should an owner join?
    "sweep": "api.sweep",  # trainings over a grid of settings
    "audit": "api.audit",  # does the noise keep the promise?
    "reproduce": "api.reproduce",  # the paper's figures
    "Data": "api.data",  # what `read` gives
    "Run": "api.train",  # what `train` gives
    "Model": "api.model",  # what predicts
    "Scenario": "planning.scenario",  # who would train: sizes and promises
    "Forecast": "api.forecast",  # what `forecast` gives
    "Power": "api.power",  # what `power` gives
    "Inference": "api.inference",  # what `inference` gives
    "Plan": "api.plan",  # what `plan` gives
    "ValidationCost": "api.validation_cost",  # what `validation_cost` gives
    "Verdict": "api.verdict",  # what `verdict` gives
    "Sweep": "api.sweep",  # what `sweep` gives
    "Audit": "api.audit",  # what `audit` gives
    "Reproduction": "api.reproduce",  # what `reproduce` gives
}

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


def __getattr__(name: str) -> object:
    """Import what is asked for, when it is asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'copriv' has no attribute {name!r}")
    return getattr(import_module(f"copriv.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


class _Entrance(ModuleType):
    """Keeps a verb a verb: importing a package of the same name, such as copriv.audit, does not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Entrance
