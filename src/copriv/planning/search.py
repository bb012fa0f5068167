"""THE search: from public rows, owners' sizes and promises to ranked candidates.

`forecast`, `plan`, `verdict` and `train` all read from it, so what one says the others say. Where δ > 0 is allowed, the
stronger promise without it is thought of too: a single answer may be cheaper so. Not where several studies share a
promise that was divided for Gaussian noise (`with_pure=False`): pure promises add up to more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from copriv.errors import BadInput
from copriv.forecast.setting import Setting
from copriv.planning.candidate import Candidate
from copriv.planning.expectation import expect, with_standard_error
from copriv.planning.few_rows import are_too_few
from copriv.planning.outline import Outline
from copriv.planning.screen import outclassed, screened
from copriv.planning.settle import settle, settle_terms
from copriv.rules.few_rows import is_few
from copriv.rules.registry import resolve

# Public Newton first: the others have to beat it.
RULES = ("newton", "statistics", "averaged", "paper")


def rank(outline: Outline, *, with_pure: bool = True) -> tuple[Candidate, ...]:
    """Every rule that loss, public rows and what is settled allow, the least expected ψ first.

    A rule that is outclassed is never the first.
    """
    found = _expected(outline, skip=False, with_pure=with_pure)
    return tuple(_completed(outline, candidate) for candidate in _ordered(found))


def choose(outline: Outline) -> Candidate:
    """The first of `rank`, without working out those that are outclassed."""
    return _completed(outline, _ordered(_expected(outline, skip=True))[0])


def glance(outline: Outline, *, with_pure: bool = True) -> Candidate:
    """The first of `rank` without its standard error, for whoever looks at many scenarios."""
    return _ordered(_expected(outline, skip=True, with_pure=with_pure))[0]


def first_look(outline: Outline) -> Candidate | None:
    """The first of the rules that need no simulated run, without its standard error; None if there is none of these.

    Others may yet be better: `choose` tells.
    """
    slow = screened(outline)
    quick = [] if outline.agreed is not None else [rule for rule in _rules(outline) if rule not in slow][:1]
    return _ordered(_work_out([(kind, rule) for rule in quick for kind in _kinds(outline)]))[0] if quick else None


def _expected(outline: Outline, *, skip: bool, with_pure: bool = True) -> list[Candidate]:
    """Every rule under every promise, without standard errors; under agreed terms there is one."""
    if outline.agreed is not None:
        return [_forecast(outline, settle_terms(outline, outline.agreed))]
    kinds = _kinds(outline) if with_pure else [outline]
    rules, slow = _rules(outline), screened(outline)
    quick = [(kind, rule) for rule in rules if rule not in slow for kind in kinds]
    found = _work_out(quick)
    beaten = min((candidate.relative_fitness for candidate in found if candidate.rule == "newton"), default=0.0)
    behind = {kind: outclassed(kind, rules, beaten) for kind in kinds}
    steps = [(kind, rule) for rule in rules if rule in slow for kind in kinds]
    steps = [(kind, rule) for kind, rule in steps if not (skip and rule in behind[kind])]
    marks = [rule in behind[kind] for kind, rule in (*quick, *steps)]
    found += _work_out(steps)
    return [replace(candidate, outclassed=mark) for candidate, mark in zip(found, marks, strict=True)]


def work_out(outline: Outline, rule: str) -> Candidate:
    """One rule settled, and what is expected of it."""
    return _work_out([(outline, rule)])[0]


def _work_out(wanted: Sequence[tuple[Outline, str]]) -> list[Candidate]:
    """Every rule is settled, and then forecast."""
    settled = [(outline, settle(outline, rule)) for outline, rule in wanted]
    return [_forecast(outline, setting) for outline, setting in settled]


def _forecast(outline: Outline, setting: Setting) -> Candidate:
    return Candidate(setting, expect(setting, outline.evidence, outline.spec.seed))


def _kinds(outline: Outline) -> list[Outline]:
    """With δ where it is allowed, and without."""
    return [outline] if not outline.gaussian else [outline, outline.purely()]


def _rules(outline: Outline) -> Sequence[str]:
    """Those that are thought of; forecasts of few public rows are too rough to choose by."""
    rule, squared = outline.spec.meant_rule, outline.spec.loss == "squared"
    if rule != "auto":
        return (resolve(rule).name,)
    chooses = resolve("newton").has_menu(outline.parameters, outline.spec.answers)
    if outline.evidence is not None and not (squared and are_too_few(outline.evidence.sample)):
        if chooses and is_few(outline.evidence.sample.records, outline.parameters):
            return ("newton",)
        return RULES if squared else tuple(rule for rule in RULES if rule != "statistics")
    if outline.evidence is None and chooses:
        return ("newton",)
    if squared:
        return ("statistics",)
    raise BadInput(
        f"the {outline.spec.loss} loss without public rows, for {outline.parameters} parameters and a settled "
        "number of answers",
        remedy="give public rows, leave --answers out, or --rule averaged with --step and --clip",
        value=outline.spec.loss,
    )


def _ordered(found: Sequence[Candidate]) -> list[Candidate]:
    """The least expected ψ first, but nothing outclassed; without a forecast, as they came: δ is used if allowed."""
    ranked = sorted(found, key=lambda candidate: candidate.relative_fitness)
    first = next(candidate for candidate in ranked if not candidate.outclassed)
    return [first, *(candidate for candidate in ranked if candidate is not first)]


def _completed(outline: Outline, candidate: Candidate) -> Candidate:
    forecast = with_standard_error(candidate.forecast, candidate.setting, outline.evidence, outline.spec.seed)
    return replace(candidate, forecast=forecast)
