"""model.json: a model that can be passed on. It holds what came of the answers and of public rows, nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.protocol.terms import Terms
from copriv.records.dictionary import Dictionary
from copriv.report.coefficient_errors import CoefficientErrors
from copriv.vectors import FloatArray

FORMAT = 1
# In place of the noise: a model that has seen an owner's records as they are. It stays at home.
PERSONAL = "none: personal, fitted to records as they are, not to be passed on"


class Promised(msgspec.Struct, frozen=True):
    """What one owner promised about any one of its records."""

    owner: str
    epsilon: float
    delta: float
    unit: str = UNIT
    adjacency: str = ADJACENCY


class ModelFile(msgspec.Struct, frozen=True):
    """A trained model with the dictionary it needs, the promises under which it was trained, and its errors."""

    theta: tuple[float, ...]
    terms: Terms
    dictionary: Dictionary
    promised: tuple[Promised, ...]
    noise: str
    format: int = FORMAT
    errors: CoefficientErrors = CoefficientErrors()

    @property
    def personal(self) -> bool:
        """Whether it is an owner's personal model, which no ε covers."""
        return self.noise == PERSONAL

    def predict(self, table: pl.DataFrame) -> FloatArray:
        """The target of every row in its own unit, or the probability of a positive label.

        Of a count or an amount, its expectation for the row's exposure; for an exposure of 1 where the row has none.
        """
        margins = self.dictionary.features_of(table) @ np.asarray(self.theta)
        target = self.dictionary.target
        return target.restore(margins + target.prediction_offsets(table) if target.is_rate else margins)


def write_model(model: ModelFile, path: Path) -> None:
    """Write a model; an existing file is never overwritten. One that stays at home only this user can read."""
    mode = 0o600 if model.personal else 0o666
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(msgspec.json.format(msgspec.json.encode(model)) + b"\n")


def read_model(path: Path) -> ModelFile:
    """Read a model, or say why it is none."""
    if not path.is_file():
        raise BadInput(f"there is no model {path}", remedy="give the model.json of a run folder", value=str(path))
    try:
        model = msgspec.json.decode(path.read_bytes(), type=ModelFile)
    except msgspec.DecodeError as problem:
        raise BadInput(
            f"{path} is not a model: {problem}", remedy="give the model.json of a run folder", value=str(path)
        ) from problem
    if model.format != FORMAT or len(model.theta) != model.dictionary.parameters:
        raise BadInput(
            f"{path} is of format {model.format} with {len(model.theta)} numbers",
            remedy=f"use a model of format {FORMAT} whose length fits its dictionary",
            value=model.format,
        )
    _require_errors(model, path)
    return model


def _require_errors(model: ModelFile, path: Path) -> None:
    """Refuse standard errors that are not those of this model's coefficients."""
    errors = model.errors
    if not errors.total:
        return
    expected = len(model.dictionary.cell_weights(model.theta)) + 1
    if not len(errors.total) == len(errors.noise) == expected or errors.none:
        raise BadInput(
            f"{path} has {len(errors.total)} standard errors for {expected} coefficients",
            remedy="use the file as it was written",
            value=len(errors.total),
        )
