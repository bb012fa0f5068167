"""How each rule is settled from an outline: its clip, step and answers, by what the public rows say.

Everything is judged on the public rows, so nothing private is looked at and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.forecast.at_setting import best_newton
from copriv.forecast.newton import ANSWERS
from copriv.forecast.setting import Setting
from copriv.planning.averaged_tuning import AveragedPilot, best_step
from copriv.planning.outline import Outline
from copriv.planning.outside import settle_outside
from copriv.planning.tuning import Pilot, candidate_clips, candidate_steps, judge_clips_and_steps
from copriv.protocol.terms import Terms
from copriv.rules.adaptive_questions import MOST_ANSWERS
from copriv.rules.averaged import AveragedRule
from copriv.rules.difference import chances_of_shifts
from copriv.rules.newton import NewtonRule
from copriv.rules.paper import PaperRule, step_from_rho
from copriv.rules.registry import resolve
from copriv.rules.statistics import StatisticsRule
from copriv.schedule.poisson import likely_answers
from copriv.vectors import Norm

_AVERAGED_ANSWERS = 30
# Of Newton's rule without public rows: for the squared loss, for others, and how much longer if noise is below this.
_SQUARED_CLIP, _PLAIN_CLIP, _LONGER, _SILENT = 2.0, 1.0, 2.0, 1e-5


def draft_paper(outline: Outline, clip: float = 1.0) -> Setting:
    """Algorithm 1 for T meetings, with this clip and a step of 1 where none is settled."""
    spec = outline.spec
    horizon = spec.horizon if spec.trace is None else len(spec.trace)
    step = spec.step or 1.0
    if spec.rho is not None:
        step = step_from_rho(spec.rho, horizon=horizon, strong_convexity=2 * spec.regularization)
    likely = {gamma: likely_answers(gamma, horizon) for gamma in set(outline.probabilities)}
    answers = tuple(spec.answers or likely[gamma] for gamma in outline.probabilities)
    return outline.setting(PaperRule.name, answers, clip=spec.clip or clip, step=step, horizon=horizon)


def settle_paper(outline: Outline) -> Setting:
    """Algorithm 1: clip and step by simulated runs on the public rows."""
    spec, evidence = outline.spec, outline.require_public(PaperRule.name)
    draft = draft_paper(outline)
    pilot = Pilot(
        objective=evidence.objective,
        public=evidence.sample,
        model=evidence.start,
        norm=draft.norm,
        deviations=np.asarray(draft.unit_noise),
        caps=draft.answers,
        horizon=draft.terms.horizon,
        gaussian=outline.gaussian,
    )
    rule = draft.paper()
    clips = candidate_clips(pilot) if spec.clip is None else [spec.clip]
    steps = candidate_steps(rule, pilot) if spec.step is None and spec.rho is None else [rule.step]
    if len(clips) * len(steps) == 1:
        return draft
    clip, step = judge_clips_and_steps(rule, pilot, clips, steps, seeded(spec.seed, "pilot"))
    return draft.at(clip=clip, step=step)


def draft_averaged(outline: Outline, clip: float = 1.0) -> Setting:
    """Averaged steps: equally many answers of each owner, with this clip and a step of 1 where none is settled."""
    spec = outline.spec
    answers = (spec.answers or _AVERAGED_ANSWERS,) * len(outline.records)
    return outline.setting(AveragedRule.name, answers, clip=spec.clip or clip, step=spec.step or 1.0)


def settle_averaged(outline: Outline) -> Setting:
    """Averaged steps: clip and step by simulated runs on public rows, unless both are settled."""
    spec, draft = outline.spec, draft_averaged(outline)
    if spec.clip is not None and spec.step is not None:
        return draft
    evidence = outline.require_public(AveragedRule.name)
    pilot = AveragedPilot(
        rule=draft.averaged(),
        objective=evidence.objective,
        public=evidence.sample,
        model=evidence.start,
        norm=draft.norm,
        units=np.asarray(draft.unit_noise),
        gaussian=outline.gaussian,
    )
    clip, step = best_step(pilot, spec, seeded(spec.seed, "pilot"))
    return draft.at(clip=clip, step=step)


def settle_statistics(outline: Outline) -> Setting:
    """One-shot statistics: one contact with each owner, no clip, no step, no public rows."""
    answers = (outline.spec.answers or 1,) * len(outline.records)
    return outline.setting(StatisticsRule.name, answers, clip=1.0, step=0.0)


def settle_newton(outline: Outline) -> Setting:
    """Public Newton: with a menu, the clip with the least expected ψ over shifts.

    Without one, the clip and the number of answers with the least expected ψ, of those that are not settled. Without
    public rows there has to be a menu (`rules.learned_curvature`), and the clip is the longest gradient, at most
    what has done well on many tables.
    """
    spec, owners = outline.spec, len(outline.records)
    draft = outline.setting(NewtonRule.name, (1,) * owners, clip=1.0, step=0.0)
    if outline.evidence is None and draft.terms.shares:
        clip = spec.clip or min(_longest(draft.terms, draft.norm), _plain_clip(draft))
        return outline.setting(NewtonRule.name, (MOST_ANSWERS,) * owners, clip=clip, step=0.0)
    evidence = outline.require_public(NewtonRule.name)
    if draft.terms.shares:
        clip = spec.clip or evidence.newton(draft.norm, draft.terms.axes).best_clip(
            draft.records, draft.unit_noise, chances_of_shifts(), laplace=draft.norm is Norm.L1
        )
        return outline.setting(NewtonRule.name, (MOST_ANSWERS,) * owners, clip=clip, step=0.0)
    best = best_newton(draft, evidence, ANSWERS if spec.answers is None else (spec.answers,), spec.clip)
    return outline.setting(NewtonRule.name, (best.answers,) * owners, clip=best.clip, step=0.0)


def _plain_clip(draft: Setting) -> float:
    """What has done well on many tables: longer where the noise of all owners is small, and clipping costs more."""
    sizes = np.asarray(draft.records, dtype=np.float64)
    noise = float(np.linalg.norm(sizes / sizes.sum() * np.asarray(draft.unit_noise)))
    return (_SQUARED_CLIP if draft.terms.loss == "squared" else _PLAIN_CLIP) * (_LONGER if noise < _SILENT else 1.0)


def _longest(terms: Terms, norm: Norm) -> float:
    """The longest gradient that any record could have."""
    return terms.objective().gradient_bound(
        row_norm=terms.row_norm, target=terms.target_bound, parameters=terms.parameters, norm=norm
    )


def settle_terms(outline: Outline, terms: Terms) -> Setting:
    """Terms that are agreed already, for these owners: only who answers how often may be open."""
    spec, delta = outline.spec, outline.spec.guarantees[0].delta
    if not terms.suits(delta):
        raise BadInput(
            f"delta is {delta:g}, and the rule {terms.rule!r} of the study asks everybody for delta = {terms.delta:g}",
            remedy="give that delta, or plan another study",
            value=delta,
        )
    answers = tuple(_answers(terms, spec.answers, gamma) for gamma in outline.probabilities)
    horizon = terms.horizon if resolve(terms.rule).counts == "meetings" else sum(answers)
    settled = msgspec.structs.replace(terms, horizon=horizon)
    return Setting(settled, outline.records, spec.guarantees, answers, spec.accountant, spec.rates, spec.heterogeneity)


def _answers(terms: Terms, wanted: int | None, gamma: float) -> int:
    """As the terms ask; where they leave it to the owner, as it wishes, or what its clock is likely to ask for."""
    if terms.answers or wanted:
        return terms.answers or wanted or 1
    if resolve(terms.rule).counts == "meetings":
        return likely_answers(gamma, terms.horizon)
    raise BadInput(
        f"the study's rule {terms.rule!r} has no number of answers",
        remedy="say how often each owner answers at most: --answers K",
        value=terms.answers,
    )


def settle(outline: Outline, rule: str) -> Setting:
    """A rule with everything settled; one from outside by its traits."""
    known = _SETTLE.get(rule)
    return settle_outside(outline, resolve(rule)) if known is None else known(outline)


_SETTLE: Mapping[str, Callable[[Outline], Setting]] = {
    "newton": settle_newton,
    "statistics": settle_statistics,
    "averaged": settle_averaged,
    "paper": settle_paper,
}
