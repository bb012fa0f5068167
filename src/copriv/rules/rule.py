"""What a rule is: where to ask the next question, and how an answer changes the state."""

from __future__ import annotations

from typing import Protocol, TypeVar

from copriv.vectors import FloatArray

State = TypeVar("State")


class Rule(Protocol[State]):
    """A pure description of training; the state is all there is to remember."""

    @property
    def name(self) -> str:
        """What people call the rule."""

    def begin(self) -> State:
        """The state before the first meeting."""

    def question(self, state: State, owner: int) -> FloatArray:
        """The model at which the owner met next is asked for its gradient."""

    def absorb(self, state: State, owner: int, answer: FloatArray) -> State:
        """The state after the owner's answer to that question."""

    def model(self, state: State) -> FloatArray:
        """The model so far."""

    def pack(self, state: State) -> bytes:
        """The state as bytes: a checkpoint is the state."""

    def unpack(self, data: bytes) -> State:
        """The state again, to the last bit."""
