"""Asynchronous, differentially private learning across organisations that may not pool their records.

Everything a user needs is here, and is imported when it is used. `__init__.pyi` has the types.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "read": "data",  # name a table, its target, its owners and its public rows
    "train": "train",  # one model across private owners
    "load": "model",  # a model from a file
    "Data": "data",  # what `read` gives
    "Run": "train",  # what `train` gives
    "Model": "model",  # what predicts
}

__all__ = ["Data", "Model", "Run", "load", "read", "train"]


def __getattr__(name: str) -> object:
    """Import what is asked for, when it is asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'copriv' has no attribute {name!r}")
    return getattr(import_module(f"copriv.api.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
