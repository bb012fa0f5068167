"""Answers that were made finer: are two answers to one question one draw, or two?

A coarse and a fine answer together may cost no more than the fine one, so the coarse one must be the fine one plus an
independent increment. For Laplace noise of scales c > b the increment is 0 with probability (b/c)², and it has nothing
to do with the finer noise. Shares s < t have b/c = s/t. So the numbers that are equal in both answers are counted, and
the size of the others' increments is compared with their scale: an owner that draws its finer answers afresh, and is
paid for the difference only, has no equal numbers at all; one that adds the wrong noise has too many, too few or wrong
ones; one whose increments follow the finer noise shows it by their signs; and one that uses an increment again has
increments that repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import gammainc, gammaincc
from scipy.stats import binomtest

from copriv.audit.claim import Claim
from copriv.audit.result import AuditResult
from copriv.vectors import FloatArray

# By the levels before and after: the noise of both answers, pair by pair.
Steps: TypeAlias = dict[tuple[int, int], list[FloatArray]]
_Chance: TypeAlias = tuple[float, int, int]

_EITHER = 0.5
# Of their scale: two increments are not that near each other, unless they are the same; rounding is finer.
_APART = 1e-12


def steps_hold(claim: Claim, steps: Steps, level: float) -> bool:
    """Whether pairs of answers may be of one draw each; wrong at most this often."""
    return not steps or _least(claim, steps)[0] >= level


def levels_verdict(claim: Claim, steps: Steps, level: float, confirmed_at: float | None) -> AuditResult:
    """What pairs of answers look like.

    Args:
        claim: of the owners.
        steps: what they answered.
        level: how often a correct owner fails in all.
        confirmed_at: the level for these pairs, where earlier ones have raised a doubt; None where there is none.
    """
    chance, before, after = _least(claim, steps) if steps else (0.0, 0, 1)
    passed = bool(steps) and (confirmed_at is None or chance >= confirmed_at)
    pairs = sum(map(len, steps.values()))
    return AuditResult(
        name="menu: levels",
        certified=0.0 if passed else claim.guarantee.epsilon * (1 + before / after),
        claimed=claim.guarantee.epsilon,
        statistic=chance,
        threshold=0.0 if confirmed_at is None else confirmed_at,
        answers=2 * pairs,
        false_alarms=level,
        passed=passed,
        words=_words(pairs, before, after, passed=passed),
    )


def _words(pairs: int, before: int, after: int, *, passed: bool) -> str:
    if passed:
        return f"in {pairs:,} pairs of answers to one question, the coarse one is the fine one plus noise of its own"
    if not pairs:
        return "no owner makes an answer finer"
    return (
        f"answers to one question at {before} % and at {after} % are not of one draw; if the finer is fresh, both cost "
        f"{before} % more than what was paid"
    )


def _least(claim: Claim, steps: Steps) -> _Chance:
    """The least probable of all that was seen, and how probable it is among so many."""
    found = list(_chances(claim, steps))
    chance, before, after = min(found)
    return min(1.0, chance * len(found)), before, after


def _chances(claim: Claim, steps: Steps) -> Iterator[_Chance]:
    """Four tests of every step: how probable what was seen is if there was one draw."""
    for (before, after), pairs in steps.items():
        coarse, fine = np.concatenate(pairs, axis=1)
        increments = coarse - fine
        moved = increments[increments != 0]
        equal = increments.size - moved.size
        yield float(binomtest(equal, increments.size, (before / after) ** 2).pvalue), before, after
        if moved.size:
            scale = replace(claim, share=before).needed_scale()
            size, kinds = float(np.abs(moved).sum()) / scale, np.unique(np.rint(moved / (_APART * scale))).size
            yield (1.0 if kinds == moved.size else _APART * moved.size**2), before, after
            yield 2 * float(min(gammainc(moved.size, size), gammaincc(moved.size, size))), before, after
            along = int(np.sum(np.sign(moved) == np.sign(fine[increments != 0])))
            yield float(binomtest(along, moved.size, _EITHER).pvalue), before, after
