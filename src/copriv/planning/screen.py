"""Rules that cannot win, seen without a simulated run: moments with as little noise as any clip would leave.

A rule's own search takes seconds, public Newton's forecast milliseconds. Moments at the shortest clip to choose from,
at their best step, and as if the clip hid nothing, cost less than the rule at its best. If that is still well above
what public Newton costs, the rule is outclassed. An outclassed rule is never chosen, by anybody. What is told of the
others does not depend on it.
"""

from __future__ import annotations

from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.forecast.step_search import least_cost
from copriv.planning.averaged_tuning import averaged_clips
from copriv.planning.outline import Outline
from copriv.planning.settle import draft_averaged, draft_paper
from copriv.planning.tuning import paper_clips

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
    return least_cost(_optimistic(outline, evidence, rule), evidence, outline.spec.step, beaten)


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
    return draft.at(clip=min(clips), step=draft.terms.step)
