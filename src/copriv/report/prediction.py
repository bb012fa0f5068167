"""What was predicted, how far off it is, and what could not be read."""

from __future__ import annotations

import msgspec
import polars as pl

from copriv.losses.metrics import Metrics
from copriv.records.unread import Unread, describe_unread


class Prediction(msgspec.Struct):
    """What was predicted."""

    rows: int
    target: str
    meaning: str
    out: str | None
    accuracy: Metrics | None
    unread: list[Unread]
    predictions: list[float] | None = None
    ids: list[object] | None = None
    personal: bool = False
    why: list[str] | None = None
    exposure: str | None = None


def as_json(told: Prediction, frame: pl.DataFrame, key: str | None) -> str:
    """Everything as one JSON object; with the predictions themselves, if they are in no file."""
    shown = {
        "predictions": frame["prediction"].to_list(),
        "ids": frame[key].to_list() if key else None,
        "why": frame["why"].to_list() if "why" in frame.columns and key != "why" else None,
    }
    return msgspec.json.encode(msgspec.to_builtins(told) | (shown if told.out is None else {})).decode()


def sentence(told: Prediction) -> str:
    """What a person wants to know."""
    where = f" in {told.out}" if told.out else ""
    head = f"{told.rows:,} predictions of {told.target!r} ({told.meaning}){where}"
    found = told.accuracy
    if found is None:
        return head
    if found.deviance is not None:
        return f"{head}; {found.words}, over {found.records:,} known targets"
    if found.log_loss is not None:
        auc = "" if found.auc is None else f"AUC {found.auc:.3f}, "
        return (
            f"{head}; {auc}log-loss {found.log_loss:.4f}, and {found.accuracy:.1%} of {found.records:,} known labels "
            f"are right, where always predicting the more frequent label gives {found.majority:.1%}"
        )
    explained = "" if found.r2 is None else f"R² {found.r2:.3f}, "
    return (
        f"{head}; {explained}root mean square error {found.rmse:.4g}, mean absolute error {found.mae:.4g} over "
        f"{found.records:,} known targets, where always predicting their mean gives {found.rmse_of_mean:.4g}"
    )


def notes(told: Prediction) -> list[str]:
    """What could not be read, column by column, and whether the predictions are private."""
    personal = ["the model is personal: no ε covers it or its predictions, and neither must be passed on"]
    exposure = [told.exposure] if told.exposure else []
    return [*describe_unread(told.unread), *exposure, *(personal if told.personal else [])]
