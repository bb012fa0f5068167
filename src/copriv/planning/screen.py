"""Rules that cannot win, seen without a simulated run: moments with as little noise as any clip would leave.

A rule's own search takes seconds, public Newton's forecast milliseconds. Moments at the shortest clip to choose from,
at their best step, and as if the clip hid nothing, cost less than the rule at its best. If that is still well above
what public Newton costs, the rule is outclassed. An outclassed rule is never chosen, by anybody. What is told of the
others does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np

from copriv.planning.averaged_tuning import averaged_clips
from copriv.planning.expectation import step_search
from copriv.planning.outline import Outline
from copriv.planning.public_evidence import PublicEvidence
from copriv.planning.setting import Setting
from copriv.planning.settle import draft_averaged, draft_paper
from copriv.planning.tuning import paper_clips

_STEPS, _STRIDE = 14, 3
# The best of every third step of the ladder costs a few times as much as the best of all at most.
_HOPELESS = 50.0
# Moments are a few per cent off for the squared loss; for others they are those of a parabola.
_MARGINS = {"squared": 1.5}
_WIDE_MARGIN = 2.0


def outclassed(outline: Outline, rule: str, beaten: float) -> bool:
    """Whether averaged steps or Algorithm 1 are bound to cost more than this ψ, which another rule has."""
    evidence = outline.evidence
    if rule not in {"averaged", "paper"} or evidence is None or not evidence.enough or not beaten > 0:
        return False
    margin = _MARGINS.get(outline.spec.loss, _WIDE_MARGIN)
    return optimistic_cost(outline, evidence, rule, beaten) > margin * beaten


def optimistic_cost(outline: Outline, evidence: PublicEvidence, rule: str, beaten: float = 0.0) -> float:
    """E ψ by moments at the shortest clip and the best step, with nothing lost to the clip."""
    setting = _optimistic(outline, evidence, rule)
    landscape = evidence.view.landscape(sum(setting.records))
    steps = [outline.spec.step] if outline.spec.step else _ladder(setting, evidence)
    return best_step(partial(step_search(setting, evidence).end, landscape), steps, beaten)[1]


def _optimistic(outline: Outline, evidence: PublicEvidence, rule: str) -> Setting:
    draft = draft_paper(outline) if rule == "paper" else draft_averaged(outline)
    if outline.spec.clip is not None:
        return draft
    loss, rows = evidence.objective.loss, evidence.sample
    clips = (
        paper_clips(loss, rows, evidence.start, outline.norm)
        if rule == "paper"
        else averaged_clips(loss, rows, outline.norm)
    )
    return outline.setting(msgspec.structs.replace(draft.terms, clip=min(clips)), draft.answers)


def _ladder(setting: Setting, evidence: PublicEvidence) -> list[float]:
    """From the largest stable step down by factors of 2."""
    shares = np.asarray(setting.records) / sum(setting.records)
    often = np.asarray(setting.by_clock) if setting.terms.rule == "paper" else 1 / len(shares)
    largest = 2 / (float(np.max(shares / often)) * evidence.view.steepest)
    return [_digits(largest * 0.5 ** (k + 0.5)) for k in range(_STEPS)]


def best_step(cost: Callable[[float], float], steps: Sequence[float], beaten: float = 0.0) -> tuple[float, float]:
    """The step of least cost, and that: the best of some of a ladder, of its neighbours, and of what lies between.

    `beaten` is a cost that another rule has: what is far above it at first sight is not looked at twice.
    """
    costs: dict[float, float] = {}

    def best_of(candidates: Sequence[float]) -> float:
        costs.update({step: _finite(cost(step)) for step in candidates if step not in costs})
        return min(costs, key=lambda step: costs[step])

    place = steps.index(best_of(steps[::_STRIDE]))
    if costs[steps[place]] > _HOPELESS * beaten > 0:
        return steps[place], costs[steps[place]]
    best = best_of(steps[max(place - _STRIDE + 1, 0) : place + _STRIDE])
    if len(steps) > 1:
        best = best_of([_digits(best * factor) for factor in (0.6, 0.77, 1.3, 1.68)])
    return best, costs[best]


def _finite(cost: float) -> float:
    return cost if np.isfinite(cost) else np.inf


def _digits(value: float) -> float:
    return float(f"{value:.3g}")
