"""What a run means, in one sentence."""

from __future__ import annotations

from copriv.report.figures import Figures


def many(count: int, what: str) -> str:
    """A number of things, or one.

    >>> many(1, "owner"), many(1200, "owner")
    ('1 owner', '1,200 owners')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def explain(figures: Figures) -> str:
    """What a newcomer can act on."""
    if figures.public is None:
        return _compare(figures)
    public = figures.public.relative_fitness
    if figures.relative_fitness <= public:
        return _compare(figures)
    return f"{_compare(figures)} The public rows alone would give a model {public:.2%} off."


def _compare(figures: Figures) -> str:
    joint, alone = figures.relative_fitness, figures.alone.median
    promise = f"ε = {figures.guarantee.epsilon:g}" + (
        f", δ = {figures.guarantee.delta:g}" if figures.guarantee.delta else ""
    )
    if figures.owners == 1:
        return (
            f"With a single owner there is nobody to learn from: at {promise} privacy costs {joint:.1%} of fitness "
            "against training on the records directly."
        )
    if figures.alone.gaining == figures.owners:
        return (
            f"Joining pays for all {figures.owners} owners at {promise}: the joint model is {joint:.2%} off the best "
            f"possible one, against {alone:.2%} for the median owner on its own."
        )
    if figures.alone.gaining == 0:
        return (
            f"At {promise} the noise costs more than joining brings: the joint model is {joint:.2%} off the best "
            f"possible one, against {alone:.2%} for the median owner on its own, so each owner does better alone; "
            "a larger ε, a δ above 0, more owners or more records would turn that."
        )
    return (
        f"Joining pays for {figures.alone.gaining} of {figures.owners} owners at {promise}: the joint model is "
        f"{joint:.2%} off the best possible one, against {alone:.2%} for the median owner on its own."
    )
