"""A trained model as a scikit-learn estimator that needs nothing but NumPy and scikit-learn.

It is an independent reading of the dictionary: a table becomes numbers, cells, features and a prediction, by NumPy.
`copriv export --to sklearn` writes this very text into a Python file, with the model's numbers behind it.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "?", "-"}
# What pandas puts where nothing is.
NOTHING = {"NoneType", "NAType", "NaTType"}
WRITTEN_DATES = {
    "day.month.year": (r"^(\d{1,2}\.\d{1,2}\.\d{4})(?:[ T].*)?$", "%d.%m.%Y"),
    "day/month/year": (r"^(\d{1,2}/\d{1,2}/\d{4})(?:[ T].*)?$", "%d/%m/%Y"),
    "month/day/year": (r"^(\d{1,2}/\d{1,2}/\d{4})(?:[ T].*)?$", "%m/%d/%Y"),
    "day-month-year": (r"^(\d{1,2}-\d{1,2}-\d{4})(?:[ T].*)?$", "%d-%m-%Y"),
    "year/month/day": (r"^(\d{4}/\d{1,2}/\d{1,2})(?:[ T].*)?$", "%Y/%m/%d"),
    "year.month.day": (r"^(\d{4}\.\d{1,2}\.\d{1,2})(?:[ T].*)?$", "%Y.%m.%d"),
    "day": (r"^(\d{4}-\d{1,2}-\d{1,2})", "%Y-%m-%d"),
    "month": (r"^([A-Za-z]{3}-\d{4})$", "%b-%Y"),
}
NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$")
MOST_DEVIATIONS = 1e9
SLIGHTLY_LESS = 1 - 1e-12


class TrainedModel(BaseEstimator):  # type: ignore[misc]
    """What both kinds of models have in common.

    Args:
        document: the model's numbers and its dictionary, as model.json has them.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The columns that it predicts from."""
        return np.array([column["name"] for column in self.document["dictionary"]["columns"]], dtype=object)

    def fit(self, X: Any = None, y: Any = None) -> TrainedModel:  # noqa: ANN401, ARG002
        """It is trained already: owners' records are not here."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def margins(self, X: Any) -> np.ndarray:  # noqa: ANN401
        """What the linear model says of every row of a table, or of an array with its columns in order."""
        dictionary = self.document["dictionary"]
        values = read_values(dictionary["columns"], X)
        scores = features_of(dictionary, values) / dictionary["length"]
        scores /= np.maximum(np.sqrt(np.sum(scores**2, axis=1)), 1.0)[:, None]
        theta, constant = np.asarray(self.document["theta"]), dictionary["intercept"]
        return np.asarray(SLIGHTLY_LESS * (np.sqrt(1 - constant**2) * (scores @ theta[:-1]) + constant * theta[-1]))


class TrainedRegressor(RegressorMixin, TrainedModel):  # type: ignore[misc]
    """Predicts a number in its own unit, or the expectation of a count or an amount."""

    def predict(self, X: Any, exposure: Any = 1.0) -> np.ndarray:  # noqa: ANN401
        """The target of every row; of a count or an amount, for an exposure."""
        target = self.document["dictionary"]["target"]
        if target["kind"] in ("count", "amount"):
            return np.asarray(np.asarray(exposure) * target["center"] * np.exp(self.margins(X)))
        return np.asarray(target["center"] + target["scale"] * self.margins(X))


class TrainedClassifier(ClassifierMixin, TrainedModel):  # type: ignore[misc]
    """Predicts one of two labels."""

    @property
    def classes_(self) -> np.ndarray:
        """The two labels, the positive one last; False and True where they have no other names."""
        target = self.document["dictionary"]["target"]
        names = target["categories"] or target["levels"]
        return np.array(names if len(names) == 2 else [False, True])

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: ANN401
        """The probability of each label."""
        positive = 1 / (1 + np.exp(-self.margins(X)))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any) -> np.ndarray:  # noqa: ANN401
        """The more probable label of every row."""
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)])


def read_values(columns: list[dict[str, Any]], table: Any) -> np.ndarray:  # noqa: ANN401
    """The value of each column of each row: in its own unit, or a category's place; NaN if it is missing."""
    by_name = hasattr(table, "columns") or isinstance(table, dict)
    cells = table if by_name else np.asarray(table, dtype=object)
    read = [read_column(column, cells[column["name"]] if by_name else cells[:, k]) for k, column in enumerate(columns)]
    return np.column_stack(read)


def read_column(column: dict[str, Any], cells: Any) -> np.ndarray:  # noqa: ANN401
    """One column as doubles."""
    given = np.asarray(cells)
    if given.dtype.kind in "biuf" and column["kind"] == "number":
        return given.astype(np.float64)
    if given.dtype.kind == "M":
        given = np.where(np.isnat(given), "", given.astype("datetime64[D]").astype(str))
    texts = [text_of(cell) for cell in given.tolist()]
    if column["kind"] == "category":
        places = {name: float(place) for place, name in enumerate(column["categories"])}
        buckets = column.get("encoding", {}).get("buckets", 0)
        return np.array([place_of(each, places, buckets) for each in texts], dtype=np.float64)
    read = number_of if column["kind"] == "number" else days_by(column["kind"])
    return np.array([np.nan if each is None else read(each) for each in texts], dtype=np.float64)


