"""Simulation over records: a run without noise is the live run, to the last bit."""

import numpy as np
import pytest
from scipy import stats

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.planning.training_plan import design
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.rules.paper import PaperRule
from copriv.runtime.local import Watch, assemble, measure, run
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate
from copriv.simulation.recorded import RecordOwners, simulate_records
from copriv.vectors import Norm


@pytest.fixture(scope="module")
def intake():
    frame = lending_like.generate(4000, np.random.default_rng(0)).sample(fraction=1, shuffle=True, seed=0)
    plan = LoadSpec(TargetChoice("int_rate"), Partition(owners=3, records_per_owner=700), features=5, public_rows=1500)
    return load_consortium(frame.lazy(), plan)


def _study(intake, **changes):
    given = {"guarantees": (Guarantee.of(20),) * 3, "seed": 3, "horizon": 120, "step": 0.4}
    return design(intake, TrainingSpec(**(given | changes)))


def _live(intake, study, noise, seed, most=1000):
    def ledger(owner, commitment):
        return MemoryLedger(begin(owner.name, "simulated", commitment.calibration.guarantee))

    consortium = assemble(intake, study, noise=noise, seed=seed, make_ledger=ledger)
    watch = Watch(len(study.trace), most=most)
    for iteration in run(consortium, study, "run"):
        watch.see(iteration, study.rule.model(iteration.state))
    samples = [owner.sample for owner in intake.owners]
    return measure(study.terms.objective(), samples, study, watch, iteration.state.central), iteration.state.central


def _simulated(intake, study, noise, runs, seed, trace=None, every=1):
    commitment = study.commitments[0]
    return simulate_records(
        study.rule,
        RecordOwners(
            study.terms.objective(), [owner.sample for owner in intake.owners], commitment.clip, commitment.norm
        ),
        noise,
        horizon=len(study.trace),
        runs=runs,
        seed=seed,
        trace=trace,
        every=every,
    )


def test_the_same_trace_without_noise_gives_the_live_run_to_the_last_bit(intake):
    study = _study(intake)
    findings, model = _live(intake, study, "none", 0)
    paths = _simulated(intake, study, Noise.none(3, 120), 2, 0, study.trace)
    assert np.array_equal(paths.models[0], model)
    assert np.array_equal(paths.models[1], model)
    assert paths.psi[0].tolist() == [psi for _, psi in findings.path]
    other = _study(intake, clip=study.terms.clip * 0.9)
    assert not np.array_equal(_simulated(intake, other, Noise.none(3, 120), 1, 0, study.trace).models[0], model)


def test_noisy_runs_have_the_distribution_of_live_ones(intake):
    """Two-sample Kolmogorov–Smirnov on ψ at the end, level 1e-3, fixed seeds; twice the noise is told apart."""
    study = _study(intake, guarantees=(Guarantee.of(2),) * 3, horizon=60, limit=1000.0)
    live = [_live(intake, study, "seeded", seed, most=1)[0].relative for seed in range(60)]
    calibration = study.commitments[0].calibration

    def ends(scale):
        noise_std = np.full(3, scale * calibration.mechanism.noise_std)
        noise = Noise("laplace", noise_std, np.full(3, calibration.answers, dtype=np.int64))
        return _simulated(intake, study, noise, 200, 1, study.trace, every=60).psi[:, -1]

    assert stats.ks_2samp(live, ends(1.0)).pvalue > 1e-3
    assert stats.ks_2samp(live, ends(2.0)).pvalue < 1e-3


def test_without_clipping_it_agrees_with_sufficient_statistics(intake):
    samples = [owner.sample for owner in intake.owners]
    rule = PaperRule(6, (700,) * 3, (1 / 3,) * 3, 0.3, 1e-4, 50.0)
    noise = Noise("gaussian", np.full(3, 0.05), np.full(3, 20, dtype=np.int64))
    fast = simulate(rule, [SufficientStatistics.of(s) for s in samples], noise, horizon=80, runs=3, seed=4)
    slow = simulate_records(
        rule,
        RecordOwners(Objective(choose("squared"), 1e-4, 50.0), samples, clip=1e6, norm=Norm.L2),
        noise,
        horizon=80,
        runs=3,
        seed=4,
        every=10,
    )
    np.testing.assert_array_equal(fast.met, slow.met)
    np.testing.assert_array_equal(fast.answers, slow.answers)
    np.testing.assert_allclose(fast.psi[:, 9::10], slow.psi, atol=1e-9)


@pytest.mark.parametrize("loss", ["huber", "logistic"])
def test_other_losses_run(make_sample, loss):
    samples = [make_sample(records=300, seed=seed, labels=loss == "logistic") for seed in range(2)]
    rule = PaperRule(4, (300, 300), (0.5, 0.5), 0.5, 1e-4, 10.0)
    paths = simulate_records(
        rule,
        RecordOwners(Objective(choose(loss, 0.2), 1e-4, 10.0), samples, clip=10.0, norm=Norm.L2),
        Noise.none(2, 400),
        horizon=400,
        runs=2,
        seed=1,
        every=100,
    )
    assert np.all(paths.psi[:, -1] < 0.5 * paths.psi[:, 0] + 1e-3)
