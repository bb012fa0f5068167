"""What a rule is set up from, besides the terms: the owners' sizes and clocks, and what is known of their noise."""

from __future__ import annotations

from dataclasses import dataclass

from copriv.losses.sample import Sample
from copriv.vectors import Norm


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
    """

    noise_std: tuple[float, ...]
    clip: float
    norm: Norm
    public: Sample | None = None
