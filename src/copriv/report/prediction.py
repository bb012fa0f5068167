"""What was predicted, how far off it is, and what could not be read."""

from __future__ import annotations

import msgspec

from copriv.records.unread import Unread, describe_unread


class Accuracy(msgspec.Struct):
    """How far off predictions are, on this table; for labels, the share that is right, and that of the larger label."""

    rows: int
    root_mean_square: float | None = None
    of_the_mean: float | None = None
    correct: float | None = None
    majority: float | None = None


class Prediction(msgspec.Struct):
    """What was predicted."""

    rows: int
    target: str
    meaning: str
    out: str | None
    accuracy: Accuracy | None
    unread: list[Unread]
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
    return describe_unread(told.unread)
