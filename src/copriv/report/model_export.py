"""A model for other programs: as an ONNX graph, as a Python file for scikit-learn, or as a table of coefficients.

What is written is compared with copriv's own predictions first, on rows made from the dictionary: numbers near and far,
missing values, every category and one that nobody has seen, days. Nothing is written that differs.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.records.column import WRITTEN_DATES, Column
from copriv.records.dictionary import Dictionary
from copriv.records.table import require_columns
from copriv.report.coefficients import coefficients_by_column
from copriv.report.model_file import ModelFile
from copriv.vectors import FloatArray

TOLERANCE = 1e-6
_ROWS = 509
_UNSEEN = "a category that nobody has seen"
_UNREADABLE = "not a value"
_FIRST_DAY, _DAYS = date(1970, 1, 1), (-200_000, 200_000)


def to_scikit(model: ModelFile, rows: pl.DataFrame | None = None) -> Any:  # noqa: ANN401
    """The model as an estimator of scikit-learn, compared with copriv's own predictions.

    Args:
        model: neither it nor what it becomes is trained any further.
        rows: rows to compare on, besides those made from the dictionary.

    Raises:
        BadInput: the model is personal, or scikit-learn is not installed, or predictions differ.
    """
    _require_shareable(model)
    try:
        from copriv.report.scikit_model import TrainedClassifier, TrainedRegressor
    except ModuleNotFoundError as problem:
        raise _not_installed("scikit-learn", "sklearn") from problem
    kind = TrainedClassifier if model.dictionary.target.kind == "label" else TrainedRegressor
    estimator = kind(msgspec.json.decode(msgspec.json.encode(_document(model))))

    def predict(table: pl.DataFrame) -> FloatArray:
        cells = {name: table[name].to_numpy() for name in model.dictionary.required_columns()}
        found = estimator.predict_proba(cells)[:, 1] if kind is TrainedClassifier else estimator.predict(cells)
        return np.asarray(found, dtype=np.float64)

    _require_agreement(model, predict, rows, "scikit-learn")
    return estimator


def to_onnx(model: ModelFile, rows: pl.DataFrame | None = None) -> bytes:
    """The model as an ONNX graph, compared with copriv's own predictions; else as `to_scikit`.

    Raises:
        BadInput: the model is personal, a column's categories are hashed, onnx or onnxruntime is not installed, or
            predictions differ.
    """
    _require_shareable(model)
    try:
        import onnxruntime

        from copriv.report.onnx_model import OUTPUT, onnx_model

        content: bytes = onnx_model(model).SerializeToString()
    except ModuleNotFoundError as problem:
        raise _not_installed(str(problem.name), "onnx") from problem
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    _require_agreement(
        model, lambda table: session.run([OUTPUT], onnx_inputs(model.dictionary, table))[0][:, 0], rows, "ONNX"
    )
    return content


def onnx_inputs(dictionary: Dictionary, table: pl.DataFrame) -> dict[str, Any]:
    """A table as the graph reads it: numbers and days as doubles, categories as texts."""
    from copriv.records.column import text

    found: dict[str, Any] = {}
    for place, column in enumerate(dictionary.columns):
        dtype = table.schema[column.name]
        if column.kind == "category":
            cells = table.select(text(column.name, dtype).fill_null("")).to_series().to_list()
            found[f"x{place}"] = np.array(cells, dtype=object)[:, None]
        else:
            found[f"x{place}"] = table.select(column.values(dtype)).to_numpy().astype(np.float64)
    return found


def scikit_file(model: ModelFile, rows: pl.DataFrame | None = None) -> bytes:
    """A Python file that needs NumPy and scikit-learn only; its `model` is the estimator."""
    to_scikit(model, rows)
    from copriv.report import scikit_model
    from copriv.report.onnx_model import describe

    # Names that others have chosen stand here as JSON: none of them can end the comment.
    about = "".join(f"# {name}: {_json(value)}\n" for name, value in describe(model).items() if name != "inputs")
    kind = "TrainedClassifier" if model.dictionary.target.kind == "label" else "TrainedRegressor"
    numbers = _json(_document(model))
    return (
        f"{inspect.getsource(scikit_model)}\n\n# A model that copriv has trained.\n{about}"
        f"import json  # noqa: E402\n\nmodel = {kind}(json.loads({numbers!r}))\n"
    ).encode()


def coefficient_file(model: ModelFile, _rows: pl.DataFrame | None = None) -> bytes:
    """Coefficients by column as CSV, in which no name that somebody has chosen is a formula of a spreadsheet."""
    _require_shareable(model)
    table = coefficients_by_column(model)
    return table.with_columns(no_formula(pl.col("column"))).write_csv().encode()


def no_formula(names: pl.Expr) -> pl.Expr:
    """The same names, with an apostrophe before those that a spreadsheet would work out.

    >>> pl.DataFrame({"name": ["=1+1", "rate"]}).select(no_formula(pl.col("name")))["name"].to_list()
    ["'=1+1", 'rate']
    """
    return names.str.replace(r"^([=+@\t\r-])", "'$1")


FORMATS: Mapping[str, Callable[[ModelFile, pl.DataFrame | None], bytes]] = {
    "onnx": to_onnx,
    "sklearn": scikit_file,
    "coefficients": coefficient_file,
}


def write_format(model: ModelFile, path: Path, form: str, rows: pl.DataFrame | None = None) -> Path:
    """Write a model for other programs; an existing file is never overwritten.

    Raises:
        BadInput: there is no such format, the file exists, or the model cannot be written like that.
    """
    if form not in FORMATS:
        raise BadInput(f"a model as {form!r}", remedy=f"use {', '.join(FORMATS)}", value=form)
    if path.exists():
        raise BadInput(f"{path} exists, and is never overwritten", remedy="choose another name", value=str(path))
    content = FORMATS[form](model, rows)
    try:
        with path.open("xb") as file:
            file.write(content)
    except OSError as problem:
        raise BadInput(f"{path} cannot be written: {problem.strerror}", remedy="choose another place") from problem
    return path


def rows_for(dictionary: Dictionary, rows: int = _ROWS) -> pl.DataFrame:
    """Rows that try out a dictionary: the same whenever they are made."""
    return pl.DataFrame(
        [_cells(column, place, rows, dictionary) for place, column in enumerate(dictionary.columns, start=1)]
    )


def _cells(column: Column, place: int, rows: int, dictionary: Dictionary) -> pl.Series:
    """Values spread evenly by the multiples of an irrational number, with missing and odd ones among them."""
    step = math.sqrt(2) * place if len(dictionary.columns) > 1 else math.sqrt(2)
    spread = [(k * step) % 1 for k in range(rows)]
    if column.kind == "category":
        names = [*column.categories, _UNSEEN, f"{_UNSEEN} either", None]
        return pl.Series(column.name, [names[int(each * len(names))] for each in spread], pl.String)
    values = [column.mean + column.deviation * (8 * each - 4) for each in spread]
    if column.kind == "number":
        odd = {3: None, 5: math.inf, 7: 1e300, 11: -1e300, 13: math.nan}
        cells = [odd.get(k % 97, value) for k, value in enumerate(values)]
        return pl.Series(column.name, cells, pl.Float64)
    shown = [_written(column, value) for value in values]
    texts = [(None, _UNREADABLE)[k % 2] if k % 31 == 0 else text for k, text in enumerate(shown)]
    return pl.Series(column.name, texts, pl.String)


def _written(column: Column, value: float) -> str:
    """A day as its column writes it."""
    form = {"day": "%Y-%m-%d", "month": "%b-%Y"}.get(column.kind) or WRITTEN_DATES[column.kind]
    return (_FIRST_DAY + timedelta(days=min(max(round(value), _DAYS[0]), _DAYS[1]))).strftime(form)


def _require_agreement(
    model: ModelFile, predict: Callable[[pl.DataFrame], FloatArray], rows: pl.DataFrame | None, what: str
) -> None:
    """Refuse what does not predict as copriv does, in units of the target's scale or of a probability."""
    unit = 1.0 if model.dictionary.target.kind == "label" else model.dictionary.target.scale
    tables = [rows_for(model.dictionary)]
    if rows is not None:
        require_columns(rows.lazy(), model.dictionary.required_columns())
        # What is exported predicts for an exposure of 1.
        tables.append(rows.select(model.dictionary.required_columns()))
    for table in tables:
        away = float(np.max(np.abs(predict(table) - model.predict(table)), initial=0.0)) / unit
        if not away <= TOLERANCE:
            raise BadInput(
                f"the model as {what} predicts otherwise, by {away:.2g} of the target's scale",
                remedy="use copriv predict, and report this",
                value=away,
            )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _document(model: ModelFile) -> dict[str, Any]:
    return {"theta": model.theta, "dictionary": model.dictionary}


def _require_shareable(model: ModelFile) -> None:
    if model.personal:
        raise BadInput("a personal model is not exported", remedy="it stays at home: no ε covers it", value=model.noise)


def _not_installed(name: str, extra: str) -> BadInput:
    return BadInput(f"{name} is not installed", remedy=f"pip install 'copriv[{extra}]'", value=name)
