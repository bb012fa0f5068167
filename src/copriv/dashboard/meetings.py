"""The meetings of a run as columns, read from its checkpoint as they come.

Another process writes the checkpoint. It is only read here, a few thousand rows at a time, so that nobody waits; what
was read once is not read again.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from copriv.learner.checkpoint import Expelled
from copriv.vectors import FloatArray

_COLUMNS = np.dtype([("owner", "i4"), ("outcome", "i2"), ("time", "f8"), ("nano", "i8")])
_ROWS_AT_ONCE = 20_000
_SELECT = "SELECT number, owner, outcome, time, nano, model FROM reply WHERE number > ? ORDER BY number LIMIT ?"
ANSWER = "answer"


class Meetings:
    """Every meeting so far: whom, what came of it, when, and what it cost.

    Args:
        path: the checkpoint; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._forget("")

    def _forget(self, run: str) -> None:
        self._run, self._last, self._size = run, 0, 0
        self._rows = np.empty(_ROWS_AT_ONCE, dtype=_COLUMNS)
        self._names: dict[str, int] = {}
        self._outcomes: dict[str, int] = {ANSWER: 0}
        self.models: dict[int, FloatArray] = {}
        self.expelled: tuple[Expelled, ...] = ()

    def refresh(self) -> None:
        """Read what is new; a checkpoint that cannot be read now is read later."""
        if not self._path.is_file():
            return
        with suppress(sqlite3.Error), closing(_open(self._path)) as connection:
            [run] = connection.execute("SELECT name FROM run").fetchone()
            if run != self._run:
                self._forget(run)
            self._read_expelled(connection)
            while rows := connection.execute(_SELECT, (self._last, _ROWS_AT_ONCE)).fetchall():
                self._take(rows)

    def _read_expelled(self, connection: sqlite3.Connection) -> None:
        """Whoever is expelled takes models along that were set up with its answers."""
        with suppress(sqlite3.OperationalError):  # of a version that expels nobody
            found = connection.execute("SELECT owner, number, why FROM expelled ORDER BY number").fetchall()
            expelled = tuple(Expelled(*row) for row in found)
            if expelled != self.expelled:
                self.expelled = expelled
                self.models = {}

    def _take(self, rows: list[Any]) -> None:
        needed = self._size + len(rows)
        if needed > self._rows.size:
            self._rows = np.resize(self._rows, max(needed, 2 * self._rows.size))
        part = self._rows[self._size : needed]
        _, owners, outcomes, times, nano, models = zip(*rows, strict=True)
        part["owner"] = [self._names.setdefault(name, len(self._names)) for name in owners]
        part["outcome"] = [self._outcomes.setdefault(outcome, len(self._outcomes)) for outcome in outcomes]
        part["time"], part["nano"] = times, nano
        for (number, *_), model in zip(rows, models, strict=True):
            if model is not None:
                self.models[number] = np.frombuffer(model, dtype=np.float64)
        self._last, self._size = rows[-1][0], needed

    def __len__(self) -> int:
        """How many there were."""
        return self._size

    @property
    def names(self) -> tuple[str, ...]:
        """Whoever was met, by its place in the columns."""
        return tuple(self._names)

    @property
    def times(self) -> FloatArray:
        """When each meeting was, in seconds since the run began."""
        times: FloatArray = self._rows["time"][: self._size]
        return times

    def answered(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which meetings came to an answer."""
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = self._rows["outcome"][: self._size] == 0
        return found

    def places(self) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """Whom each meeting was with, by its place among the names."""
        found: np.ndarray[tuple[int], np.dtype[np.int32]] = self._rows["owner"][: self._size]
        return found

    def outcomes(self) -> dict[str, dict[str, int]]:
        """How often what came of meetings with each owner."""
        kinds = tuple(self._outcomes)
        rows = self._rows[: self._size]
        codes = rows["owner"].astype(np.int64) * len(kinds) + rows["outcome"]
        table = np.bincount(codes, minlength=len(self._names) * len(kinds)).reshape(-1, len(kinds))
        return {
            name: {kind: count for kind, count in zip(kinds, row.tolist(), strict=True) if count}
            for name, row in zip(self._names, table, strict=True)
        }

    def spent(self) -> dict[str, int]:
        """What each owner was charged, in billionths."""
        rows = self._rows[: self._size]
        sums = np.bincount(rows["owner"], weights=rows["nano"], minlength=len(self._names))
        return {name: round(total) for name, total in zip(self._names, sums.tolist(), strict=True)}

    def last_times(self) -> dict[str, float]:
        """When each owner was met last, in seconds since the run began."""
        rows = self._rows[: self._size]
        last = np.zeros(len(self._names))
        np.maximum.at(last, rows["owner"], rows["time"])
        return dict(zip(self._names, last.tolist(), strict=True))


def _open(path: Path) -> sqlite3.Connection:
    """To read only; a file that nobody writes any more, in a folder that cannot be written, is read as it is."""
    place = f"file:{_quoted(path)}"
    connection = sqlite3.connect(f"{place}?mode=ro", uri=True, timeout=1)
    try:
        connection.execute("SELECT 1 FROM run").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True, timeout=1)
    return connection


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.absolute()))
