"""Public Newton that looks first: answers of unequal price and kind, and a model of how private gradients differ.

Questions are settled one after the other (`rules.adaptive_questions`): where to ask (the model of least expected
fitness, `rules.tilted`), what for, at which share of the owner's budget, and how many owners (`rules.purchase`), from
what is known of the difference between private and public gradients (`rules.difference`). Whoever comes is asked the
question of the hour, until enough have answered it. The first is a look, at the public model. Without a shift the rest
is asked for there: under pure ε the first answers become finer, as if all had been asked at once. With one, some or all
are asked at the model of the hour, for a little or for everything, or for second moments. Of labels, second moments
move the public rows to where the owners' records are (`rules.transported`).

Everything after the answers is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.rules.adaptive_inference import AdaptiveSetting
from copriv.rules.adaptive_questions import MOST_ANSWERS, MOST_QUESTIONS, model_of, next_question, open_question
from copriv.rules.adaptive_state import AdaptiveState, Question, Told, is_to, pack_state, unpack_state
from copriv.rules.difference import prior
from copriv.rules.geometry import PublicGeometry
from copriv.rules.relabelled import relabelled
from copriv.rules.rule import Ask, AskedKind
from copriv.rules.setting import NoiseModel
from copriv.rules.transported import moved
from copriv.vectors import Axes, FloatArray, Norm, read_only

# What the menu of a planned study has.
SHARES = tuple(range(5, 101, 5))
KINDS: tuple[AskedKind, ...] = ("gradient", "second_moments")
# Besides, where targets are labels.
KINDS_OF_LABELS: tuple[AskedKind, ...] = (*KINDS, "positives")
# The model of the difference has (answers × parameters) dimensions: longer models are trained without a menu.
MOST_PARAMETERS = 60


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveNewton:
    """Public Newton with a menu, for owners with their own sizes and noise; everything it needs is in `setting`."""

    setting: AdaptiveSetting
    name = "newton"

    @classmethod
    def of(
        cls,
        public: Sample,
        objective: Objective,
        *,
        records: Sequence[int],
        noise: NoiseModel,
        start: FloatArray | None = None,
    ) -> AdaptiveNewton:
        """The rule for these public rows and owners; `start` is the public model, if it is known already."""
        if not records or len(records) != len(noise.noise_std) or not noise.shares:
            raise BadInput(
                f"{len(records)} sizes, {len(noise.noise_std)} deviations of noise and {len(noise.shares)} shares",
                remedy="give one of each for every owner, and a menu",
                value=(len(records), len(noise.noise_std)),
            )
        geometry = PublicGeometry.of(public, objective, noise.clip, noise.norm, start, noise.axes)
        return cls(AdaptiveSetting(geometry, tuple(records), noise, prior()))

    @property
    def fill(self) -> float:
        """How gradients are filled with second moments."""
        return self.setting.noise.fill

    @property
    def axes(self) -> Axes:
        """Along which gradients are told."""
        return self.setting.noise.axes

    def begin(self) -> AdaptiveState:
        """No answers."""
        return AdaptiveState((), ())

    def ask(self, state: AdaptiveState, owner: int) -> Ask | None:
        """The question of the hour, or the next one; None if the owner has nothing left that is on the menu.

        The last answer that an owner may give takes all that it has left.
        """
        if state.left(owner) <= 0:
            return None
        setting = self._known(state)
        question = open_question(setting, state, owner)
        if question is None and len(state.questions) >= MOST_QUESTIONS:
            return self._more_of_the_last(state, owner)
        question = question or next_question(setting, state)
        if question.finer is None:
            return self._fresh(state, owner, question)
        finer = self._finer(state, owner, question.finer, question.kept)
        return finer or self._fresh(state, owner, replace(question, kept=0))

    def _fresh(self, state: AdaptiveState, owner: int, question: Question) -> Ask | None:
        """The question itself, for what is wanted or for all that is left."""
        ask, left = question.ask, self._on_menu(state.left(owner))
        if left == 0:
            return None
        is_last = ask.kind == "gradient" and state.answers(owner) + 1 >= MOST_ANSWERS
        most = left - question.kept if left > question.kept else left
        wanted = left if is_last else self._on_menu(min(ask.share or most, most))
        return Ask(ask.theta, ask.kind, wanted or min(self.setting.noise.shares))

    def _more_of_the_last(self, state: AdaptiveState, owner: int) -> Ask | None:
        """After the last question: all that an owner has left where it was asked last, or the last that was asked."""
        asked = [question for question in state.questions if question.ask.kind == "gradient"]
        finer = (self._finer(state, owner, question.ask.theta) for question in reversed(asked))
        return next(filter(None, finer), None) or self._fresh(state, owner, replace(asked[-1], kept=0))

    def _finer(self, state: AdaptiveState, owner: int, theta: FloatArray, kept: int = 0) -> Ask | None:
        """All that an owner does not keep for more of what it has told at a model; None if it has told nothing there.

        What it has been paid there and what is asked for have to be on the menu together. Independent noise (L2) needs
        no such care: then it is one more answer.
        """
        before, left = state.level(owner, theta), state.left(owner)
        left = left - kept if left > kept else left
        if before == 0:
            return None
        if self.setting.noise.norm is not Norm.L1:
            share = self._on_menu(left)
            return Ask(theta, "gradient", share) if share else None
        if before not in self.setting.noise.shares:
            return None
        level = self._on_menu(before + left)
        return Ask(theta, "gradient", level - before, before) if level > before else None

    def _on_menu(self, share: int) -> int:
        """The largest share of the menu that is not larger; 0 if there is none."""
        return max((each for each in self.setting.noise.shares if each <= share), default=0)

    def learn(self, state: AdaptiveState, owner: int, answer: FloatArray, ask: Ask) -> AdaptiveState:
        """Keep the answer, and its question if it is a new one."""
        told, questions = Told(owner, ask, read_only(answer)), state.questions
        if not any(is_to(told, question) for question in questions):
            settled = next_question(self._known(state), state)
            questions = (*questions, settled if is_to(told, settled) else Question(ask, 1))
        return AdaptiveState(questions, (*state.told, told))

    def model(self, state: AdaptiveState) -> FloatArray:
        """The model of least expected fitness; the public one before any answer."""
        return model_of(self._known(state), state)

    def _known(self, state: AdaptiveState) -> AdaptiveSetting:
        """The setting, with the public rows as the answers make them."""
        return moved(relabelled(self.setting, state), state)

    def pack(self, state: AdaptiveState) -> bytes:
        """Questions and answers as bytes."""
        return pack_state(state)

    def unpack(self, data: bytes) -> AdaptiveState:
        """The state again, to the last bit; fails if these bytes are none of this study."""
        setting = self.setting
        sizes = {"owners": len(setting.records), "parameters": setting.geometry.parameters}
        return unpack_state(data, fill=setting.noise.fill, **sizes)
