"""What a study is: a table, the pictures of it, and what the paper says of them beside what we find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from copriv.reproduction.cell import Cell, Outcome
from copriv.reproduction.world import World

RunCells = Callable[[Sequence[Cell]], list[Outcome]]

# Okabe and Ito's palette, distinguishable with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


@dataclass(frozen=True, slots=True)
class Settings:
    """How much to compute, and how."""

    runs: int
    seed: int
    run_cells: RunCells


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the paper says, what this run shows, and whether they agree; None where it cannot be told."""

    paper: str
    ours: str
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the paper, redrawn."""

    name: str
    title: str
    table: pl.DataFrame
    findings: tuple[Finding, ...]
    draw: Callable[[pl.DataFrame, Any], None]
    size: tuple[float, float] = (6.4, 3.8)


Study = Callable[[World, Settings], list[Figure]]


def save(figure: Figure, folder: Path, label: str) -> None:
    """The table as CSV, the picture as PNG and SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure.table.write_csv(folder / f"{figure.name}.csv")
    with _style():
        canvas = plt.figure(figsize=figure.size, layout="constrained")
        figure.draw(figure.table, canvas)
        canvas.suptitle(f"{figure.title}\n{label}", fontsize=9, x=0.01, ha="left")
        for kind in ("png", "svg"):
            metadata = {"Date": None} if kind == "svg" else None
            canvas.savefig(folder / f"{figure.name}.{kind}", dpi=160, metadata=metadata)
        plt.close(canvas)


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib.pyplot as plt

    options: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "copriv"}
    with plt.rc_context(options):
        yield
