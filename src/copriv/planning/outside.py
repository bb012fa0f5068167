"""A rule from outside in the search: settled by its traits alone, and forecast by simulated runs on the public rows.

What the user and the entry leave open is chosen as follows. The clip is a quantile of the public gradients' lengths,
where training starts and where it should end. The ψ to be expected is that of some runs in which the public rows play
every owner, with the noise that owners would add.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.forecast.forecast import Forecast
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.losses.moments import pack_moments, pack_second_moments, positive_share
from copriv.losses.objective import relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.planning.outline import Outline
from copriv.planning.tuning import some_rows
from copriv.protocol.commitment import told_gradient
from copriv.protocol.terms import RANGES
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import resolve
from copriv.rules.rule import AnyRule, Ask, learn_from, next_ask
from copriv.rules.setting import NoiseModel, Owners
from copriv.schedule.poisson import draw, in_rounds, likely_answers, until_spent
from copriv.schedule.trace import Trace
from copriv.simulation.quadratic import draw_unit_noise
from copriv.vectors import FloatArray

_CLIP_QUANTILE = 0.9
_RUNS = 8


def settle_outside(outline: Outline, entry: RuleEntry) -> Setting:
    """A rule's setting: as the user wants it, else as its entry says, else by the public rows."""
    _require_what_it_needs(outline, entry)
    spec = outline.spec
    if entry.counts == "meetings":
        horizon = spec.horizon if spec.trace is None else len(spec.trace)
        answers = tuple(spec.answers or likely_answers(gamma, horizon) for gamma in outline.probabilities)
    else:
        answers = (spec.answers or entry.answers,) * len(outline.records)
        horizon = outline.meetings(answers)
    step = spec.step or entry.step or 0.0
    return outline.setting(entry.name, answers, clip=_clip(outline, entry), step=step, horizon=horizon)


def build_outside(setting: Setting, noise: NoiseModel) -> AnyRule[Any]:
    """The rule at a setting, as its entry makes it."""
    owners = Owners(setting.records, setting.answers, setting.by_clock)
    return resolve(setting.terms.rule).make(setting.terms, owners, noise)


def expect_outside(setting: Setting, evidence: PublicEvidence, seed: int) -> Forecast:
    """Mean and deviation of ψ over some runs on the public rows, and the standard error of the mean."""
    rows, objective = some_rows(evidence.sample, setting.terms.horizon), evidence.objective
    best = objective.fitness(rows, minimise(objective, rows))
    noise = setting.noise_model(evidence.sample)
    rule, chance = build_outside(setting, noise), seeded(seed, "outside")
    models = (_play(rule, setting, rows, noise, chance) for _ in range(_RUNS))
    psi = np.asarray([relative_fitness(objective.fitness(rows, theta), best) for theta in models])
    spread, mean = float(psi.std(ddof=1)), max(float(psi.mean()), float(np.finfo(float).tiny))
    told = f"{_RUNS} runs were simulated on the public rows, which play every owner"
    return Forecast(mean, spread, spread / float(np.sqrt(_RUNS)), (told,))


def _require_what_it_needs(outline: Outline, entry: RuleEntry) -> None:
    if "public" in entry.needs:
        outline.require_public(entry.name)
    if not entry.suits(outline.spec.loss):
        raise BadInput(
            f"the rule {entry.name!r} with the {outline.spec.loss} loss",
            remedy=f"use the {' or '.join(entry.losses)} loss, or another rule",
            value=outline.spec.loss,
        )
    if "step" in entry.needs and outline.spec.step is None and entry.step is None:
        raise BadInput(
            f"the rule {entry.name!r} needs a step, and has none of its own", remedy="give a step", value=entry.name
        )


def _clip(outline: Outline, entry: RuleEntry) -> float:
    """The user's, or the entry's, or one of the public rows; without them, no tighter than what is proven anyway."""
    evidence = outline.evidence
    given = outline.spec.clip or entry.clip or (1.0 if entry.asks == "moments" else None)
    if given is not None:
        return given
    if evidence is None:
        return RANGES["clip"][1]
    places = (np.zeros_like(evidence.start), evidence.start)
    lengths = [gradient_norms(outline.loss, evidence.sample, theta, outline.norm) for theta in places]
    return float(f"{max(float(np.quantile(np.concatenate(lengths), _CLIP_QUANTILE)), 1e-9):.2e}")


def _play(
    rule: AnyRule[Any], setting: Setting, rows: Sample, model: NoiseModel, chance: np.random.Generator
) -> FloatArray:
    """The model of one run; an owner that has given its answers says nothing."""
    state, left = rule.begin(), list(setting.answers)
    for meeting in _meetings(setting, chance):
        owner = meeting.owner
        ask = next_ask(rule, state, owner) if left[owner] > 0 else None
        if ask is not None:
            left[owner] -= 1
            exact = _answer(setting, rows, owner, ask)
            noise = draw_unit_noise(setting.mechanism, exact.shape, chance)
            state = learn_from(rule, state, owner, exact + model.std_of(owner, ask) * noise, ask)
    return rule.model(state)


def _meetings(setting: Setting, chance: np.random.Generator) -> Trace:
    if resolve(setting.terms.rule).counts == "meetings":
        return draw(setting.by_clock, setting.terms.horizon, chance)
    if setting.terms.shares and setting.rates is None:
        return in_rounds(setting.answers, chance)
    return until_spent(setting.by_clock, setting.answers, chance)


def _answer(setting: Setting, rows: Sample, owner: int, ask: Ask) -> FloatArray:
    """What an owner would say without noise, if its records were like the public rows."""
    if ask.kind == "moments":
        return pack_moments(rows, setting.norm) * (setting.records[owner] / rows.records)
    if ask.kind == "second_moments":
        return pack_second_moments(rows, setting.norm)
    if ask.kind == "positives":
        return positive_share(rows)
    terms = setting.terms
    return told_gradient(terms.objective().loss, rows, ask.theta, (setting.clip, terms.fill, terms.axes), setting.norm)
