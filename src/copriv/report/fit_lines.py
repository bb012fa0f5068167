"""How an owner's rows fit the public ones, as it is shown at home before anything is promised."""

from __future__ import annotations

from collections.abc import Iterator

from copriv.owner.fit import CONFIDENCE, Fit

_NOT_COVERED = "What you decide after this is yours: no ε covers it, and nothing of it is sent."


def fit_lines(fit: Fit) -> Iterator[str]:
    """What to make of it first, then the figures that it rests on."""
    yield f"your rows and the public ones: {_reading(fit)}"
    if fit.shortened is not None and fit.public_shortened is not None:
        yours, public = _percent(fit.shortened), _percent(fit.public_shortened)
        yield f"  shortened rows      {yours} of yours, {public} of the public ones"
    if fit.distance is not None and fit.bound is not None and fit.most_distance is not None:
        apart = f"{fit.distance:.2f} standard errors apart over {fit.directions} directions"
        usual = f"{1000 * CONFIDENCE:.0f} of 1000 draws of one population stay below {fit.bound:.2f}"
        yield f"  average gradients   {apart}; {usual}"
        yield f"  they differ most    by {abs(fit.most_distance):.1f} standard errors, in {fit.most}"
    yield f"  {_NOT_COVERED}"


def _reading(fit: Fit) -> str:
    """One sentence to act on."""
    if fit.reading == "unknown":
        return f"not compared: {fit.why}"
    if fit.reading == "alike":
        return f"as alike as draws of one population, as far as {fit.records:,} records can tell"
    if fit.worth is None:
        return "they differ: the public model is as right for yours, but they lie elsewhere (shortened rows)"
    worth = f"for your model, {fit.public_rows:,} public rows are worth about {fit.worth:,} of your own"
    if fit.reading == "differs":
        return f"they differ: {worth}"
    return f"the public rows do not fit yours: {worth}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