def text_of(cell: Any) -> str | None:  # noqa: ANN401
    """A cell as trimmed text; None where it is missing."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    text = "" if type(cell).__name__ in NOTHING else str(cell).strip()
    return None if text.lower() in MISSING or re.fullmatch("#+", text) else text


def place_of(text: str | None, places: dict[str, float], buckets: int) -> float:
    """A category's place in the list, or behind it; NaN if it is missing or has none."""
    if text is None or text in places or not buckets:
        return places.get(text or "", np.nan)
    if buckets == 1:
        return float(len(places))
    return float(len(places) + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % buckets)


def number_of(text: str) -> float:
    """Also 1,234.5 and 13.5% and $20 and 120 + are numbers."""
    plain = re.sub(r",(\d{3})", r"\1", text).removeprefix("$")
    plain = re.sub(r"\s*[%+]$", "", plain).lower()
    plain = {"true": "1", "false": "0"}.get(plain, plain)
    return float(plain) if NUMBER.match(plain) else np.nan


def days_by(kind: str) -> Any:  # noqa: ANN401
    """From a text to days since 1970."""
    pattern, form = WRITTEN_DATES[kind]

    def days(text: str) -> float:
        found = re.match(pattern, text)
        try:
            # A date has no time zone: only days are counted.
            return float((datetime.strptime(found[1], form).date() - date(1970, 1, 1)).days) if found else np.nan  # noqa: DTZ007
        except ValueError:
            return np.nan

    return days


def features_of(dictionary: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """Features of every row before they are bounded."""
    cells, parts = cells_of(dictionary, values), []
    if dictionary["components"]:
        components = np.asarray(dictionary["components"])
        parts.append(cells @ components.T - np.asarray(dictionary.get("offsets", np.zeros(len(components)))))
    weights = np.asarray(dictionary.get("weights", np.zeros(cells.shape[1])))
    parts.append((cells * weights)[:, weights != 0])
    if "score" in dictionary:
        trees, score = dictionary["score"]["trees"], dictionary["score"]
        sums = np.asarray(trees["values"])[stand(trees, inputs_of(dictionary, values))].sum(axis=1)
        parts.append(((sums - score["center"]) / score["deviation"])[:, None])
    if "leaves" in dictionary:
        trees = dictionary["leaves"]
        nodes = stand(trees, inputs_of(dictionary, values))
        found = np.zeros((values.shape[0], len(trees["columns"])))
        np.put_along_axis(found, nodes, 1.0, axis=1)
        parts.append(found[:, np.asarray(trees["columns"]) < 0])
    return np.hstack(parts)


def standardise(column: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """Numbers held within their limits, in deviations from the mean."""
    low, high = column.get("encoding", {}).get("limits") or (-np.inf, np.inf)
    held = (np.clip(values, low, high) - column["mean"]) / column["deviation"]
    return np.asarray(np.clip(held, -MOST_DEVIATIONS, MOST_DEVIATIONS))


def cells_of(dictionary: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """The cells of every row: standardised numbers, hinges, indicators, signs of missing values, products."""
    cells = []
    for column, given in zip(dictionary["columns"], values.T, strict=True):
        encoding, known = column.get("encoding", {}), np.isfinite(given)
        if encoding.get("indicators"):
            count = len(column["categories"]) + encoding.get("buckets", 0)
            cells += [(given == place).astype(np.float64) for place in range(count)]
        else:
            cell = standardise(column, np.where(known, given, column["fill"]))
            cells += [cell, *(np.maximum(cell - knot, 0.0) for knot in encoding.get("knots", ()))]
        if encoding.get("missing"):
            cells.append((~known).astype(np.float64))
    products = [cells[one] * cells[other] for one, other in dictionary.get("pairs", ())]
    return np.column_stack([*cells, *(np.clip(each, -MOST_DEVIATIONS, MOST_DEVIATIONS) for each in products)])


def inputs_of(dictionary: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """What trees read of every row."""
    inputs = []
    for column, given in zip(dictionary["columns"], values.T, strict=True):
        known = np.isfinite(given)
        place = column.get("encoding", {}).get("indicators", False)
        read = given if place else standardise(column, np.where(known, given, column["fill"]))
        inputs.append(np.where(known, read, -MOST_DEVIATIONS))
    return np.column_stack(inputs)


def stand(trees: dict[str, Any], inputs: np.ndarray) -> np.ndarray:
    """The leaf of each row in each tree, as a node."""
    columns, thresholds, left, right = (np.asarray(trees[name]) for name in ("columns", "thresholds", "left", "right"))
    nodes = np.tile(np.asarray(trees["roots"]), (inputs.shape[0], 1))
    while np.any(asks := columns[nodes] >= 0):
        cells = np.take_along_axis(inputs, np.maximum(columns[nodes], 0), axis=1)
        onwards = np.where(cells <= thresholds[nodes], left[nodes], right[nodes])
        nodes = np.where(asks, onwards, nodes)
    return nodes
