"""What was predicted, how far off it is, and what could not be read."""

from __future__ import annotations

import msgspec


class Accuracy(msgspec.Struct):
    """How far off predictions are, on this table; for labels, the share that is right, and that of the larger label."""

    rows: int
    root_mean_square: float | None = None
    of_the_mean: float | None = None
    correct: float | None = None
    majority: float | None = None


class Unread(msgspec.Struct):
    """Cells of a column that are there and could not be read, or are missing; the public median stands in for them.

    Args:
        column: its name.
        missing: empty cells, or cells that say that they are missing.
        unparseable: cells that are no number or date, where one is expected.
        unseen: categories that the public rows do not have.
    """

    column: str
    missing: int = 0
    unparseable: int = 0
    unseen: int = 0


class Prediction(msgspec.Struct):
    """What was predicted."""

    rows: int
    target: str
    meaning: str
    out: str | None
    accuracy: Accuracy | None
    unread: list[Unread]
    rows_unread: int
    predictions: list[float] | None = None
    ids: list[object] | None = None


def sentence(told: Prediction) -> str:
    """What a person wants to know."""
    where = f" in {told.out}" if told.out else ""
    head = f"{told.rows:,} predictions of {told.target!r} ({told.meaning}){where}"
    found = told.accuracy
    if found is None:
        return head
    if found.correct is not None:
        return (
            f"{head}; {found.correct:.1%} of {found.rows:,} known labels are right, where always predicting the more "
            f"frequent label gives {found.majority:.1%}"
        )
    return (
        f"{head}; root mean square error {found.root_mean_square:.4g} over {found.rows:,} known "
        f"targets, where always predicting their mean gives {found.of_the_mean:.4g}"
    )


def notes(told: Prediction) -> list[str]:
    """What could not be read, column by column."""
    lines = []
    for entry in told.unread:
        kinds = (
            (entry.unparseable, "cells that cannot be read"),
            (entry.unseen, "cells with categories that the public rows do not have"),
            (entry.missing, "missing cells"),
        )
        words = ", ".join(f"{count:,} {what}" for count, what in kinds if count)
        lines.append(f"column {entry.column!r}: {words}; the public median stands in for them")
    if told.rows_unread:
        lines.append(f"{told.rows_unread:,} of {told.rows:,} rows have a cell that was not understood")
    return lines
