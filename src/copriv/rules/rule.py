"""What a rule is: where to ask the next question, and how an answer changes the state."""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar

from copriv.vectors import FloatArray

State = TypeVar("State")
Asks = Literal["gradient", "moments"]


class Rule(Protocol[State]):
    """A pure description of training; the state is all there is to remember."""

    @property
    def name(self) -> str:
        """What people call the rule."""

    @property
    def asks(self) -> Asks:
        """For what the owners are asked."""

    @property
    def answer_size(self) -> int:
        """How many numbers an answer has."""

    def begin(self) -> State:
        """The state before the first meeting."""

    def question(self, state: State, owner: int) -> FloatArray:
        """The model at which the owner met next is asked."""

    def absorb(self, state: State, owner: int, answer: FloatArray, asked: FloatArray | None = None) -> State:
        """The state after the owner's answer; `asked` is where, if not where the owner would be asked now."""

    def model(self, state: State) -> FloatArray:
        """The model so far."""

    def pack(self, state: State) -> bytes:
        """The state as bytes: a checkpoint is the state."""

    def unpack(self, data: bytes) -> State:
        """The state again, to the last bit."""
