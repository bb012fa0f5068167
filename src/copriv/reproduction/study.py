"""What a study is: a table, the pictures of it, and what the paper says of them beside what we find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from copriv.reproduction.cell import Cell, Outcome

RunCells = Callable[[Sequence[Cell]], list[Outcome]]

# Okabe and Ito's palette, distinguishable with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# An ε of a grid stands for one that the paper names if it is no further from it than this factor.
_NEAR = 1.3


@dataclass(frozen=True, slots=True)
class Settings:
    """How much to compute, and how.

    Args:
        runs: of each setting.
        seed: of the first run.
        run_cells: computes settings.
        epsilons: the budgets of every figure, ascending; None for those of the paper.
        sizes: records of each bank (Figs. a1 and a3; the largest in a0), ascending; None for those of the paper.
        owners: how many banks (Fig. a4), ascending; None for those of the paper.
    """

    runs: int
    seed: int
    run_cells: RunCells
    epsilons: tuple[float, ...] | None = None
    sizes: tuple[int, ...] | None = None
    owners: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the paper says, what this run shows, and whether they agree.

    Args:
        paper: what the paper says.
        ours: what this run shows.
        agrees: None where this run cannot tell.
        gap: where they disagree, by how much; where this run cannot tell, why not.
    """

    paper: str
    ours: str
    agrees: bool | None
    gap: str = ""

    @property
    def verdict(self) -> str:
        """In words.

        >>> Finding("ψ falls", "it rises", False, "by a factor of 3").verdict
        'no: by a factor of 3'
        """
        if self.agrees:
            return "yes"
        return f"{'no' if self.agrees is False else 'cannot be told'}: {self.gap}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the paper, redrawn."""

    name: str
    title: str
    table: pl.DataFrame
    findings: tuple[Finding, ...]
    draw: Callable[[pl.DataFrame, Any], None]
    size: tuple[float, float] = (6.4, 3.8)


def nearest(epsilon: float, epsilons: Sequence[float]) -> float | None:
    """The ε of a grid that stands for one that the paper names; None if none is near.

    >>> nearest(10, (0.1, 1, 9.5)), nearest(10, (0.1, 1))
    (9.5, None)
    """
    found = min(epsilons, key=lambda value: abs(np.log(value / epsilon)))
    return found if max(found / epsilon, epsilon / found) <= _NEAR else None


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
