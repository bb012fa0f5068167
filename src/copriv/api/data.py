"""`read`: a table, what to predict, who owns which rows, and which rows are public. Nothing is read yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

import msgspec
import polars as pl

from copriv.api.settings import Each, Reading, loading_from, request_from, require_known
from copriv.api.tables import Table, as_lazy, as_path
from copriv.records.load import Intake
from copriv.runtime.events import Tell, silent
from copriv.runtime.local_load import Held, Sources
from copriv.runtime.local_request import Loading


@dataclass(frozen=True, repr=False)
class Data:
    """A table that several owners share, and how it is read; made by `read`.

    Args:
        source: a path, or a table in memory.
        target: the column to predict.
        owners: the column that names the owner of each row, or the number of blocks to divide the rows into.
        public: public rows in a table of their own; without, the last rows of `source`.
        reading: everything else about how it is read.

    >>> Data({"x": [1.0]}, target="x", owners=1)
    Data(a table in memory, target='x', owners=1)
    """

    source: Table
    target: str | None = None
    owners: str | int | None = None
    public: Table = None
    reading: Reading = field(default_factory=Reading)
    _sources: list[Sources] = field(default_factory=list, compare=False)

    def loading(self, loss: str = "squared") -> Loading:
        """What is asked of the runtime."""
        found = loading_from(self.target, self.owners, self.reading)
        return msgspec.structs.replace(found, data=as_path(self.source), public=as_path(self.public), loss=loss)

    def sources(self) -> Sources:
        """The tables in memory; what was read of them, or of files, is kept."""
        if not self._sources:
            self._sources.append(Sources(_held(self.source), _held(self.public)))
        return self._sources[0]

    def intake(self, loss: str = "squared", tell: Tell = silent, epsilon: Each = 1) -> Intake:
        """The records as numbers: public rows, dictionary, each owner's sample. Read once, and kept.

        Features that nobody has named are chosen as `train` would for this ε: by default for 1.

        Raises:
            BadInput: the table cannot be read as it was asked for.
        """
        return self.sources().intake(request_from(self.loading(loss), epsilon, {}), tell)

    def lazy(self) -> pl.LazyFrame:
        """The table itself."""
        return as_lazy(self.source, self.loading().format())

    def __repr__(self) -> str:
        name = as_path(self.source) or "a table in memory"
        return f"Data({name}, target={self.target!r}, owners={self.owners!r})"


def read(
    source: Table,
    *,
    target: str | None = None,
    owners: str | int | None = None,
    public: Table = None,
    **reading: Unpack[Reading],
) -> Data:
    """Name a table, the column to predict, the owners and the public rows. Nothing is read yet.

    Args:
        source: a path (.csv, .parquet …), or a polars, pandas or Arrow table.
        target: the column to predict.
        owners: the column that names the owner of each row, or the number of blocks to divide the rows into.
        public: public rows in a table of their own: they fit the features, the clip and the step, and nobody in them
            is protected. Without, the last rows of `source` are public.
        **reading: see `Reading`: skip, features, public_rows, shuffle, seed, ordinal, positive_above, dictionary,
            min_records, records_per_owner, person, rows_cap, weigh.

    Raises:
        BadInput: a setting is not known, or there is no such file.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 30, 47, 61] * 50, "bank": ["a", "b"] * 100, "rate": [9.5, 8, 7.5, 5] * 50})
    >>> data = read(table, target="rate", owners="bank", public_rows=40, features=1)
    >>> [(owner.name, owner.sample.records) for owner in data.intake().owners]
    [('a', 80), ('b', 80)]
    """
    require_known(reading, Reading, "read")
    for each in (source, public):
        path = as_path(each) if each is not None else None
        if path is not None and not path.is_file():
            as_lazy(path)
    return Data(source, target, owners, public, reading)


def _held(source: Table) -> Held | None:
    if source is None or as_path(source) is not None:
        return None
    return Held(as_lazy(source))
