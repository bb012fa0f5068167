"""`Model` and `load`: a trained model, applied and explained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from copriv.api.tables import Table, as_lazy
from copriv.errors import BadInput
from copriv.records.table import collect, require_columns
from copriv.report.coefficients import LEVEL, coefficients_by_column
from copriv.report.explanation import REASONS, explain_rows
from copriv.report.model_export import to_scikit, write_format
from copriv.report.model_file import ModelFile, read_model, write_model
from copriv.vectors import FloatArray


@dataclass(frozen=True, repr=False)
class Model:
    """A trained model with the dictionary it needs and the promises under which it was trained.

    Get one from `train(...).model`, or from a file by `load`.

    >>> from copriv.api.train import train
    >>> from copriv.api.data import read
    >>> table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k % 20 / 5 for k in range(600)]}
    >>> model = train(read(table, target="y", owners=2, features=1), 10, simulate=True).model
    >>> model.target, model.columns
    ('y', ['x'])
    """

    file: ModelFile

    @property
    def target(self) -> str:
        """The column that it predicts."""
        return self.file.dictionary.target.name

    @property
    def columns(self) -> list[str]:
        """The columns that it predicts from."""
        return self.file.dictionary.required_columns()

    @property
    def private(self) -> bool:
        """Whether the noise in it protects anybody; False for a simulation and for a personal model."""
        return self.file.noise == "secure"

    def predict(self, table: Table) -> FloatArray:
        """The target of every row in its own unit; for a logistic model, the probability of a positive label.

        A model of counts or amounts gives the expectation for the row's exposure, and for one of 1 where it has none.

        Args:
            table: a path, or a polars, pandas or Arrow table, with the model's columns.

        Raises:
            BadTable: a column is missing.
        """
        return self.file.predict(self._rows(table))

    def explain(self, table: Table, most: int = REASONS) -> pl.DataFrame:
        """Why each row is predicted as it is: what its columns add to the prediction of the average public row.

        Args:
            table: as for `predict`.
            most: so many reasons a row, the largest first; what all others add together follows.

        Returns:
            One row a row: prediction, average (that of the average public row), `why` in words, and `reasons`, a list
            of column, value and what it adds: in the target's unit, or to the log-odds. Trees count as one reason.

        Raises:
            BadTable: a column is missing.
            BadInput: `most` is below 1.
        """
        return explain_rows(self.file, self._rows(table), most)

    def coefficients(self, by: str = "column", level: float = LEVEL) -> pl.DataFrame:
        """What the model has learnt, by original column and category or by component.

        Args:
            by: "column" for what one more unit of a column, and one more standard deviation, adds to the prediction
                (in the target's unit; for a logistic model, to the log-odds), from rows that are not shortened;
                a category counts by itself (1 where a row has it), or as its place 0, 1, 2 … in features of integer
                codes. "component" for the model's own numbers.
            level: of the intervals `low` to `high` of coefficients by column: how often intervals made like this hold
                the coefficient of the best model of the population in these features, if public rows and records are
                of one. `noise_share` is the part of the variance that owners' noise adds. `no_interval` says
                why there are none.

        Raises:
            BadInput: `by` is neither, or the level is not between 0 and 1.
        """
        if by == "component":
            return self._by_component()
        if by == "column":
            return coefficients_by_column(self.file, level)
        raise BadInput(f"coefficients by {by!r}", remedy='ask by "column" or by "component"', value=by)

    @property
    def no_interval(self) -> str | None:
        """Why coefficients have no intervals; None if they have some."""
        return self.file.errors.none or None

    def to_sklearn(self, path: str | Path | None = None, rows: Table | None = None) -> Any:  # noqa: ANN401
        """The model as a fitted estimator of scikit-learn, whose predictions agree with these to 1e-6 or better.

        It takes a pandas table, a mapping of columns, or an array with the columns in order. Its `predict` gives the
        target in its own unit; a logistic model's, the label, and `predict_proba` the probabilities.

        Args:
            path: also write it there, as a Python file that needs NumPy and scikit-learn only; `model` is the estimator
                in it. It can be read before it is run, which a pickle cannot.
            rows: compare predictions on these rows, too. They are compared on rows made from the dictionary anyway.

        Raises:
            BadInput: the model is personal, the file exists, scikit-learn is missing, or predictions differ.
        """
        checked = None if rows is None else self._rows(rows)
        if path is not None:
            write_format(self.file, Path(path), "sklearn", checked)
        return to_scikit(self.file, checked)

    def to_onnx(self, path: str | Path, rows: Table | None = None) -> Path:
        """Write the model as an ONNX graph, whose predictions agree with these to 1e-6 or better.

        Inputs `x0`, `x1` … are columns of shape (rows, 1), in the order of `columns`: numbers as doubles, NaN where
        they are missing; days as doubles, counted from 1970-01-01; categories as trimmed texts, empty where they are
        missing. The output `prediction` is as of `predict`.

        Args:
            path: a new file.
            rows: as for `to_sklearn`.

        Raises:
            BadInput: the model is personal, categories are hashed, the file exists, onnx or onnxruntime is missing, or
                predictions differ.
        """
        return write_format(self.file, Path(path), "onnx", None if rows is None else self._rows(rows))

    def save(self, path: str | Path) -> Path:
        """Write the model as JSON; an existing file is never overwritten.

        A model file is made to be passed on: it holds no record and no figure measured on records, and gets the
        permissions that your files have by default. Of a simulated run, whose noise protects nobody, keep it to
        yourself. A personal model has seen records without noise: only this user can read its file.
        """
        place = Path(path)
        if place.exists():
            raise BadInput(f"{place} exists", remedy="choose another name, or remove it yourself", value=str(place))
        if not place.parent.is_dir():
            raise BadInput(f"there is no folder {place.parent}", remedy="make it first", value=str(place.parent))
        write_model(self.file, place)
        return place

    def to_dict(self) -> dict[str, Any]:
        """Everything that model.json holds."""
        found: dict[str, Any] = msgspec.to_builtins(self.file)
        return found

    def to_polars(self) -> pl.DataFrame:
        """The coefficients by column."""
        return self.coefficients()

    def _rows(self, table: Table) -> pl.DataFrame:
        """The model's columns of a table, and the exposure if the model has one and the table, too."""
        lazy, given = as_lazy(table), self.file.dictionary.target.given_exposure
        require_columns(lazy, self.columns)
        known = [given.name] if given is not None and given.name in lazy.collect_schema().names() else []
        return collect(lazy.select([*self.columns, *known]))

    def _by_component(self) -> pl.DataFrame:
        names = [f"component {k}" for k in range(1, len(self.file.theta))]
        return pl.DataFrame({"component": [*names, "intercept"], "coefficient": list(self.file.theta)})

    def __repr__(self) -> str:
        kind = "personal" if self.file.personal else "simulated"
        simulated = "" if self.private else f", {kind}, not private"
        return f"Model(target={self.target!r}, {self.file.terms.rule}, {len(self.columns)} columns{simulated})"

    def _repr_html_(self) -> str:
        from copriv.report.run_html import model_html

        return model_html(repr(self), self.coefficients())


def load(path: str | Path) -> Model:
    """A model from a file.

    Args:
        path: the model.json of a run folder, or the folder.

    Raises:
        BadInput: there is none, or it is no model.

    >>> load("nowhere/model.json")
    Traceback (most recent call last):
    copriv.errors.BadInput: there is no model nowhere/model.json (give the model.json of a run folder)
    """
    place = Path(path)
    return Model(read_model(place / "model.json" if place.is_dir() else place))
