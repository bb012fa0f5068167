"""The forecast of a setting: by closed form, by moments where they hold, else by simulation on the public rows.

It depends on the setting, the public rows and the seed, and on nothing else: whoever asks is told the same number.
"""

from __future__ import annotations

import math
from dataclasses import replace

from copriv.entropy import seeded
from copriv.forecast.at_setting import cost_of_differences, expect_moments, expect_newton, relative_error
from copriv.forecast.forecast import Forecast
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.forecast.statistics import expect_statistics
from copriv.planning.few_rows import about_few_rows
from copriv.planning.outside import expect_outside
from copriv.planning.public_simulation import simulate_on_public

RUNS = 20
# Where moments do not hold, what they say of owners' differences counts if they are not this far off altogether.
_FAR_OFF = 10.0
# Of a rule from outside, the spread of its simulated runs is all that is known.
_KNOWN = frozenset({"newton", "statistics", "paper", "averaged"})
UNKNOWN = Forecast(math.nan, math.nan, math.nan, ("nothing is forecast without public rows",))


def expect(setting: Setting, evidence: PublicEvidence | None, seed: int) -> Forecast:
    """E ψ and its deviation; the standard error is 0 where only the public rows leave one."""
    if evidence is None:
        return UNKNOWN
    if setting.terms.rule == "newton":
        return expect_newton(setting, evidence)
    if setting.terms.rule == "statistics":
        return expect_statistics(setting, evidence, seeded(seed, "moments"))
    if setting.terms.rule in {"paper", "averaged"}:
        return _expect_steps(setting, evidence, seed)
    return expect_outside(setting, evidence, seed)


def with_standard_error(draft: Forecast, setting: Setting, evidence: PublicEvidence | None, seed: int) -> Forecast:
    """The same with what a finite public sample leaves open, found by leaving out a group of rows after another.

    Where public rows are few, that is said.
    """
    words = about_few_rows(None if evidence is None else evidence.sample, setting.terms.rule)
    draft = draft if words is None else replace(draft, caveats=(words, *draft.caveats))
    if evidence is None or setting.terms.rule not in _KNOWN:
        return draft
    if not evidence.enough:
        return replace(draft, caveats=(*draft.caveats, "too few public rows for a standard error"))
    share = relative_error(setting, evidence, seeded(seed, "moments"))
    return replace(draft, standard_error=math.hypot(draft.standard_error, share * draft.relative_fitness))


def _expect_steps(setting: Setting, evidence: PublicEvidence, seed: int) -> Forecast:
    """Algorithm 1 and averaged steps."""
    if not evidence.enough:
        caveat = "there are too few public rows for moments"
        return simulate_on_public(setting, evidence, (caveat,), RUNS, seed)
    moments = expect_moments(setting, evidence)
    if not moments.caveats:
        return Forecast(moments.expected, moments.deviation, 0.0)
    acted = simulate_on_public(setting, evidence, moments.caveats, RUNS, seed)
    if not moments.expected < _FAR_OFF * acted.relative_fitness:
        return acted
    return replace(acted, relative_fitness=acted.relative_fitness + cost_of_differences(setting, evidence))
