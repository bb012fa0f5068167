"""What the adaptive rule remembers: its questions so far, and every answer."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.rules.rule import Ask, AskedKind, answer_size
from copriv.vectors import FloatArray, read_only

# So many questions, counted from the last, may still be answered.
_OPEN = 2


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """One answer: whose, to what, and the numbers."""

    owner: int
    ask: Ask
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One question, to so many owners; a share of 0 is all that an owner has left, but for what is `kept`."""

    ask: Ask
    owners: int
    kept: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveState:
    """The questions so far, and every answer."""

    questions: tuple[Question, ...]
    told: tuple[Told, ...]

    def left(self, owner: int) -> int:
        """What an owner has left of its budget, in per cents."""
        return 100 - sum(told.ask.share for told in self.told if told.owner == owner)

    def answers(self, owner: int) -> int:
        """How often an owner has answered."""
        return sum(told.owner == owner for told in self.told)

    def open_question(self, owner: int, *, strong: bool) -> Question | None:
        """The question of the hour, or the one before, if it is not yet answered by enough, nor by this owner.

        If a strong shift has been found meanwhile, nobody is asked any more for all at once, unless something was kept
        to see where that led.
        """
        is_kept = any(question.kept for question in self.questions)
        for question in self.questions[-_OPEN:]:
            if strong and question.ask.share == 0 and not is_kept:
                continue
            answered = [told.owner for told in self.told if is_to(told, question)]
            if len(answered) < question.owners and owner not in answered:
                return question
        return None


def is_to(told: Told, question: Question) -> bool:
    """Whether an answer is one to this question."""
    return told.ask.kind == question.ask.kind and np.array_equal(told.ask.theta, question.ask.theta)


def pack_state(state: AdaptiveState) -> bytes:
    """Questions and answers as bytes."""
    questions = [_Packed.of(one.owners, one.ask, np.empty(0), one.kept) for one in state.questions]
    told = [_Packed.of(one.owner, one.ask, one.values) for one in state.told]
    return msgspec.msgpack.encode((questions, told))


def unpack_state(data: bytes, *, owners: int, parameters: int) -> AdaptiveState:
    """The state again, to the last bit; fails if these bytes are none of so many owners and parameters."""
    try:
        questions, told = msgspec.msgpack.decode(data, type=tuple[list[_Packed], list[_Packed]])
        for one in questions:
            one.require(one.owner > 0 and 0 <= one.share <= 100 and 0 <= one.kept <= 100 and not one.values, parameters)
        for one in told:
            count = answer_size(one.kind, parameters)
            one.require(0 <= one.owner < owners and 0 < one.share <= 100 and len(one.values) == 8 * count, parameters)
    except (msgspec.DecodeError, ValueError) as problem:
        raise BadInput(
            f"{len(data)} bytes are not a state of this rule: {problem}",
            remedy="use the checkpoint of this study",
            value=len(data),
        ) from problem
    asked = tuple(Question(one.ask(), one.owner, one.kept) for one in questions)
    return AdaptiveState(asked, tuple(Told(one.owner, one.ask(), _numbers(one.values)) for one in told))


class _Packed(msgspec.Struct, array_like=True):
    """An answer as it is stored, numbers as their bytes; of a question, `owner` says to how many."""

    owner: int
    kind: AskedKind
    share: int
    theta: bytes
    values: bytes
    kept: int = 0

    @classmethod
    def of(cls, owner: int, ask: Ask, values: FloatArray, kept: int = 0) -> _Packed:
        """As stored."""
        return cls(owner, ask.kind, ask.share, ask.theta.tobytes(), values.tobytes(), kept)

    def require(self, sound: bool, parameters: int) -> None:
        """Refuse what no run has packed: also models of another length, and numbers that are not finite."""
        numbers = np.frombuffer(self.theta + self.values, dtype="<f8")
        if not sound or len(self.theta) != 8 * parameters or not np.all(np.isfinite(numbers)):
            raise ValueError("questions or answers of another study")

    def ask(self) -> Ask:
        """The question again."""
        return Ask(_numbers(self.theta), self.kind, self.share)


def _numbers(data: bytes) -> FloatArray:
    return read_only(np.frombuffer(data, dtype="<f8"))
