"""The plan of a fit: the first of the search, or the first whose noise the named ledger can pay for.

Where δ is allowed, the search also thinks of the stronger promise without it, which has Laplace noise and is paid in ε.
A ledger in ρ alone cannot pay for that.
"""

from __future__ import annotations

from collections.abc import Collection

from copriv.planning.outline import draft_outline, gather_evidence
from copriv.planning.search import rank
from copriv.planning.training_plan import TrainingPlan, design, plan_candidate
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Measure
from copriv.records.load import Intake


def plan_payable(intake: Intake, spec: TrainingSpec, currencies: Collection[Measure]) -> TrainingPlan:
    """The best plan in one of the currencies; if there is none, the best, which the ledger then refuses.

    Args:
        intake: the owners' records and the public rows.
        spec: what is asked for.
        currencies: in which the ledger has accounts.
    """
    best = design(intake, spec)
    if _currency(best) in currencies:
        return best
    evidence = None if intake.public is None else gather_evidence(intake.public, spec)
    outline = draft_outline(intake.dictionary, evidence, tuple(owner.sample.records for owner in intake.owners), spec)
    plans = (plan_candidate(outline, candidate) for candidate in rank(outline))
    return next((plan for plan in plans if _currency(plan) in currencies), best)


def _currency(plan: TrainingPlan) -> Measure:
    return plan.commitments[0].budget.measure
