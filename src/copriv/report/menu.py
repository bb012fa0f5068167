"""A menu in words and figures: what the learner may choose from, and what it has chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby

import msgspec

from copriv.losses.moments import second_moment_count
from copriv.protocol.commitment import Commitment
from copriv.protocol.query_budget import QueryBudget

MADE_FINER = "a gradient may be made finer later, at the same model, and then only the difference is paid"
_NAMES = {
    "gradient": "average gradient",
    "filled_gradient": "average gradient with second moments",
    "moments": "average moments",
    "second_moments": "average second moments",
    "positives": "share of positive targets",
    "loss": "average loss",
    "validation": "validation",
}


class MenuStated(msgspec.Struct):
    """One choice on an owner's menu: what, at which per cent of its training budget, how often it was chosen.

    `kind` is "filled_gradient" where gradients have second moments behind them. `scale` is that of the noise on every
    number, `sensitivity` how far one record can move the answer. `finer` is how many of these answers made an earlier
    one finer: they took its place, and only the difference was paid.
    """

    kind: str
    share: int
    answers: int
    scale: float
    sensitivity: float
    finer: int = 0


def kind_name(kind: str) -> str:
    """What people call a kind of question.

    >>> kind_name("second_moments")
    'average second moments'
    """
    return _NAMES.get(kind, kind)


def told_kind(kind: str, fill: float) -> str:
    """The kind of what is told: gradients have second moments behind them where terms fill them.

    >>> told_kind("gradient", 0.0), told_kind("gradient", 0.1), told_kind("positives", 0.1)
    ('gradient', 'filled_gradient', 'positives')
    """
    return "filled_gradient" if kind == "gradient" and fill > 0 else kind


def told_along(axes: int) -> str:
    """Along what gradients are told, where it is not along the features; empty where it is.

    >>> told_along(4)
    'gradients are told along 4 sums of features that the study names, and the clip counts along them'
    """
    return f"gradients are told along {_sums(axes)}, and the clip counts along them" if axes else ""


def _sums(axes: int) -> str:
    return f"{axes:,} sum{'' if axes == 1 else 's'} of features that the study names"


def at_share(share: int, before: int = 0) -> str:
    """At which share of the training budget; nothing without a menu.

    >>> at_share(20), at_share(0)
    (' at 20 % of the training budget', '')
    >>> at_share(80, 20)
    ' at 100 % of the training budget, made finer from 20 % for the difference'
    """
    finer = f", made finer from {before} % for the difference" if before else ""
    return f" at {before + share} % of the training budget{finer}" if share else ""


def state_menu(commitment: Commitment, asked: Iterable[tuple[str, int, int]]) -> list[MenuStated]:
    """An owner's menu, with how often each choice was made; empty without one.

    Args:
        commitment: of the owner.
        asked: kind, share and the level before of every answer that it gave.
    """
    counted = Counter((kind, before + share, before > 0) for kind, share, before in asked)
    return [
        MenuStated(
            kind=told_kind(part.kind, commitment.fill),
            share=part.share,
            answers=counted[part.kind, part.share, False] + counted[part.kind, part.share, True],
            scale=part.calibration.mechanism.scale,
            sensitivity=part.sensitivity.value,
            finer=counted[part.kind, part.share, True],
        )
        for part in commitment.menu
    ]


def chosen_words(menu: Iterable[MenuStated]) -> str:
    """What was chosen, in words; nothing if nothing was.

    >>> chosen_words([MenuStated("gradient", 20, 1, 0.1, 0.1), MenuStated("gradient", 60, 0, 0.1, 0.1)])
    'average gradient at 20 % of the training budget (1)'
    """
    chosen = (choice for choice in menu if choice.answers)
    return ", ".join(
        f"{kind_name(choice.kind)}{at_share(choice.share)} ({choice.answers}{_of_them_finer(choice)})"
        for choice in chosen
    )


def _of_them_finer(choice: MenuStated) -> str:
    return f", {choice.finer} of them an earlier answer made finer for the difference" if choice.finer else ""


def menu_rows(commitment: Commitment, parameters: int) -> list[tuple[str, str]]:
    """What an owner approves with a menu: the limit for all answers, and the noise of every choice."""
    budget = commitment.calibration.budget
    of_all = 100 * budget.nano / commitment.budget.nano
    limit = (
        "questions whose shares add up to at most 100 %; the learner chooses kind and share of each from the menu "
        f"below; together they take {budget.words}, {of_all:.4g}% of what you promise, and not more"
    )
    if commitment.levels("gradient", 0):
        limit += f"; {MADE_FINER}"
    by_kind = groupby(commitment.menu, key=lambda part: part.kind)
    return [
        ("you answer", limit),
        *(("  on the menu", _choices(list(parts), commitment, parameters)) for _, parts in by_kind),
    ]


def _choices(parts: list[QueryBudget], commitment: Commitment, parameters: int) -> str:
    """One kind: what leaves, and the price and the noise at every share."""
    first, norm, unit = parts[0], parts[0].sensitivity.norm.name, commitment.unit
    kind = told_kind(first.kind, commitment.fill)
    what, most = _limits(kind, parameters, norm, len(commitment.axes))
    choices = ", ".join(
        f"{part.share} % ({part.calibration.charge.words}): scale {part.calibration.mechanism.scale:.6g}"
        for part in parts
    )
    plural = "s" if first.numbers > 1 else ""
    return (
        f"noisy {kind_name(kind)}{what}, {first.numbers:,} number{plural}; a {unit}'s {most.format(first.bound)}; "
        f"{first.calibration.mechanism.name} noise on every number, for a change of at most "
        f"{first.sensitivity.value:.6g} ({norm}) when one {unit} is replaced, at {choices}"
    )


def _limits(kind: str, parameters: int, norm: str, axes: int) -> tuple[str, str]:
    """What answers of a kind consist of, if its name does not say it; and what a record counts, for a number."""
    along, measured = (f"along {_sums(axes)}", f"{norm}, along these sums") if axes else ("", norm)
    squares = f"{second_moment_count(parameters):,} averages of products of two {product_of(axes)}"
    of_kind = {
        "filled_gradient": (
            f" ({parameters:,} of a gradient{along and f' {along}'} and {squares}, weighted averages of xxᵀ)",
            f"gradient and second moments together are at most {{:g}} long ({measured})",
        ),
        "second_moments": (" (averages of xxᵀ, the same at any model)", "row is at most {:g} long"),
        "positives": (" (of the records that train, how many are positive)", "share of it is at most {:g}"),
    }
    return of_kind.get(kind, (along and f" ({along})", f"gradient is at most {{:g}} long ({measured})"))


def product_of(axes: int) -> str:
    """What is multiplied in second moments behind a gradient.

    >>> product_of(0), product_of(4)
    ('features', 'of these sums')
    """
    return "of these sums" if axes else "features"
