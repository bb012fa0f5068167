"""Figures people know, as rows of a table and as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from copriv.losses.metrics import Metrics
from copriv.owner.own_models import ModelKind
from copriv.report.sentence import many

KINDS: Mapping[ModelKind, str] = {
    "own": "own records only",
    "own_public": "own + public",
    "public": "public rows only",
    "joint": "joint, private",
    "personal": "personal: own around the joint one",
}
# What to do where a model is the best one on an owner's own records.
ADVICE: Mapping[ModelKind, str] = {
    "own": "use a model of your own records, spend nothing",
    "own_public": "use a model of your own records and the public one, spend nothing",
    "public": "use the public model, spend nothing",
    "joint": "use the joint model",
    "personal": "use your personal model (copriv owner personalise)",
}


def headings(metrics: Metrics) -> tuple[str, ...]:
    """Of the figures that there are."""
    if metrics.deviance is not None:
        return ("D²", "deviance", "RMSE")
    return ("AUC", "log-loss", "right") if metrics.log_loss is not None else ("R²", "RMSE", "MAE")


def cells(metrics: Metrics | None) -> tuple[str, str, str]:
    """The figures of one model, as they stand in a table.

    >>> cells(Metrics(10, r2=0.5, rmse=1.25, mae=1.0))
    ('0.500', '1.25', '1')
    """
    if metrics is None:
        return "", "", ""
    if metrics.deviance is not None:
        return _number(metrics.d2), _short(metrics.deviance), "–" if metrics.rmse is None else _short(metrics.rmse)
    if metrics.log_loss is not None:
        return _number(metrics.auc), _number(metrics.log_loss), _share(metrics.accuracy)
    return _number(metrics.r2), _short(metrics.rmse), _short(metrics.mae)


def baseline(metrics: Metrics) -> tuple[str, tuple[str, str, str]]:
    """What always predicting the same gives."""
    if metrics.deviance is not None:
        around = None if metrics.d2 is None or metrics.d2 >= 1 else metrics.deviance / (1 - metrics.d2)
        return "always the mean", ("0.000", _short(around), _short(metrics.rmse_of_mean))
    if metrics.log_loss is not None:
        return "always the majority", ("0.500", _number(metrics.log_loss_of_share), _share(metrics.majority))
    return "always the mean", ("0.000", _short(metrics.rmse_of_mean), "")


def owners_table(median: Mapping[ModelKind, Metrics], best: Mapping[ModelKind, int], owners: int) -> Table:
    """What models are worth on owners' own records: medians, and for how many each is the best."""
    title = f"on each owner's own records, cross-validated: medians of {many(owners, 'owner')}"
    table = Table(title=title, title_justify="left")
    table.add_column("model")
    for heading in headings(next(iter(median.values()))):
        table.add_column(heading, justify="right")
    table.add_column("best for", justify="right")
    for kind, metrics in median.items():
        table.add_row(KINDS[kind], *cells(metrics), f"{best.get(kind, 0)}")
    return table


def compared(models: Mapping[ModelKind, Metrics]) -> Iterator[str]:
    """One line a model, for an owner's own records."""
    for kind, metrics in models.items():
        yield f"  {KINDS[kind]:<36} {metrics.words}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
