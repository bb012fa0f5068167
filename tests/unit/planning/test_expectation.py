"""The forecast of a setting: the noise of the commitment, moments where they hold, simulations where they do not."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.forecast.at_setting import cost_of_differences
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.choose import choose as choose_loss
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise_freely
from copriv.losses.sample import Sample
from copriv.planning.expectation import expect, with_standard_error
from copriv.planning.outline import outline_of
from copriv.planning.public_simulation import simulate_on_public
from copriv.planning.scenario import Scenario
from copriv.planning.search import work_out
from copriv.planning.training_spec import TrainingSpec
from copriv.protocol.commitment import make_commitments

SPEC = TrainingSpec(guarantees=(), regularization=1e-4, horizon=150, limit=50.0)


@pytest.fixture(scope="module")
def public():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(2000, 3)) / 3
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, np.clip(rows @ [0.5, -0.4, 0.3] + 0.1 * generator.normal(size=2000), -1, 1))


def evidence_of(public, limit=50.0, loss="squared", threshold=0.0):
    kind = choose_loss(loss, threshold)
    return PublicEvidence(public, Objective(kind, 1e-4, limit), minimise_freely(kind, 1e-4, public))


def candidate(public, scenario, evidence=None, **changes):
    evidence = evidence or evidence_of(public, changes.get("limit", 50.0))
    spec = replace(SPEC, **changes)
    outline = outline_of(scenario, evidence, spec)
    return outline, work_out(outline, spec.rule)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("rule", ["newton", "statistics", "averaged", "paper"])
def test_the_noise_is_that_of_the_commitment(public, rule, delta):
    scenario = Scenario((1500, 300, 700), epsilon=(0.7, 1, 2), delta=delta)
    _, found = candidate(public, scenario, rule=rule, clip=None if rule == "statistics" else 0.25, step=0.1, answers=7)
    commitments = make_commitments(found.setting.terms, found.setting.owners, found.setting.accountant)
    promised = [commitment.calibration.mechanism.noise_std for commitment in commitments]
    np.testing.assert_allclose(found.setting.noise_std, promised, rtol=1e-6)
    assert commitments[0].clip == found.setting.clip


@pytest.mark.parametrize("rule", ["paper", "averaged"])
def test_where_nothing_binds_a_simulation_agrees_with_the_moments(public, rule):
    scenario = Scenario((1500,) * 4, epsilon=20)
    outline, found = candidate(public, scenario, rule=rule, clip=2.0, step=0.5)
    assert not found.forecast.caveats
    acted = simulate_on_public(found.setting, outline.evidence, (), 200, 1)
    more = cost_of_differences(found.setting, outline.evidence)
    assert acted.relative_fitness + more == pytest.approx(found.relative_fitness, rel=0.15)
    assert acted.deviation == pytest.approx(found.forecast.deviation, rel=0.35)


def test_where_the_box_binds_the_simulation_takes_over_and_says_so(public):
    loud = Scenario((300,) * 4, epsilon=0.3)
    _, tight = candidate(public, loud, rule="paper", step=0.8, clip=2.0, limit=0.6)
    assert "box" in tight.forecast.caveats[0]
    assert "simulated" in tight.forecast.caveats[-1]
    _, free = candidate(public, loud, rule="paper", step=0.8, clip=2.0, limit=1e6)
    assert tight.relative_fitness < 0.7 * free.relative_fitness


def test_where_the_clip_binds_the_simulation_takes_over_and_says_so(public):
    _, found = candidate(public, Scenario((1500,) * 4, epsilon=5), rule="averaged", clip=0.03)
    assert any("clip" in caveat for caveat in found.forecast.caveats)
    assert "simulated" in found.forecast.caveats[-1]


def test_where_owners_answer_less_often_than_they_are_asked_it_is_said(public):
    common = {"rule": "paper", "clip": 2.0, "step": 0.5}
    _, found = candidate(public, Scenario((1500,) * 4, epsilon=20), answers=5, **common)
    assert any("asked more often" in caveat for caveat in found.forecast.caveats)
    _, free = candidate(public, Scenario((1500,) * 4, epsilon=20), **common)
    assert not free.forecast.caveats


def test_too_few_public_rows_for_a_standard_error_are_said(public):
    few = Sample.of_rows(public.columns[:, :4].T, public.targets[:4])
    evidence = evidence_of(few)
    assert not evidence.enough
    _, found = candidate(public, Scenario((1500,) * 4, epsilon=20), evidence, rule="averaged", clip=2.0, step=0.1)
    complete = with_standard_error(found.forecast, found.setting, evidence, 0)
    assert any("too few public rows" in caveat for caveat in complete.caveats)
    assert np.isfinite(complete.relative_fitness)


def test_without_public_rows_nothing_is_forecast(public):
    _, found = candidate(public, Scenario((1500,) * 4, epsilon=20), rule="averaged", clip=2.0, step=0.1)
    unknown = with_standard_error(expect(found.setting, None, 0), found.setting, None, 0)
    assert np.isnan(unknown.relative_fitness)
    assert "without public rows" in unknown.caveats[0]


def test_evaluations_leave_less_to_training(public):
    _, found = candidate(public, Scenario((1500,) * 4, epsilon=5), rule="newton")
    terms = msgspec.structs.replace(found.setting.terms, evaluations=2, evaluation_share=0.5, loss_bound=1.0)
    dearer = expect(replace(found.setting, terms=terms), evidence_of(public), 0)
    assert dearer.relative_fitness > 1.05 * found.relative_fitness
    assert replace(found.setting, terms=terms).noise_std[0] == pytest.approx(2 * found.setting.noise_std[0], rel=1e-6)


@pytest.mark.parametrize("rule", ["newton", "statistics", "averaged", "paper"])
def test_the_standard_error_falls_with_public_rows(public, rule):
    few = Sample.of_rows(public.columns[:, :200].T, public.targets[:200])
    settled = {} if rule in ("newton", "statistics") else {"clip": 2.0, "step": 0.5}
    shares = []
    for rows in (few, public):
        evidence = evidence_of(rows)
        outline, found = candidate(rows, Scenario((1500,) * 4, epsilon=1), evidence, rule=rule, **settled)
        complete = with_standard_error(found.forecast, found.setting, outline.evidence, 0)
        shares.append(complete.standard_error / complete.relative_fitness)
    assert 0 < shares[1] < shares[0] <= 1
