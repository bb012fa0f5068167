"""A whole consortium in one process: the transport, the owners and the rule together do what the equations say."""

import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput
from copriv.losses.passes import clipped_average_gradient
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.planning.training_plan import design
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.rules.paper import CentralStep
from copriv.runtime.local import Watch, assemble, measure, run
from copriv.schedule.trace import Trace


@pytest.fixture(scope="module")
def intake():
    frame = lending_like.generate(7000, np.random.default_rng(0)).sample(fraction=1, shuffle=True, seed=0)
    plan = LoadSpec(TargetChoice("int_rate"), Partition(owners=4, records_per_owner=1000), features=6, public_rows=3000)
    return load_consortium(frame.lazy(), plan)


def _wishes(**changes):
    given = {"guarantees": tuple(Guarantee.of(5) for _ in range(4)), "seed": 3, "horizon": 200}
    return TrainingSpec(**(given | changes))


def _ledger(owner, commitment):
    return MemoryLedger(
        begin(owner.name, "simulated", commitment.calibration.guarantee, commitment.calibration.accountant)
    )


def _train(intake, study, noise, seed=3):
    consortium = assemble(intake, study, noise=noise, seed=seed, make_ledger=_ledger)
    watch = Watch(len(study.trace))
    for iteration in run(consortium, study, "run"):
        watch.see(iteration, study.rule.model(iteration.state))
    return consortium, watch, iteration.state.central


def test_without_noise_the_consortium_is_algorithm_1(intake):
    """Bytes, ledgers and owners in between change nothing, to the last bit."""
    study = design(intake, _wishes())
    _, _, model = _train(intake, study, "none")
    state = study.rule.begin()
    for meeting in study.trace:
        commitment, sample = study.commitments[meeting.owner], intake.owners[meeting.owner].sample
        theta = study.rule.question(state, meeting.owner)
        answer = clipped_average_gradient(commitment.objective.loss, sample, theta, commitment.clip, commitment.norm)
        state = study.rule.absorb(state, meeting.owner, answer)
    assert np.array_equal(study.rule.model(state), model)


def test_simulated_noise_repeats_and_secure_noise_does_not(intake):
    study = design(intake, _wishes())
    one, two, other = (_train(intake, study, "seeded", seed)[2] for seed in (3, 3, 4))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert not np.array_equal(_train(intake, study, "secure")[2], _train(intake, study, "secure")[2])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_nobody_spends_more_than_it_promised(intake, delta):
    guarantees = tuple(Guarantee.of(epsilon, delta) for epsilon in ("0.1", "1", "3", "10"))
    study = design(intake, _wishes(guarantees=guarantees, answers=20))
    consortium, watch, _ = _train(intake, study, "secure")
    for guarantee, commitment, ledger in zip(guarantees, study.commitments, consortium.ledgers, strict=True):
        answers = len(ledger.state().queries)
        assert answers == 20
        assert commitment.calibration.epsilon_after(answers) <= guarantee.epsilon
    assert {reason for _, reason in watch.refusals} == {"exhausted"}
    assert len(watch.refusals) == 200 - 4 * 20


def test_the_study_looks_at_public_rows_and_sizes_only(intake):
    """Other private records of the same sizes lead to the same terms, step and noise."""
    from dataclasses import replace

    from copriv.losses.sample import Sample

    flipped = tuple(
        replace(owner, sample=Sample(owner.sample.columns[:, ::-1].copy(), -owner.sample.targets))
        for owner in intake.owners
    )
    one, other = design(intake, _wishes()), design(replace(intake, owners=flipped), _wishes())
    assert one.terms == other.terms
    assert [p.calibration for p in one.commitments] == [p.calibration for p in other.commitments]


