"""Rules that cannot win, seen without a simulated run: moments with as little noise as any clip would leave.

A rule's own search takes seconds, public Newton's forecast milliseconds. Moments at the shortest clip to choose from,
at their best step, and as if the clip hid nothing, cost less than the rule at its best. If that is still well above
what public Newton costs, the rule is outclassed. An outclassed rule is never chosen, by anybody. What is told of the
others does not depend on it. Second moments of long models are simulated 24 times; two of these trials show whether
noise drowns them.
"""

from __future__ import annotations

from collections.abc import Sequence

from copriv.entropy import seeded
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.forecast.statistics import least_of_few
from copriv.forecast.step_search import least_cost
from copriv.planning.averaged_tuning import averaged_clips
from copriv.planning.outline import Outline
from copriv.planning.settle import draft_averaged, draft_paper, settle
from copriv.planning.tuning import paper_clips
from copriv.rules.adaptive_newton import MOST_PARAMETERS

# Whose own search takes long.
_STEPS = frozenset({"averaged", "paper"})
# Moments are a few per cent off for the squared loss; for others they are those of a parabola.
_MARGINS = {"squared": 1.5}
_WIDE_MARGIN = 2.0


def screened(outline: Outline) -> frozenset[str]:
    """Rules that are worked out only after a glance: steps, and second moments of long models."""
    return _STEPS | {"statistics"} if outline.parameters > MOST_PARAMETERS else _STEPS


def outclassed(outline: Outline, rules: Sequence[str], beaten: float) -> frozenset[str]:
    """Of the rules that are screened, those that are bound to cost more than this ψ, which another rule has."""
    evidence = outline.evidence
    if evidence is None or not evidence.enough or not beaten > 0:
        return frozenset()
    most = _MARGINS.get(outline.spec.loss, _WIDE_MARGIN) * beaten
    hopeful = {rule: _optimistic(outline, evidence, rule) for rule in rules if rule in _STEPS}
    costs = {rule: least_cost(each, evidence, outline.spec.step, beaten) for rule, each in hopeful.items()}
    if "statistics" in screened(outline) & set(rules):
        chance = seeded(outline.spec.seed, "moments")
        costs["statistics"] = least_of_few(settle(outline, "statistics"), evidence, chance)
    return frozenset(rule for rule, cost in costs.items() if cost > most)


def optimistic_cost(outline: Outline, evidence: PublicEvidence, rule: str) -> float:
    """E ψ by moments at the shortest clip and the best step, with nothing lost to the clip."""
    return least_cost(_optimistic(outline, evidence, rule), evidence, outline.spec.step)


def _optimistic(outline: Outline, evidence: PublicEvidence, rule: str) -> Setting:
    """The rule's draft at the shortest clip."""
    clip = outline.spec.clip or min(_clips(outline, evidence, rule))
    return draft_paper(outline, clip) if rule == "paper" else draft_averaged(outline, clip)


def _clips(outline: Outline, evidence: PublicEvidence, rule: str) -> list[float]:
    """What the rule has to choose from."""
    loss, rows = evidence.objective.loss, evidence.sample
    if rule == "paper":
        return paper_clips(loss, rows, evidence.start, outline.norm)
    return averaged_clips(loss, rows, outline.norm)
