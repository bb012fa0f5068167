"""A path or any table as a lazy table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from copriv.records.table import open_table


def as_lazy(source: Any) -> pl.LazyFrame:  # noqa: ANN401
    """Of a path, or a polars, pandas or Arrow table."""
    if isinstance(source, str | Path):
        return open_table(Path(source))
    return pl.LazyFrame(source) if not isinstance(source, pl.LazyFrame) else source
