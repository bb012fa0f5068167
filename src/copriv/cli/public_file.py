"""A file of public rows, unless it is known to be private."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from copriv.errors import BadInput
from copriv.owner.registry import Registry
from copriv.owner.registry_store import default_folder
from copriv.records.table import open_table


def open_public(path: Path) -> pl.LazyFrame:
    """The table of public rows; the very file of a known dataset is refused. Nothing is noted."""
    table = open_table(path)
    if (default_folder() / "registry.sqlite").is_file():
        with Registry() as registry:
            known = registry.known_file(registry.fingerprint(path))
        if known is not None and known.dataset is not None:
            raise BadInput(
                f"{path} is a file of private records",
                remedy="give a file of public rows; rows once private stay private",
                value=str(path),
            )
    return table
