"""Join or stay alone: the advice agrees with what is measured when everybody's records are at hand."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import verdicts
from benchmarks.verdicts import Trial, tally
from tests import shifted

from copriv.errors import BadInput
from copriv.forecast.forecast import Forecast
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.planning.advice import Advice, Adviser
from copriv.planning.alone import Alone, Yardstick
from copriv.planning.break_even import break_even, least_epsilon, least_owners
from copriv.planning.outline import outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose as choose_candidate
from copriv.planning.training_spec import TrainingSpec
from copriv.records import lending_like
from copriv.records.fit_features import fit_dictionary
from copriv.records.target import TargetChoice
from copriv.simulation.cost import Scene

PUBLIC = 4000
OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)
SPEC = TrainingSpec(guarantees=(), rule="auto", limit=50.0)
# Small owners gain at any ε here, large ones only if ε is not tiny.
CASES = ((400, 6, 10.0), (20_000, 3, 0.005), (20_000, 3, 3.0), (4000, 8, 0.002))


@pytest.fixture(scope="module")
def loans():
    """Many loans, the public ones first."""
    frame = lending_like.generate(90_000, np.random.default_rng(3)).sample(fraction=1, shuffle=True, seed=3)
    dictionary, _ = fit_dictionary(frame.head(PUBLIC), TargetChoice("int_rate"), 6)
    return dictionary.features_of(frame), dictionary.targets_of(frame)


def part(loans, first, size):
    rows, targets = loans
    return Sample.of_rows(rows[first : first + size], targets[first : first + size])


def scene(loans, size, owners):
    samples = [part(loans, PUBLIC + i * size, size) for i in range(owners)]
    return Scene.of(OBJECTIVE, samples, part(loans, 0, PUBLIC))


@pytest.fixture(scope="module", autouse=True)
def _measured_once():
    """What trainings cost does not depend on who judges: it is simulated once for all verdicts."""
    measure, known = verdicts.newton_costs, {}

    def remember(scene, protection, *, runs, seed):
        key = id(scene), repr(protection), runs, seed
        if key not in known:
            known[key] = measure(scene, protection, runs=runs, seed=seed)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "newton_costs", remember)
        yield


@pytest.fixture(scope="module")
def trials(loans):
    return [(Trial.of(scene(loans, size, owners)), epsilon) for size, owners, epsilon in CASES]


def agrees(trials, judge=None):
    """The acceptance: at least 90 % of the decided verdicts are right, and enough are decided to count."""
    pairs = []
    for trial, epsilon in trials:
        asked = trial if judge is None else replace(trial, judge=judge(trial))
        pairs.extend(asked.pairs(epsilon, 5, 1))
    found = tally(pairs)
    return found["decided"] > 0.5 and found["agree"] >= 0.9


def test_the_advice_agrees_with_what_is_measured(trials):
    assert agrees(trials)
    told = {pair.verdict.advice for trial, epsilon in trials for pair in trial.pairs(epsilon, 2, 1)}
    assert {"join", "stay"} <= told


def without_noise(trial):
    """A broken twin: as if privacy cost nothing."""
    return lambda own, scenario: trial.judge(own, scenario.with_largest_epsilon(1000))


def on_own_records(trial):
    """A broken twin: on the records that it was fitted to, an own model has ψ = 0."""

    def judge(own, scenario):
        found = trial.judge(own, scenario)
        return replace(
            found, alone=Alone(found.alone.psi * 1e-3, found.alone.standard_error * 1e-3, found.alone.public)
        )

    return judge


def abstaining(trial):
    """A broken twin: never wrong, as it never says anything."""

    def judge(own, scenario):
        found = trial.judge(own, scenario)
        return replace(found, alone=replace(found.alone, standard_error=100 * found.alone.psi))

    return judge


def the_other_way_round(trial):
    """A broken twin: joint and own model mixed up."""

    def judge(own, scenario):
        found = trial.judge(own, scenario)
        joint = Forecast(found.alone.psi, found.alone.standard_error, 0.0)
        return Advice(Alone(found.joint.relative_fitness, found.joint.deviation, found.alone.public), joint)

    return judge


@pytest.mark.parametrize("twin", [without_noise, on_own_records, abstaining, the_other_way_round])
def test_broken_verdicts_are_caught(trials, twin):
    assert not agrees(trials, twin)


def test_the_estimate_of_ones_own_model_is_as_good_as_it_says(loans):
    """Over many owners of several sizes: no bias, and errors as large as their standard errors."""
    for size, owners in ((300, 60), (3000, 20)):
        everybody = scene(loans, size, owners)
        ruler = Yardstick.of(everybody.public, OBJECTIVE)
        found = [ruler.judge(ruler.look_at(own), (size,) * (owners - 1)) for own in everybody.samples]
        truth = np.asarray([everybody.psi(minimise(OBJECTIVE, own)) for own in everybody.samples])
        estimate, error = np.asarray([[each.psi, each.standard_error] for each in found]).T
        assert estimate.mean() == pytest.approx(truth.mean(), rel=0.2)
        assert 0.5 < np.sqrt(np.mean(((estimate - truth) / error) ** 2)) < 1.6
        # The twin that subtracts nothing for the public rows' own chance is off by more.
        raw = np.asarray([ruler.look_at(own).cost for own in everybody.samples]) / everybody.best
        assert np.mean((np.log(raw / truth)) ** 2) > np.mean((np.log(estimate / truth)) ** 2)


def test_an_owner_unlike_the_public_rows_is_seen(loans):
    everybody = scene(loans, 2000, 4)
    ruler, own = Yardstick.of(everybody.public, OBJECTIVE), everybody.samples[0]
    usual = ruler.judge(ruler.look_at(own), (2000,) * 3)
    odd = ruler.look_at(Sample(own.columns, np.clip(own.targets + 0.2, -1, 1)))
    assert ruler.judge(odd, (2000,) * 3).psi > 10 * usual.psi


def test_larger_others_and_others_of_ones_own_size_make_a_difference(loans):
    everybody = scene(loans, 2000, 4)
    adviser = Adviser.of(everybody.public, SPEC)
    own = adviser.yardstick.look_at(everybody.samples[0])
    small, large = (adviser.judge(own, Scenario((2000, *(size,) * 3), 0.3)).joint for size in (2000, 50_000))
    assert large.relative_fitness < 0.5 * small.relative_fitness
    with pytest.raises(BadInput, match="consortium of one"):
        adviser.judge(own, Scenario((2000,)))
    with pytest.raises(BadInput, match="which nobody of the scenario has"):
        adviser.judge(own, Scenario((1000, 1000)))


def test_the_interval_is_the_forecasts_own(loans):
    everybody = scene(loans, 2000, 4)
    adviser = Adviser.of(everybody.public, SPEC)
    own, who = adviser.yardstick.look_at(everybody.samples[0]), Scenario((2000,) * 4)
    verdict = adviser.judge(own, who)
    assert verdict.interval == verdict.joint.under(verdict.shifts)
    assert verdict.interval[0] <= verdict.joint.interval[0] < verdict.joint.interval[1] <= verdict.interval[1]
    assert verdict.joint == choose_candidate(outline_of(who, adviser.evidence, SPEC)).forecast
    glance = adviser.glance(own, who, adviser.joint(who))
    assert glance.joint.relative_fitness == verdict.joint.relative_fitness
    assert glance.joint.standard_error == pytest.approx(verdict.joint.standard_error)


def test_public_rows_from_elsewhere_make_nobody_join_for_certain():
    """Owners alike, and public rows of another population: the twin that believes in them is confident, and wrong."""
    samples, wrong = shifted.strangers(4), {"now": 0, "twin": 0}
    everybody = Scene.of(shifted.OBJECTIVE, samples, shifted.population(2000, 0))
    trial = Trial.of(everybody)
    for pair in trial.pairs(0.05, 3, 1):
        believing = replace(pair.verdict, joint=replace(pair.verdict.joint, doubt=0.0, shifts=None), shifts=None)
        for name, advice in (("now", pair.verdict), ("twin", believing)):
            wrong[name] += advice.advice == "join" and not pair.pays
        assert pair.verdict.expected > pair.verdict.joint.relative_fitness
        assert pair.verdict.alone.least < pair.verdict.alone.psi
    assert wrong["now"] == 0
    assert wrong["twin"] >= 6


def test_whoever_sees_that_public_rows_do_not_fit_is_not_told_to_join():
    clear = Advice(Alone(1e-2, 1e-4, 2e-3), Forecast(1e-4, 1e-5, 0.0))
    assert (clear.advice, replace(clear, fits=False).advice) == ("join", "either")


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_verdict_turns_at_the_break_even(loans, loss):
    rows, targets = loans
    values = np.sign(targets - 0.01) if loss == "logistic" else targets
    taken = rows, values
    adviser = Adviser.of(part(taken, 0, PUBLIC), replace(SPEC, loss=loss))
    own, who = adviser.yardstick.look_at(part(taken, PUBLIC, 8000)), Scenario((8000,) * 4, 0.2)
    found = break_even(adviser, own, who)
    turn = found.epsilon
    assert turn.perhaps <= turn.expected <= turn.certain
    assert adviser.judge(own, who.with_largest_epsilon(1.2 * turn.expected)).expected_ratio < 1
    assert adviser.judge(own, who.with_largest_epsilon(turn.expected / 1.2)).expected_ratio > 1
    assert adviser.judge(own, who.with_largest_epsilon(1.2 * turn.certain)).advice == "join"
    owners = found.owners
    assert 2 <= owners.perhaps <= owners.expected <= owners.certain
    assert adviser.judge(own, Scenario((8000,) * owners.certain, 0.2)).ratio[1] < 1.02


def test_owners_that_promise_differently_are_scaled_together(loans):
    adviser = Adviser.of(part(loans, 0, PUBLIC), SPEC)
    own = adviser.yardstick.look_at(part(loans, PUBLIC, 8000))
    mixed, alike = Scenario((8000,) * 4, (0.2, 0.1, 0.1, 0.1)), Scenario((8000,) * 4, 0.2)
    turns = [break_even(adviser, own, who).epsilon.expected for who in (mixed, alike)]
    assert turns[0] > turns[1]


def test_break_even_points_are_found():
    assert least_epsilon(lambda epsilon: epsilon > 0.5) == pytest.approx(0.5, rel=0.05)
    assert least_epsilon(lambda _epsilon: False) is None
    assert least_epsilon(lambda _epsilon: True) == 1e-3
    for truth in (2, 3, 7, 50, 999, 1000):
        assert least_owners(lambda owners, truth=truth: owners >= truth) == truth
    assert least_owners(lambda _owners: False) is None
    assert least_owners(lambda _owners: True) == 2
