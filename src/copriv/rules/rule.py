"""What a rule is: where to ask the next question, and how an answer changes the state.

Most rules ask every owner for the same, at one price (`Rule`). A rule that chooses from a menu says of each question
what is asked for and at which share of the owner's training budget (`ChoosingRule`). `next_ask`, `learn_from` and
`answer_size` treat both alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from copriv.losses.filled import filled_count
from copriv.losses.moments import moment_count, second_moment_count
from copriv.vectors import Axes, FloatArray

State = TypeVar("State")
Asks = Literal["gradient", "moments"]
AskedKind = Literal["gradient", "moments", "second_moments", "positives"]


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What an owner is asked: at which model, for what, and at which share of its training budget.

    Args:
        theta: the model; all zeros where the answer does not depend on one.
        kind: what is asked for.
        share: in per cents, from the menu of the terms; 0 where there is none.
        before: what this owner was paid for the same question before, in per cents. The answer then has the noise of
            both shares together and takes the place of the former; only `share` is paid for.
    """

    theta: FloatArray
    kind: AskedKind = "gradient"
    share: int = 0
    before: int = 0

    @property
    def level(self) -> int:
        """The share that the noise of the answer stands for."""
        return self.before + self.share


class BaseRule(Protocol[State]):
    """What all rules have in common: the state is all there is to remember."""

    @property
    def name(self) -> str:
        """What people call the rule."""

    def begin(self) -> State:
        """The state before the first meeting."""

    def model(self, state: State) -> FloatArray:
        """The model so far."""

    def pack(self, state: State) -> bytes:
        """The state as bytes: a checkpoint is the state."""

    def unpack(self, data: bytes) -> State:
        """The state again, to the last bit."""


class Rule(BaseRule[State], Protocol[State]):
    """A pure description of training, in which every answer costs the same."""

    @property
    def asks(self) -> Asks:
        """For what the owners are asked."""

    @property
    def answer_size(self) -> int:
        """How many numbers an answer has."""

    def question(self, state: State, owner: int) -> FloatArray:
        """The model at which the owner met next is asked."""

    def absorb(self, state: State, owner: int, answer: FloatArray, asked: FloatArray | None = None) -> State:
        """The state after the owner's answer; `asked` is where, if not where the owner would be asked now."""


@runtime_checkable
class ChoosingRule(BaseRule[State], Protocol[State]):
    """A pure description of training that chooses kind and share of each question from the menu of the terms."""

    def ask(self, state: State, owner: int) -> Ask | None:
        """What the owner met next is asked; None if nothing is left to ask it, now and later."""

    def learn(self, state: State, owner: int, answer: FloatArray, ask: Ask) -> State:
        """The state after the owner's answer to what it was asked, however long ago."""


AnyRule: TypeAlias = Rule[State] | ChoosingRule[State]


def next_ask(rule: AnyRule[State], state: State, owner: int) -> Ask | None:
    """What the owner met next is asked, by any rule; None if nothing is left to ask it."""
    if isinstance(rule, ChoosingRule):
        return rule.ask(state, owner)
    return Ask(rule.question(state, owner), rule.asks)


def learn_from(rule: AnyRule[State], state: State, owner: int, answer: FloatArray, ask: Ask) -> State:
    """The state after the owner's answer to what it was asked, by any rule."""
    if isinstance(rule, ChoosingRule):
        return rule.learn(state, owner, answer, ask)
    return rule.absorb(state, owner, answer, ask.theta)


def fill_of(rule: AnyRule[Any]) -> float:
    """How a rule wants gradients to be filled with second moments (`losses.filled`); 0 if it says nothing of it."""
    return float(getattr(rule, "fill", 0.0))


def axes_of(rule: AnyRule[Any]) -> Axes:
    """Along which axes a rule wants gradients to be told (`losses.turned`); none if along the features."""
    return tuple(getattr(rule, "axes", ()))


def answer_size(kind: str, parameters: int, fill: float = 0.0) -> int:
    """How many numbers an answer of a kind has, for models of so many; gradients have more where they are filled.

    >>> [answer_size(kind, 4) for kind in ("gradient", "moments", "second_moments", "positives")]
    [4, 14, 10, 1]
    >>> answer_size("gradient", 4, fill=0.1)
    14
    """
    if kind == "gradient" and fill > 0:
        return filled_count(parameters)
    sizes = {"moments": moment_count(parameters), "second_moments": second_moment_count(parameters)}
    sizes |= {"loss": 1, "positives": 1}
    return sizes.get(kind, parameters)
