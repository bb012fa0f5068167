"""A verdict in words: what to do, what it rests on, and from where on joining pays."""

from __future__ import annotations

from copriv.planning.advice import Advice
from copriv.planning.break_even import LARGEST_EPSILON, MOST_OWNERS, BreakEven, Turn
from copriv.privacy.guarantee import Guarantee

_HEADS = {"join": "Join", "stay": "Stay alone", "either": "Too close to call"}


def explain(verdict: Advice, turning: BreakEven, guarantee: Guarantee, owners: int) -> str:
    """What an owner can act on, in two or three sentences."""
    low, high = verdict.interval
    told = (
        f"{_HEADS[verdict.advice]}: with {owners} owners at {_promise(guarantee)}, the joint model should be "
        f"{_percent(verdict.joint.relative_fitness)} off the best one ({_percent(low)} to {_percent(high)}), "
        f"your own is {_percent(verdict.alone.psi)} off."
    )
    public = " The public rows alone should give a better model than yours."
    better = public if verdict.alone.public < verdict.alone.psi else ""
    return f"{told}{better} {explain_turning(turning, guarantee, owners)}"


def explain_turning(turning: BreakEven, guarantee: Guarantee, owners: int) -> str:
    """The break-even ε and number of others."""
    return f"With {owners} owners, {_from_epsilon(turning.epsilon)}; at {_promise(guarantee)}, {_from(turning.owners)}."


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


def _promise(guarantee: Guarantee) -> str:
    return f"ε = {guarantee.epsilon:g}" + ("" if guarantee.pure else f", δ = {guarantee.delta:g}")


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
