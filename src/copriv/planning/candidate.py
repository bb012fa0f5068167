"""One way to train: a rule with everything settled, and what is forecast of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copriv.forecast.forecast import Forecast
from copriv.forecast.setting import Setting
from copriv.privacy.guarantee import ADJACENCY


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setting and its forecast.

    Args:
        setting: everything that is settled.
        forecast: ψ to be expected, its deviation, standard error, interval, caveats.
        outclassed: whether another rule is known to do better without a look at this one's best.
    """

    setting: Setting
    forecast: Forecast
    outclassed: bool = False

    @property
    def rule(self) -> str:
        """How answers become a model."""
        return self.setting.terms.rule

    @property
    def mechanism(self) -> str:
        """What the noise is called."""
        return self.setting.mechanism

    @property
    def features(self) -> int:
        """Length of a model."""
        return self.setting.terms.parameters

    @property
    def answers(self) -> int:
        """The most answers of any owner."""
        return max(self.setting.answers)

    @property
    def clip(self) -> float:
        """The most that one record's gradient may count."""
        return self.setting.terms.clip

    @property
    def step(self) -> float | None:
        """The rule's step; None if it has none."""
        return self.setting.terms.step or None

    @property
    def horizon(self) -> int:
        """How many meetings there are."""
        return self.setting.terms.horizon

    @property
    def box(self) -> float:
        """The most that any number of the model may be."""
        return self.setting.terms.limit

    @property
    def relative_fitness(self) -> float:
        """ψ to be expected."""
        return self.forecast.relative_fitness

    def to_dict(self) -> dict[str, Any]:
        """Everything about it that is a number or a word, with what is promised."""
        epsilons = [guarantee.epsilon for guarantee in self.setting.guarantees]
        return {
            "rule": self.rule,
            "mechanism": self.mechanism,
            "answers": self.answers,
            "clip": self.clip,
            "step": self.setting.terms.step,
            "horizon": self.horizon,
            "box": self.box,
            "features": self.features,
            "predicted": self.forecast.relative_fitness,
            "deviation": self.forecast.deviation,
            "standard_error": self.forecast.standard_error,
            "interval": self.forecast.interval,
            "elsewhere": self.forecast.elsewhere,
            "caveats": list(self.forecast.caveats),
            "outclassed": self.outclassed,
            "epsilon": (min(epsilons), max(epsilons)),
            "delta": self.setting.guarantees[0].delta,
            "unit": self.setting.terms.unit_words,
            "adjacency": ADJACENCY,
        }
