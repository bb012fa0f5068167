"""What a rule is set up from, besides the terms: the owners' sizes and clocks, and what is known of their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from copriv.losses.sample import Sample
from copriv.protocol.commitment import Commitment
from copriv.rules.rule import Ask
from copriv.vectors import Axes, Norm


@dataclass(frozen=True, slots=True)
class Owners:
    """All that a rule may know of the owners, in an order that never changes during a study.

    Args:
        records: n_i of each owner.
        answers: K_i, how often each answers at most.
        availability: γ_i, the probability that the next meeting is with owner i.
    """

    records: tuple[int, ...]
    answers: tuple[int, ...]
    availability: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """What a rule that weighs answers has to know of the owners' noise, and the public rows if it starts from them.

    Args:
        noise_std: standard deviation of each owner's noise, in the order of the owners.
        clip: of every owner.
        norm: of the owners' mechanism.
        public: the public rows, as the study's dictionary has them.
        shares: the shares on the menu, in per cents; none without a menu. With one, `noise_std` is that of a gradient
            at a share of 100 (`at_share` has the others).
        kinds: the kinds on the menu.
        second_moments_std: standard deviation of each owner's noise on second moments, at a share of 100; none if they
            are not on the menu.
        positives_std: standard deviation of each owner's noise on the share of positive targets; likewise.
        fill: how gradients are filled with second moments; 0 if they are told alone.
        axes: along which gradients are told (`losses.turned`), one a row; none if along the features.
    """

    noise_std: tuple[float, ...]
    clip: float
    norm: Norm
    public: Sample | None = None
    shares: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    second_moments_std: tuple[float, ...] = ()
    positives_std: tuple[float, ...] = ()
    fill: float = 0.0
    axes: Axes = ()

    @classmethod
    def of(cls, commitments: Sequence[Commitment], public: Sample | None) -> NoiseModel:
        """What owners' commitments say, in their order."""
        first = commitments[0]
        squares = [each.whole_moments for each in commitments if each.whole_moments is not None]
        positives = [each.whole_positives for each in commitments if each.whole_positives is not None]
        return cls(
            noise_std=tuple(each.calibration.mechanism.noise_std for each in commitments),
            clip=first.clip,
            norm=first.norm,
            public=public,
            shares=first.shares,
            kinds=first.kinds,
            second_moments_std=tuple(calibration.mechanism.noise_std for calibration in squares),
            positives_std=tuple(calibration.mechanism.noise_std for calibration in positives),
            fill=first.fill,
            axes=first.axes,
        )

    def at_share(self, noise_std: float, share: int) -> float:
        """The deviation of noise at a share of the budget, of one at a share of 100; 0 is without a menu.

        >>> model = NoiseModel((1.0,), 1.0, Norm.L1)
        >>> model.at_share(1.0, 25), NoiseModel((1.0,), 1.0, Norm.L2).at_share(1.0, 25), model.at_share(1.0, 0)
        (4.0, 2.0, 1.0)
        """
        if share == 0:
            return noise_std
        return noise_std * (100 / share if self.norm is Norm.L1 else math.sqrt(100 / share))

    def std_of(self, owner: int, ask: Ask) -> float:
        """The deviation of an owner's noise on its answer to this."""
        of_kind = {"second_moments": self.second_moments_std, "positives": self.positives_std}
        return self.at_share(of_kind.get(ask.kind, self.noise_std)[owner], ask.level)
