"""Whatever a user of scikit-learn gives: an array, a list, a table of pandas or polars; it is checked before use."""

from typing import Any, TypeAlias

Given: TypeAlias = Any
