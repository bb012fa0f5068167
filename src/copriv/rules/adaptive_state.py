"""What the adaptive rule remembers: its questions so far, and every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.rules.rule import Ask, AskedKind, answer_size
from copriv.vectors import FloatArray, Norm, read_only

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
    """One question, to so many owners; a share of 0 is all that an owner has left, but for what is `kept`.

    Whoever has answered at the model `finer` before spends it on a finer answer there instead, from the level `above`
    on. `strong` says whether a strong shift was known when it was asked.
    """

    ask: Ask
    owners: int
    kept: int = 0
    finer: FloatArray | None = None
    strong: bool = False
    above: int = 0

    @property
    def is_for_all(self) -> bool:
        """Whether owners are asked for everything, in the belief that there is no strong shift."""
        return self.ask.share == 0 and self.kept == 0 and not self.strong


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

    def level(self, owner: int, theta: FloatArray) -> int:
        """The per cents that an owner has spent on its gradient at a model."""
        return sum(told.ask.share for told in self.told if told.owner == owner and _is_at(told, "gradient", theta))

    def open_question(self, owner: int) -> Question | None:
        """The question of the hour, or the one before, if it is not yet answered by enough, nor by this owner.

        Nobody is asked any more for everything if another question has come after that one.
        """
        for question in self.questions[-_OPEN:]:
            if question.is_for_all and question is not self.questions[-1]:
                continue
            answered = self.answered(question)
            if len(answered) < question.owners and owner not in answered:
                return question
        return None

    def answered(self, question: Question) -> list[int]:
        """Who has answered a question."""
        return [told.owner for told in self.told if is_to(told, question)]


def is_to(told: Told, question: Question) -> bool:
    """Whether an answer is one to this question: there, or finer where the owner was asked before."""
    if told.ask.before > 0:
        there = question.finer is not None and _is_at(told, "gradient", question.finer)
        return there and question.above < told.ask.level <= 100 - question.kept
    return _is_at(told, question.ask.kind, question.ask.theta)


def _is_at(told: Told, kind: AskedKind, theta: FloatArray) -> bool:
    return told.ask.kind == kind and np.array_equal(told.ask.theta, theta)


def settled(told: Sequence[Told], norm: Norm) -> list[Told]:
    """One answer of every owner to every question: what a later answer to the same one makes of the former.

    Under pure ε (L1) a finer answer takes the place of the former. Else the noises are independent, precision grows
    with the share, and answers are averaged by it. Either way the noise is that of all shares together.
    """
    found: dict[tuple[int, str, bytes], Told] = {}
    for one in told:
        question = one.owner, one.ask.kind, one.ask.theta.tobytes()
        former = found.get(question)
        found[question] = one if former is None else _joined(former, one, norm)
    return list(found.values())


def _joined(former: Told, told: Told, norm: Norm) -> Told:
    """An answer that stands for both."""
    if norm is Norm.L1 and told.ask.before > 0:
        return told
    first, second = (one.ask.level ** (2 if norm is Norm.L1 else 1) for one in (former, told))
    values = (first * former.values + second * told.values) / (first + second)
    ask = Ask(told.ask.theta, told.ask.kind, told.ask.share, former.ask.level)
    return Told(told.owner, ask, read_only(values))


def pack_state(state: AdaptiveState) -> bytes:
    """Questions and answers as bytes."""
    nowhere = np.empty(0)
    questions = [
        _Packed.of(one.owners, one.ask, nowhere if one.finer is None else one.finer, (one.kept, one.strong, one.above))
        for one in state.questions
    ]
    told = [_Packed.of(one.owner, one.ask, one.values) for one in state.told]
    return msgspec.msgpack.encode((questions, told))


def unpack_state(data: bytes, *, owners: int, parameters: int, fill: float = 0.0) -> AdaptiveState:
    """The state again, to the last bit; fails if these bytes are none of so many owners and parameters."""
    try:
        questions, told = msgspec.msgpack.decode(data, type=tuple[list[_Packed], list[_Packed]])
        for one in questions:
            sizes = one.owner > 0 and all(0 <= each <= 100 for each in (one.share, one.kept, one.above))
            one.require(sizes and len(one.values) in (0, 8 * parameters), parameters)
        for one in told:
            count = answer_size(one.kind, parameters, fill)
            shares = 0 < one.share <= 100 and 0 <= one.before <= 100 - one.share
            one.require(0 <= one.owner < owners and shares and len(one.values) == 8 * count, parameters)
    except (msgspec.DecodeError, ValueError) as problem:
        raise BadInput(
            f"{len(data)} bytes are not a state of this rule: {problem}",
            remedy="use the checkpoint of this study",
            value=len(data),
        ) from problem
    asked = tuple(
        Question(one.ask(), one.owner, one.kept, _numbers(one.values) if one.values else None, one.strong, one.above)
        for one in questions
    )
    return AdaptiveState(asked, tuple(Told(one.owner, one.ask(), _numbers(one.values)) for one in told))


class _Packed(msgspec.Struct, array_like=True):
    """An answer as it is stored, numbers as their bytes; of a question, `owner` says to how many, `values` is finer."""

    owner: int
    kind: AskedKind
    share: int
    theta: bytes
    values: bytes
    kept: int = 0
    before: int = 0
    strong: bool = False
    above: int = 0

    @classmethod
    def of(cls, owner: int, ask: Ask, values: FloatArray, asked: tuple[int, bool, int] = (0, False, 0)) -> _Packed:
        """As stored; `asked` is what only a question has: kept, strong and above."""
        kept, strong, above = asked
        return cls(owner, ask.kind, ask.share, ask.theta.tobytes(), values.tobytes(), kept, ask.before, strong, above)

    def require(self, sound: bool, parameters: int) -> None:
        """Refuse what no run has packed: also models of another length, and numbers that are not finite."""
        numbers = np.frombuffer(self.theta + self.values, dtype="<f8")
        if not sound or len(self.theta) != 8 * parameters or not np.all(np.isfinite(numbers)):
            raise ValueError("questions or answers of another study")

    def ask(self) -> Ask:
        """The question again."""
        return Ask(_numbers(self.theta), self.kind, self.share, self.before)


def _numbers(data: bytes) -> FloatArray:
    return read_only(np.frombuffer(data, dtype="<f8"))
