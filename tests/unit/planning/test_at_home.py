"""Join or not, by one's own records: the forecast of what joining brings there, and the words for it."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.forecast.forecast import Forecast
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.planning.advice import Advice
from copriv.planning.alone import Alone, Yardstick
from copriv.planning.at_home import AtHome
from copriv.planning.break_even import BreakEven, Turn
from copriv.planning.scenario import Scenario
from copriv.records.target import Target
from copriv.report.advice import explain

TRUTH = np.append(np.linspace(-0.8, 0.9, 9), 0.4)
OBJECTIVE = Objective(choose("squared"), 1e-6, 20.0)
RATE = Target("rate", "number", center=10.0, scale=5.0)
WHO = Scenario((100,) * 10)
TURNING = BreakEven(Turn(0.1, 0.5, None), Turn(2, 4, 7))


def rows(records, seed, truth=TRUTH):
    generator = np.random.default_rng(seed)
    found = np.hstack([generator.normal(size=(records, 9)) / 3, np.full((records, 1), 0.5)])
    return Sample.of_rows(found, found @ truth + 0.3 * generator.normal(size=records))


def advise(public, own, joint, *, alike=True, fits=True, seed=0, truth=TRUTH):
    """An owner, public rows, and a joint model whose ψ is forecast to be `joint`, give or take a fifth."""
    ruler = Yardstick.of(rows(public, 100 + seed), OBJECTIVE)
    home = AtHome.of(rows(own, seed, truth), ruler, RATE, alike=alike)
    alone = Alone(0.1, 0.01, ruler.excess_risk_rate / public / ruler.fitness)
    return home.advise(Advice(alone, Forecast(joint, 0.1 * joint, 0.0)), ruler, fits=fits)


def test_few_public_rows_and_a_good_joint_model_promise_a_gain():
    found = [advise(30, 40, 1e-4, seed=seed) for seed in range(10)]
    assert np.mean([each.gain for each in found]) > 0.05
    sure = replace(found[0], gain_interval=(0.01, 0.2))
    assert (sure.advice, replace(sure, gain_interval=(-0.2, -0.01)).advice) == ("join", "stay")
    words = explain(sure, TURNING, WHO)
    assert words.startswith("Join: with 10 owners at ε = 1, ")
    assert "join if ε ≥ 0.5 (0.1 to more than 100)" in words
    assert "join if at least 3 others of your size do (1 to 6)" in words


def test_what_is_forecast_of_the_joint_model_comes_true_on_new_records():
    """The loss of the best model on new records, against what is foretold for a joint model that is nearly that."""
    found = [advise(60, 300, 1e-4, seed=seed) for seed in range(20)]
    best = 0.09
    assert np.mean([each.losses["joint"] for each in found]) == pytest.approx(best, rel=0.05)
    assert np.mean([each.known.losses["public"] for each in found]) > 1.1 * best


def test_a_joint_model_that_noise_has_spoilt_is_none():
    found = advise(5000, 500, 0.5)
    assert found.advice == "stay"
    assert found.known.without == "public"
    words = explain(found, TURNING, WHO)
    assert words.startswith("Stay: use the public model, spend nothing.")


def test_a_gain_that_nobody_could_see_is_too_close_to_call():
    found = advise(5000, 500, 1e-5)
    assert found.advice == "either"
    assert explain(found, TURNING, WHO).startswith("Too close to call: use the public model, spend nothing.")


def test_many_own_records_leave_little_to_gain():
    many, few = (np.mean([advise(40, own, 1e-4, seed=seed).gain for seed in range(5)]) for own in (5000, 50))
    assert many < 0.01 < few
    assert advise(40, 20_000, 1e-4, truth=TRUTH + 1.0, alike=False).known.without in ("own", "own_public")


def test_whoever_sees_that_public_rows_do_not_fit_is_not_told_to_join():
    found = replace(advise(30, 40, 1e-4), gain_interval=(0.01, 0.2))
    assert replace(found, fits=False).advice == "either"
    words = explain(replace(found, fits=False), BreakEven(Turn(None, None, None), Turn(40, None, None)), WHO)
    assert words.startswith("These public rows do not fit, so do not decide by them: with 10 owners")
    assert "do not join at any ε up to 100" in words
    assert "may pay from 39 on" in words


def test_rows_that_differ_leave_open_what_others_bring():
    """If the public rows are of another population, the joint model may be far better than they foretell."""
    alike, other = (advise(2000, 300, 0.5, alike=alike) for alike in (True, False))
    assert alike.advice == "stay"
    assert other.advice == "either"
    assert other.known.without == "public"


@pytest.mark.parametrize("fits", [True, False])
def test_an_owner_with_a_far_better_model_of_its_own_stays(fits):
    """The joint model as it is would be worse; that a personal one might be a little better does not count."""
    found = advise(2000, 600, 1e-4, alike=False, fits=fits, truth=TRUTH + 1.0)
    assert found.known.without in ("own", "own_public")
    assert found.joint_interval[1] < 0 < found.gain_interval[1]
    assert found.advice == "stay"
    words = explain(found, TURNING, WHO)
    assert words.startswith("Stay: use a model of your own records")
    assert "the joint model should change your loss by +" in words
    # The twin that minds the better of the two only decides nothing.
    assert replace(found, joint_interval=found.gain_interval).advice == "either"
