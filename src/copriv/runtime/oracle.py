"""Says on the way what ψ is to be expected by now, and once if the answers say that the public rows do not fit."""

from __future__ import annotations

import math
from typing import Any, Protocol

from copriv.forecast.foresight import Foreseen, Foresight, is_worth_telling
from copriv.rules.adaptive_state import AdaptiveState
from copriv.rules.rule import AnyRule
from copriv.runtime.events import Note, Predicted, Warned

# A change of ψ that is worth a word: that of its logarithm.
_NEWS = 0.25


class TellWords(Protocol):
    """Is told what a person should know."""

    def __call__(self, event: Note | Predicted | Warned, /) -> None:
        """Take note of it."""


class Oracle:
    """Watches the states of a run; it is silent about rules that do not look for shifts.

    Args:
        rule: the learner's.
        tell: is told what is expected, after some numbers of answers, if it is news.
        foreseen: gets it in any case.
    """

    def __init__(self, rule: AnyRule[Any], tell: TellWords, foreseen: list[Foreseen]) -> None:
        self._ahead, self._tell, self._foreseen = Foresight.of(rule), tell, foreseen
        self._last: AdaptiveState | None = None
        self._said = math.nan if self._ahead is None else self._ahead.predicted
        self._warned = False

    def see(self, state: object) -> None:
        """The state after a meeting; one at which nobody answered is passed over."""
        if self._ahead is None or not isinstance(state, AdaptiveState):
            return
        news = self._last is None or len(state.told) != len(self._last.told)
        self._last = state
        if news and is_worth_telling(len(state.told)):
            self._say(self._ahead, state)

    def end(self) -> None:
        """What is expected in the end, if it was not said yet."""
        if self._ahead is not None and self._last is not None and not is_worth_telling(len(self._last.told)):
            self._say(self._ahead, self._last)

    def _say(self, ahead: Foresight, state: AdaptiveState) -> None:
        found = ahead.after(state)
        self._foreseen.append(found)
        self._tell(Predicted(found.answers, found.relative_fitness, found.interval, found.misfit))
        if abs(math.log(found.relative_fitness / self._said)) > _NEWS:
            self._said = found.relative_fitness
            self._tell(Note(f"{found.words}; predicted before: {ahead.predicted:.2g}"))
        if not found.fits and not self._warned:
            self._warned = True
            self._tell(Warned(found.verdict))


def in_the_end(rule: AnyRule[Any], state: object) -> tuple[float | None, tuple[Foreseen, ...]]:
    """The ψ that was predicted, and what is expected after the last answer; nothing of rules that do not tell."""
    ahead = Foresight.of(rule)
    if ahead is None or not isinstance(state, AdaptiveState) or not state.told:
        return None, ()
    return ahead.predicted, (ahead.after(state),)
