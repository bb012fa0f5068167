"""The folder of a finished run with many owners and meetings; some owners have names that nobody should choose."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from copriv.entropy import seeded
from copriv.learner.checkpoint import Checkpoint

ODD_NAMES = ("<script>alert(3)</script>", "\x1b[2J\x1b]0;gone\x07", "x" * 10_000, "\u202eesrever", "{{ 7 * 7 }}")
_INSERT = (
    "INSERT INTO reply (number, owner, outcome, query, time, nano, model, theta, answer, kind, share) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
NUMBERS, MODELS_KEPT, REFUSED = 10, 200, 50


def crowded_run(folder: Path, owners: int, meetings: int) -> Path:
    """Make it: a checkpoint as a learner leaves it, and the figures of the run."""
    folder.mkdir()
    names = [*ODD_NAMES, *(f"owner-{place:04d}" for place in range(len(ODD_NAMES), owners))]
    Checkpoint.create(folder / "checkpoint.sqlite", run="run", terms="t", schedule="s").close()
    connection = sqlite3.connect(folder / "checkpoint.sqlite")
    connection.execute("PRAGMA synchronous = OFF")
    connection.executemany(_INSERT, _rows(names, meetings))
    connection.commit()
    connection.close()
    spent = [{"owner": name, "promised": 1.0, "delta": 0.0, "epsilon": 0.4, "records": 100} for name in names]
    promise = {"epsilon": 1.0, "delta": 0.0}
    figures = {"spent": spent, "horizon": meetings, "rule": "paper", "terms": "t" * 64, "guarantee": promise}
    (folder / "run.json").write_text(json.dumps(figures))
    return folder


def _rows(names: list[str], meetings: int) -> Iterator[tuple[object, ...]]:
    chance, answer = seeded(0, "meetings"), np.zeros(NUMBERS).tobytes()
    whom = chance.integers(0, len(names), meetings).tolist()
    times = np.cumsum(chance.exponential(0.01, meetings)).tolist()
    every = max(1, meetings // MODELS_KEPT)
    for number, (place, time) in enumerate(zip(whom, times, strict=True), start=1):
        model = (np.linspace(1, 2, NUMBERS) + 1 / number).tobytes() if number % every == 1 else None
        outcome = "failed" if number % REFUSED == 0 else "answer"
        yield number, names[place], outcome, f"run:{number}", time, 1000, model, answer, answer, "gradient", 0
