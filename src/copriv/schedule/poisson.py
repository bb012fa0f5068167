"""Independent Poisson clocks, one an owner: whoever's clock ticks next meets the learner.

The first of several exponential waiting times is exponential with the sum of the rates, and it is owner i's with
probability γ_i = r_i/Σr, independently of when it comes. So independent clocks are drawn as one clock and a choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from copriv.errors import BadInput
from copriv.schedule.trace import Meeting, Trace
from copriv.vectors import FloatArray


def draw(rates: Sequence[float], horizon: int, generator: np.random.Generator) -> Trace:
    """The first `horizon` ticks; as in the paper, time starts at the first: 0 = t_1 ≤ t_2 ≤ ⋯ ≤ t_T."""
    probabilities = availability(rates)
    if horizon < 1:
        raise BadInput(f"the horizon is {horizon}", remedy="give at least 1 iteration", value=horizon)
    gaps = generator.exponential(1 / math.fsum(rates), size=horizon)
    gaps[0] = 0.0
    owners = generator.choice(len(rates), size=horizon, p=probabilities)
    times = np.cumsum(gaps)
    return Trace(len(rates), tuple(Meeting(float(t), int(i)) for t, i in zip(times, owners, strict=True)))


def until_spent(rates: Sequence[float], answers: Sequence[int], generator: np.random.Generator) -> Trace:
    """The first ticks of each owner's clock, as many as it has answers to give: who is spent is not met any more.

    >>> until_spent([1.0, 1.0], [2, 1], np.random.default_rng(0)).answers_of(0)
    2
    """
    availability(rates)
    if len(answers) != len(rates) or min(answers) < 1:
        raise BadInput(
            f"{list(answers)[:8]} answers of {len(rates)} owners", remedy="let each owner answer at least once"
        )
    ticks = [np.cumsum(generator.exponential(1 / rate, size=most)) for rate, most in zip(rates, answers, strict=True)]
    times, owners = np.concatenate(ticks), np.repeat(np.arange(len(rates)), answers)
    order = np.argsort(times, kind="stable")
    first = float(times[order[0]])
    return Trace(len(rates), tuple(Meeting(float(times[k]) - first, int(owners[k])) for k in order))


def in_rounds(answers: Sequence[int], generator: np.random.Generator) -> Trace:
    """Round after round, every owner that has answers left once in random order; one unit of time a meeting.

    >>> [meeting.owner for meeting in in_rounds([2, 1], np.random.default_rng(0))][-1]
    0
    """
    if not answers or min(answers) < 1:
        raise BadInput(f"{list(answers)[:8]} answers", remedy="let each owner answer at least once")
    rounds = (generator.permutation(len(answers)).tolist() for _ in range(max(answers)))
    owners = [owner for number, order in enumerate(rounds) for owner in order if number < answers[owner]]
    return Trace(len(answers), tuple(Meeting(float(time), owner) for time, owner in enumerate(owners)))


def availability(rates: Sequence[float]) -> FloatArray:
    """γ_i = r_i/Σr, the probability that the next meeting is with owner i.

    >>> availability([1.0, 3.0]).tolist()
    [0.25, 0.75]
    """
    if not rates:
        raise BadInput("no owners", remedy="a schedule needs at least one owner", value=0)
    for rate in rates:
        if not (math.isfinite(rate) and rate > 0):
            raise BadInput(f"a rate of {rate}", remedy="give finite rates greater than 0", value=rate)
    return np.asarray(rates, dtype=np.float64) / math.fsum(rates)


def likely_answers(probability: float, horizon: int, *, excess: float = 0.01) -> int:
    """The smallest number of answers that an owner exceeds with probability at most `excess` over the horizon.

    An owner that promises no more than this spends its budget on the answers that will be asked for, not on all T.

    >>> likely_answers(0.1, 1000), likely_answers(1.0, 1000)
    (123, 1000)
    """
    from scipy.special import bdtrc, bdtrik

    if probability >= 1:
        return horizon
    answers = math.ceil(float(bdtrik(1 - excess, horizon, probability)))
    while bdtrc(answers, horizon, probability) > excess:
        answers += 1
    while answers > 0 and bdtrc(answers - 1, horizon, probability) <= excess:
        answers -= 1
    return max(1, answers)