def test_the_pilot_beats_steps_far_from_its_own(intake):
    study = design(intake, _wishes())
    samples = [owner.sample for owner in intake.owners]

    def cost(**changes):
        other = design(intake, _wishes(clip=study.terms.clip, **changes))
        costs = []
        for seed in range(6):
            _, watch, model = _train(intake, other, "seeded", seed)
            costs.append(measure(other.terms.objective(), samples, other, watch, model).relative)
        return np.mean(costs)

    chosen = cost(step=study.terms.step)
    assert chosen < cost(step=study.terms.step / 30)
    assert chosen < cost(step=study.terms.step * 30)


def test_findings_are_measured_against_the_best_model(intake):
    study = design(intake, _wishes())
    _, watch, model = _train(intake, study, "seeded")
    found = measure(study.terms.objective(), [owner.sample for owner in intake.owners], study, watch, model)
    assert found.best_fitness <= found.fitness
    assert found.relative == pytest.approx(found.fitness / found.best_fitness - 1)
    assert found.cost_of_privacy == pytest.approx(found.fitness - found.best_fitness)
    assert all(alone >= 0 for alone in found.alone)
    assert [k for k, _ in found.path][-1] == 200
    assert found.path[-1][1] == pytest.approx(found.relative)


def test_rho_is_a_name_for_the_step(intake):
    by_step = design(intake, _wishes(step=0.05, clip=0.5))
    by_rho = design(intake, _wishes(rho=0.05 * 200**2 * 2e-5, clip=0.5))
    assert by_rho.terms.step == pytest.approx(by_step.terms.step)


def test_a_recorded_schedule_is_followed(intake):
    trace = Trace.of([0.0, 1.0, 5.0], [2, 2, 0], owners=4)
    study = design(intake, _wishes(trace=trace, central=CentralStep.PRINTED))
    consortium, _, _ = _train(intake, study, "none")
    assert [len(ledger.state().queries) for ledger in consortium.ledgers] == [1, 0, 2, 0]
    assert study.terms.horizon == 3


def test_owners_that_are_met_more_often_may_answer_more_often(intake):
    study = design(intake, _wishes(rates=(1.0, 1.0, 1.0, 7.0)))
    caps = [commitment.calibration.answers for commitment in study.commitments]
    assert caps[0] == caps[1] == caps[2] < caps[3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"guarantees": (Guarantee.of(1),) * 3}, "3 guarantees for 4 owners"),
        ({"rates": (1.0,)}, "1 rates for 4 owners"),
        ({"horizon": 0}, "horizon is 0"),
        ({"clip": 0.0}, "clip is 0"),
        ({"clip": -1.0}, "clip is -1"),
        ({"step": 0.0}, "step is 0"),
        ({"rho": float("nan")}, "rho is nan"),
        ({"limit": -2.0}, "limit is -2"),
        ({"answers": 0}, "0 answers"),
        ({"step": 0.1, "rho": 1.0}, "a step and a rho"),
        ({"trace": Trace.of([0.0], [0], owners=2)}, "for 2 owners"),
        ({"regularization": 0.0}, "regularization is 0"),
        ({"loss": "huber", "threshold": 0.0}, "threshold is 0"),
    ],
)
def test_impossible_wishes_are_refused(intake, changes, message):
    with pytest.raises(BadInput, match=message):
        design(intake, _wishes(**changes))


def test_a_single_owner_is_allowed():
    frame = pl.DataFrame({"x": np.linspace(0, 1, 200), "y": np.linspace(1, 3, 200) ** 2})
    plan = LoadSpec(TargetChoice("y"), Partition(owners=1), features=3, public_rows=80)
    alone = load_consortium(frame.sample(fraction=1, shuffle=True, seed=1).lazy(), plan)
    study = design(alone, _wishes(guarantees=(Guarantee.of(50),)))
    _, watch, model = _train(alone, study, "secure")
    found = measure(study.terms.objective(), [alone.owners[0].sample], study, watch, model)
    assert found.alone == pytest.approx((0.0,), abs=1e-9)
    assert study.commitments[0].calibration.answers == 200
