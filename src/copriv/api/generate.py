"""Synthetic records in files, to try things out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import polars as pl

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.records import hospital_like, lending_like


def write_synthetic(
    kind: Literal["lending", "hospital"], files: Mapping[Path, int], seed: int = 0
) -> dict[Path, pl.DataFrame]:
    """Write so many records into each file: private ones into the first, public ones into the others.

    Raises:
        BadInput: a file exists, or is neither .csv nor .parquet by its name; nothing is written then.
    """
    for path in files:
        require_new_table(path)
    make = lending_like.generate if kind == "lending" else hospital_like.generate
    streams = ["records", *["public records"] * (len(files) - 1)]
    frames = {
        path: make(rows, seeded(seed, stream)) for (path, rows), stream in zip(files.items(), streams, strict=True)
    }
    for path, frame in frames.items():
        if path.suffix.lower() == ".csv":
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
    return frames


def require_new_table(path: Path) -> None:
    """Refuse a file that exists, or is neither .csv nor .parquet by its name."""
    if path.suffix.lower() not in {".csv", ".parquet"}:
        raise BadInput(f"{path} is neither .csv nor .parquet", remedy="name such a file", value=str(path))
    if path.exists():
        raise BadInput(f"{path} exists", remedy="choose another name, or remove it yourself", value=str(path))
