"""What users give to an estimator, checked: public rows, classes, owners."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from copriv.errors import BadInput
from copriv.sklearn.cells import number_of, numbers_of
from copriv.sklearn.given import Given
from copriv.sklearn.problem import PublicTable
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Public rows as they were given."""

    rows: FloatArray
    targets: npt.NDArray[Any]

    def numbers(self) -> PublicTable:
        """With a target that is a number."""
        try:
            return PublicTable(self.rows, self.targets.astype(np.float64))
        except (TypeError, ValueError):
            raise BadInput(
                f"the y of the public rows is of type {self.targets.dtype}",
                remedy="give numbers",
                value=self.targets.dtype,
            ) from None

    def labels(self, classes: npt.NDArray[Any]) -> PublicTable:
        """With a target of −1 and +1."""
        return PublicTable(self.rows, encode(self.targets, classes))


def public_of(public: Given, columns: int, names: Sequence[str] | None) -> GivenRows | None:
    """The public rows, which must have the columns of X."""
    if public is None:
        return None
    try:
        rows, targets = public
    except (TypeError, ValueError):
        raise BadInput("public is not a pair", remedy="give public=(X, y)", value=type(public).__name__) from None
    theirs = getattr(rows, "columns", None)
    if names is not None and theirs is not None and list(map(str, theirs)) != list(names):
        raise BadInput(
            "the public rows have other columns than X", remedy=f"give them in this order: {', '.join(names)}"
        )
    found = check_array(rows, dtype=np.float64, ensure_all_finite=False, input_name="the public X")
    flat = np.ravel(np.asarray(targets))
    if found.shape[1] != columns or flat.size != found.shape[0]:
        raise BadInput(
            f"public rows of shape {found.shape} with {flat.size} targets, for an X of {columns} columns",
            remedy="give public=(X, y) with the columns of X and one target a row; in a pipeline, as they are after "
            "the steps before",
            value=found.shape,
        )
    return GivenRows(found, flat)


def owners_of(owner: Given, rows: int) -> npt.NDArray[np.str_]:
    """Whose each row is; one owner if nobody is named."""
    if owner is None:
        return np.full(rows, "owner")
    found = np.asarray(owner, dtype=object)
    if found.shape != (rows,):
        raise BadInput(f"owner has the shape {found.shape}", remedy=f"name one a row: {rows:,}", value=found.shape)
    missing = sum(name is None or name != name for name in found)
    if missing:
        raise BadInput(f"{missing:,} rows name no owner", remedy="name one a row, or leave them out", value=missing)
    return found.astype(np.str_)


def classes_of(bounds: Given, public: GivenRows | None, y: npt.NDArray[Any], *, simulate: bool) -> npt.NDArray[Any]:
    """The two classes: as agreed, else of the public rows; of private ones only in a simulation."""
    agreed = None if bounds is None else bounds[1]
    if agreed is None and public is None and not simulate:
        raise BadInput(
            "nobody has said which two classes there are",
            remedy="give public rows, or name them: bounds=((low, high), (0, 1)); private rows are not asked for it",
        )
    known = y if public is None else public.targets
    found = np.unique(known if agreed is None else np.asarray(agreed))
    if found.size > 2:
        raise BadInput(
            "Only binary classification is supported. The type of the target is multiclass",
            remedy="give two classes",
            value=int(found.size),
        )
    if found.size < 2:
        raise BadInput(f"there is {found.size} class", remedy="give two classes", value=int(found.size))
    unlike = _is_text(found) != _is_text(y) if simulate else _is_text(found) and not _is_text(y)
    if unlike:
        raise BadInput(
            f"the classes are of type {found.dtype}, and y is of type {y.dtype}",
            remedy="name the classes as in y",
            value=str(found.dtype),
        )
    return found


def encode(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> FloatArray:
    """−1 and +1 for the two classes, NaN for any other; each label is read by itself, and "1" is 1.

    >>> encode(np.array(["no", "yes", "?"]), np.array(["no", "yes"])).tolist()
    [-1.0, 1.0, nan]
    >>> encode(np.array([0, "1", 0.5], dtype=object), np.array([0, 1])).tolist()
    [-1.0, 1.0, nan]
    """
    names = [number_of(name) for name in classes]
    if math.isnan(sum(names)) or names[0] == names[1]:
        first, second = map(str, classes)
        marks = {first: -1.0, second: 1.0}
        return np.array([marks.get(str(label), math.nan) for label in y.tolist()], dtype=np.float64)
    found = numbers_of(y)
    return np.where(found == names[1], 1.0, np.where(found == names[0], -1.0, np.nan))


def _is_text(labels: npt.NDArray[Any]) -> bool:
    return labels.dtype.kind in "OUS"


def require_loss(loss: str, known: tuple[str, ...]) -> str:
    """A loss that the estimator has."""
    if loss not in known:
        raise BadInput(f"the loss is {loss!r}", remedy=f"choose {' or '.join(known)}", value=loss)
    return loss
