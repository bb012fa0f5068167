"""What few public rows do to a study, in words; and how many a rule that starts from them cannot do without."""

from __future__ import annotations

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.rules.few_rows import FEW, is_few

_OF_RULES = {
    "newton": ", and the rule spends a part of the budgets on what more rows would have told",
    "statistics": "",
}


def about_few_rows(public: Sample | None, rule: str) -> str | None:
    """What a person should not overlook; None if there are enough public rows, or none at all.

    >>> about_few_rows(Sample.of_rows([[1.0, 0.0]] * 40, [0.0] * 40), "newton")
    >>> about_few_rows(Sample.of_rows([[1.0, 0.0]] * 39, [0.0] * 39), "statistics")
    'only 39 public rows for a model of 2 numbers: the forecast rests on them and may be far off; 40 are enough'
    """
    if public is None or not is_few(public.records, public.parameters):
        return None
    rests = "the forecast rests" if rule == "statistics" else "features, clip and forecast rest"
    more = _OF_RULES.get(rule, "")
    return (
        f"only {public.records} public rows for a model of {public.parameters} numbers: {rests} on them and may be "
        f"far off{more}; {FEW * public.parameters} are enough"
    )


def are_too_few(public: Sample) -> bool:
    """Whether these are no more rows than numbers in a model: they fit any model, and say nothing about others."""
    return public.records <= public.parameters


def require_more_rows(public: Sample, rule: str) -> None:
    """Refuse a rule that starts from the public rows if there are too few of them."""
    if are_too_few(public):
        raise BadInput(
            f"the rule {rule!r} with {public.records} public rows for a model of {public.parameters} numbers",
            remedy=f"give more than {public.parameters} public rows (from {FEW * public.parameters} on they are many), "
            "fewer --features, or --rule statistics, which needs none",
            value=public.records,
        )
