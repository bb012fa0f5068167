"""A verdict in words: what to do, what it rests on, and from where on joining pays."""

from __future__ import annotations

import msgspec
from rich.console import Console

from copriv.losses.metrics import Metrics
from copriv.owner.comparison import JOINT, NAMES
from copriv.owner.fit import Fit
from copriv.owner.own_models import ModelKind
from copriv.planning.at_home import HomeAdvice
from copriv.planning.break_even import LARGEST_EPSILON, MOST_OWNERS, BreakEven, Turn
from copriv.planning.scenario import Scenario
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.report.fit_lines import fit_lines
from copriv.report.quality_lines import compared
from copriv.report.sentence import many

_HEADS = {"join": "Join", "stay": "Stay", "either": "Too close to call"}
_UNFIT = "These public rows do not fit, so do not decide by them"


class VerdictTold(msgspec.Struct):
    """Everything that `copriv verdict` says. Not private: it stays at home.

    `gain` is by which share the better of joint and personal model should lower the loss of `without`, the best model
    that needs nobody, on the owner's own records; `joint_gain` is that of the joint one as it is. ψ (alone, joint,
    public) is over everybody's.
    """

    verdict: str
    gain: float
    gain_interval: tuple[float, float]
    joint_gain: float
    joint_interval: tuple[float, float]
    without: ModelKind
    models: dict[ModelKind, Metrics]
    alone: float
    alone_standard_error: float
    joint: float
    interval: tuple[float, float]
    ratio_interval: tuple[float, float]
    public: float
    break_even_epsilon: float | None
    break_even_epsilon_interval: tuple[float | None, float | None]
    break_even_owners: int | None
    break_even_owners_interval: tuple[int | None, int | None]
    owners: int
    records: int
    others: tuple[int, ...]
    epsilon: float | tuple[float, float]
    delta: float
    words: str
    caveats: list[str]
    fit: Fit
    unit: str = UNIT
    adjacency: str = ADJACENCY
    warning: str | None = None


def show_verdict(told: VerdictTold, console: Console) -> None:
    """Print what to do and the figures that it rests on."""
    lines = [
        told.words,
        *([f"warning: {told.warning}"] if told.warning else []),
        "on your own records, cross-validated, and forecast for the last two:",
        *compared(told.models),
        "on everybody's records, ψ (distance from the best model in these features):",
        f"  your own model      ψ = {told.alone:.2e} ± {told.alone_standard_error:.1e}, estimated",
        f"  the joint model     ψ = {told.joint:.2e} forecast, {told.interval[0]:.1e} to {told.interval[1]:.1e}",
        f"  the public model    ψ = {told.public:.2e} expected",
        *(f"  note: {caveat}" for caveat in told.caveats),
        *(f"  {line}" for line in fit_lines(told.fit)),
        f"  unit: one {told.unit}; adjacency: {told.adjacency}. Your figures stay at home: they are not private.",
    ]
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def explain(verdict: HomeAdvice, turning: BreakEven, scenario: Scenario) -> str:
    """What an owner can act on, in a few sentences."""
    who, other, stay = (
        f"with {many(scenario.owners, 'owner')} at {_promise(scenario)}",
        verdict.known.without,
        _stays(verdict),
    )
    gain, (low, high), kind = (
        (verdict.joint_gain, verdict.joint_interval, JOINT)
        if stay
        else (verdict.gain, verdict.gain_interval, verdict.together)
    )
    change = f"change your loss by {_signed(-gain)} ({_signed(-high)} to {_signed(-low)})"
    against = f"{NAMES[other]} ({verdict.known.metrics[other].words}), the best that needs nobody"
    expected = f"{who}, {NAMES[kind]} should {change} against {against}."
    if not verdict.fits and not stay:
        told = f"{_UNFIT}: {expected}"
    elif verdict.advice == "join":
        told = f"Join: {expected}"
    else:
        told = f"{_HEADS[verdict.advice]}: use {NAMES[other]}, spend nothing. {expected[0].upper()}{expected[1:]}"
    return f"{told} {explain_turning(turning, scenario)}"


def _stays(verdict: HomeAdvice) -> bool:
    """Whether it is the joint model as it is that speaks against joining."""
    return verdict.advice == "stay" and verdict.joint_interval[1] < 0


def explain_turning(turning: BreakEven, scenario: Scenario) -> str:
    """The break-even ε and number of others; where budgets differ, ε is the largest, and all are scaled."""
    low, high = scenario.epsilon_range
    budgets = "" if low == high else " (the largest; the others in proportion)"
    return (
        f"With {many(scenario.owners, 'owner')}, {_from_epsilon(turning.epsilon)}{budgets}; at {_promise(scenario)}, "
        f"{_from(turning.owners)}."
    )


def _from_epsilon(turn: Turn) -> str:
    if turn.expected is None:
        return f"do not join at any ε up to {LARGEST_EPSILON:g}{_perhaps(turn.perhaps)}"
    return f"join if ε ≥ {turn.expected:g} ({turn.perhaps:g} to {_or_more(turn.certain, LARGEST_EPSILON)})"


def _from(turn: Turn) -> str:
    """In others of one's own size: one owner less than there are."""
    perhaps, expected, certain = (None if n is None else n - 1 for n in (turn.perhaps, turn.expected, turn.certain))
    if expected is None:
        return f"do not join however many others of your size do, up to {MOST_OWNERS - 1}{_perhaps(perhaps)}"
    verb = "other of your size does" if expected == 1 else "others of your size do"
    return f"join if at least {expected:g} {verb} ({perhaps:g} to {_or_more(certain, MOST_OWNERS - 1)})"


def _perhaps(value: float | None) -> str:
    return "" if value is None else f" (though it may pay from {value:g} on)"


def _or_more(value: float | None, most: float) -> str:
    return f"more than {most:g}" if value is None else f"{value:g}"


def _promise(scenario: Scenario) -> str:
    low, high = scenario.epsilon_range
    epsilon = f"ε = {low:g}" if low == high else f"ε = {low:g} to {high:g}"
    return epsilon + ("" if scenario.delta == 0 else f", δ = {scenario.delta:g}")


def _signed(share: float) -> str:
    """A change in per cent, with its sign.

    >>> _signed(-0.123), _signed(0.002)
    ('−12 %', '+0.2 %')
    """
    sign = "−" if share < 0 else "+"
    return f"{sign}{100 * abs(share):.2g} %"
