"""What a run means, in a few sentences."""

from __future__ import annotations

from copriv.losses.metrics import Metrics
from copriv.report.figures import Figures
from copriv.runtime.local_quality import Quality


def many(count: int, what: str) -> str:
    """A number of things, or one.

    >>> many(1, "owner"), many(1200, "owner")
    ('1 owner', '1,200 owners')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def explain(figures: Figures) -> str:
    """What a newcomer can act on: for whom joining pays on its own records, and how good the joint model is."""
    if figures.owners == 1:
        return (
            f"With a single owner there is nobody to learn from: at {_promise(figures)} privacy costs "
            f"{figures.relative_fitness:.1%} of fitness against training on the records directly."
        )
    quality = figures.quality
    if quality is None:
        return f"At {_promise(figures)} the joint model is {_off(figures)}."
    return " ".join((_for_whom(figures, quality), _how_good(figures, quality)))


def _for_whom(figures: Figures, quality: Quality) -> str:
    paid, owners, promise = quality.paid, figures.owners, _promise(figures)
    if paid["joined"] == owners:
        return f"Joining pays for all {owners} owners at {promise}, on their own records."
    rest = []
    if paid["alone"]:
        rest.append(f"{paid['alone']} {'does' if paid['alone'] == 1 else 'do'} better without")
    if paid["undecided"]:
        rest.append(f"for {paid['undecided']} it makes no difference that their records could tell")
    head = f"Joining pays for {paid['joined']} of {owners} owners at {promise}, on their own records; "
    return head + ", ".join(rest) + "."


def _how_good(figures: Figures, quality: Quality) -> str:
    told = f"The joint model ({_of(quality.joint)}) is {_off(figures)}"
    if quality.public is None:
        return f"{told}."
    if is_enough(quality.joint, quality.public):
        return f"{told}; the public rows alone give one as good ({_of(quality.public)}): use that, and spend nothing."
    return f"{told}; the public rows alone give {_of(quality.public)}."


def is_enough(joint: Metrics, public: Metrics | None) -> bool:
    """Whether the public model explains as much as the joint one."""
    if public is None or public.explained is None or joint.explained is None:
        return False
    return public.explained >= joint.explained


def _of(metrics: Metrics) -> str:
    if metrics.deviance is not None:
        return f"deviance {metrics.deviance:.4g}" if metrics.d2 is None else f"D² {metrics.d2:.3f}"
    if metrics.log_loss is not None:
        return f"log-loss {metrics.log_loss:.4f}" if metrics.auc is None else f"AUC {metrics.auc:.3f}"
    return f"RMSE {metrics.rmse:.3g}" if metrics.r2 is None else f"R² {metrics.r2:.3f}"


def _off(figures: Figures) -> str:
    return f"{figures.relative_fitness:.2%} off the best model in these features"


def _promise(figures: Figures) -> str:
    delta = f", δ = {figures.guarantee.delta:g}" if figures.guarantee.delta else ""
    return f"ε = {figures.guarantee.epsilon:g}{delta}"
