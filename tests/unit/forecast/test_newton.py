"""What is foreseen on the public rows: the clip falls with the noise, and the foreseen ψ is the one that comes."""

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.forecast import newton
from copriv.forecast.newton import NewtonForecast, best_prediction
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.rules.public_moments import PublicMoments
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)


def population(records, seed, parameters=5, *, heavy=True):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, parameters)) / 4
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    noise = 0.05 * (generator.standard_t(4, size=records) if heavy else generator.normal(size=records))
    return Sample.of_rows(rows, np.clip(rows @ np.linspace(-0.5, 0.5, parameters) + noise, -1, 1))


def foresee(deviation, owners=5, answers=(1, 2)):
    return best_prediction(
        population(5000, 0),
        OBJECTIVE,
        records=[5000] * owners,
        deviations={k: [k * deviation] * owners for k in answers},
        norm=Norm.L1,
    )


def test_more_noise_means_a_smaller_clip_and_a_higher_cost():
    predictions = [foresee(deviation) for deviation in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)]
    clips, costs = [p.clip for p in predictions], [p.cost for p in predictions]
    assert clips == sorted(clips, reverse=True)
    assert clips[0] > 2 * clips[-1]
    assert costs == sorted(costs)


def test_a_second_answer_is_asked_for_only_where_noise_is_small():
    assert foresee(1e-7, owners=2).answers == 2
    assert foresee(1e-2, owners=2).answers == 1


def regrets(public, clips):
    """What the best of these clips is expected to cost, over the best of very many, from little noise to much."""
    chosen, many = (
        NewtonForecast.of(public, OBJECTIVE, Norm.L1, clips=some)
        for some in (clips, np.geomspace(min(clips), max(clips), 60).tolist())
    )
    noises = [{1: [deviation] * 10} for deviation in np.geomspace(1e-5, 1e-2, 13)]
    return [chosen.best([10_000] * 10, noise).cost / many.best([10_000] * 10, noise).cost for noise in noises]


def test_no_clip_between_those_to_choose_from_is_much_better_as_it_is_between_quantiles():
    public = population(10_000, 0)
    lengths = gradient_norms(OBJECTIVE.loss, public, minimise(OBJECTIVE, public), Norm.L1)
    quantiles = np.quantile(lengths, (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)).tolist()
    longest = quantiles[-1]
    assert max(regrets(public, NewtonForecast.of(public, OBJECTIVE, Norm.L1).clips)) < 1.15
    assert max(regrets(public, [*quantiles, 1.25 * longest, 1.6 * longest])) > 1.2


def said_and_true(public, everybody, quantile):
    """What a clip at a quantile of public gradients is said to hide, and what it hides of everybody's records."""
    theta = minimise(OBJECTIVE, public)
    clip = float(np.quantile(gradient_norms(OBJECTIVE.loss, public, theta, Norm.L1), quantile))
    said = NewtonForecast.of(public, OBJECTIVE, Norm.L1, theta, clips=(clip,)).hidden[0]
    return said, PublicMoments.of(everybody, OBJECTIVE, clip, Norm.L1).unexplained


def test_what_a_clip_hides_is_hardly_underrated_though_the_same_rows_place_it(monkeypatch):
    everybody, publics = population(30_000, 999, heavy=False), [population(1000, k, heavy=False) for k in range(60)]

    def said_over_true():
        said, true = np.mean([said_and_true(public, everybody, 0.997) for public in publics], axis=0)
        return said / true

    assert 0.75 < said_over_true() < 1.1
    monkeypatch.setattr(newton, "_hidden", lambda unexplained, _beyond: unexplained)
    assert said_over_true() < 0.7


def test_what_is_hidden_cannot_be_explained_so_that_loud_noise_does_not_ask_for_a_long_clip(monkeypatch):
    assert foresee(1e3).clip < 0.2
    monkeypatch.setattr(newton, "kept", lambda _more, _explained: 1.0)
    assert foresee(1e3).clip > 1


def test_clips_go_from_most_gradients_to_beyond_the_longest_and_are_never_many():
    clips = newton.ladder(np.linspace(0.0, 1.0, 1001))
    assert clips == sorted(clips)
    assert 0.8 / 1.25 <= clips[0] <= 0.8
    assert clips[-1] == pytest.approx(1.25**2, rel=0.01)
    assert len(newton.ladder(np.append(np.zeros(99), 1.0))) == 30
    assert len(newton.ladder(np.zeros(9))) == 1


@pytest.mark.parametrize(("rows", "beyond"), [(10_000, 2), (1000, 2), (200, 4), (50, 5), (20, 6)])
def test_the_longest_of_few_rows_is_not_taken_for_long(rows, beyond):
    lengths = np.linspace(0.0, 1.0, rows)
    assert newton.ladder(lengths)[-1] == pytest.approx(1.25**beyond, rel=0.01)
    low, high = newton.tail_knots(lengths)
    assert low == pytest.approx(1 - max(0.01, min(10 / rows, 0.2)), abs=0.01)
    assert low < high < 1


def test_with_noise_beyond_everything_the_public_model_is_foreseen():
    public = population(5000, 0)
    prediction = foresee(1e3)
    assert prediction.cost == pytest.approx(public.parameters * (1 / 5000 + 1 / 25_000), rel=0.3)


def test_no_clip_hides_nothing_and_a_hard_one_much():
    public = population(5000, 0)
    free, hard = (PublicMoments.of(public, OBJECTIVE, clip, Norm.L2) for clip in (1e9, 0.01))
    assert free.unexplained == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(free.sampled @ free.basis.T, np.eye(5), atol=1e-9)
    assert hard.unexplained > 1e-3 * OBJECTIVE.fitness(public, free.start)
    assert np.all(np.diag(hard.sampled @ hard.basis.T) > 1.5)


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(BadInput):
        foresee(1.0, answers=())


def test_stale_answers_cost_less_if_owners_are_asked_again_or_near_the_end():
    near, far = newton._distances(10_000, [250_000] * 3), newton._distances(10_000, [1000] * 3)
    assert near[0] == pytest.approx(1 / 10_000 - 1 / 760_000)
    assert np.all(np.diff(near) < 0)
    once, twice = (newton._staleness(1.0, 1e-3, near, answers) for answers in (1, 2))
    assert 0 < twice < once / 4 * 1.01
    assert newton._staleness(1.0, 1e-9, near, 2) < newton._staleness(1.0, 1e-3, near, 2)
    assert newton._staleness(1.0, 1e-3, far[:1], 1) == pytest.approx(far[0])


def test_a_cost_has_a_deviation_that_grows_with_it():
    quiet, loud = foresee(1e-3), foresee(1e-1)
    assert 0 < quiet.deviation < loud.deviation
    assert 0.2 < loud.deviation / loud.cost < 1.5


def _clip_under(shifts, deviation, owners=5):
    forecast = NewtonForecast.of(population(5000, 0), OBJECTIVE, Norm.L1)
    return forecast.best_clip([5000] * owners, [deviation] * owners, shifts)


def test_without_shifts_the_clip_is_nearly_that_of_one_answer_each():
    """Nothing is asked twice, nothing goes stale: at most one step of the ladder from the clip for K = 1."""
    for deviation in (1e-5, 1e-3, 1e-1):
        chosen, foreseen = _clip_under({0.0: 1.0}, deviation), foresee(deviation, answers=(1,)).clip
        assert chosen / foreseen < newton.STEP * 1.01
        assert foreseen / chosen < newton.STEP * 1.01


def test_a_clip_over_shifts_is_longer_where_shifts_are_likely_and_noise_is_small():
    clips = [_clip_under({0.0: 1 - chance, 1.0: chance}, 1e-3) for chance in (0.0, 0.5, 1.0)]
    assert clips == sorted(clips)
    assert clips[-1] > clips[0]
    noisier = [_clip_under({0.0: 0.5, 0.1: 0.5}, deviation) for deviation in (1e-5, 1e-3, 1e-1)]
    assert noisier == sorted(noisier, reverse=True)
    assert noisier[0] > noisier[-1]


@pytest.mark.parametrize("owners", [5, 10, 40])
@pytest.mark.parametrize("deviation", [1e-5, 1e-2])
def test_with_laplace_noise_the_clip_is_a_little_longer(owners, deviation):
    forecast = NewtonForecast.of(population(5000, 0), OBJECTIVE, Norm.L1)
    asked = [5000] * owners, [deviation] * owners, {0.0: 0.5, 0.1: 0.5}
    plain, longer = (forecast.best_clip(*asked, laplace=laplace) for laplace in (False, True))
    assert 1.08 < longer / plain < 1.16


def test_few_public_rows_have_no_longer_clip():
    """Of five numbers: fewer than 100."""
    asked = [5000] * 5, [1e-2] * 5, {0.0: 0.5, 0.1: 0.5}
    for rows, is_longer in ((99, False), (100, True)):
        forecast = NewtonForecast.of(population(rows, 0), OBJECTIVE, Norm.L1)
        assert (forecast.best_clip(*asked, laplace=True) > forecast.best_clip(*asked)) == is_longer


def test_a_clip_over_shifts_moves_little_where_noise_changes_little():
    """By steps of its own, not by those of the ladder."""
    forecast = NewtonForecast.of(population(5000, 0), OBJECTIVE, Norm.L1)
    noises, shifts = np.geomspace(1e-4, 1e-2, 60), {0.0: 0.5, 0.1: 0.5}
    clips = [forecast.best_clip([5000] * 5, [noise] * 5, shifts) for noise in noises]
    steps = np.asarray(clips[:-1]) / np.asarray(clips[1:])
    assert np.all((steps > 1 / 1.04) & (steps < newton.STEP**0.75))
    assert clips[0] > 1.5 * clips[-1]


@pytest.mark.parametrize(
    ("places", "lowest"), [((0, 1, 2.5, 3), 1.3), ((0, 1, 2), 1.3), ((2, 3, 4), 2), ((-2, -1, 0), 0)]
)
def test_the_lowest_place_is_that_of_the_parabola_or_the_end(places, lowest):
    known = np.asarray(places, dtype=np.float64)
    assert np.log(newton._lowest(known, 2 * (known - 1.3) ** 2 + 1)) == pytest.approx(lowest)


def test_a_clip_over_shifts_has_nearly_the_least_expected_logarithm():
    forecast = NewtonForecast.of(population(5000, 0), OBJECTIVE, Norm.L1)
    shifts, sizes = {0.0: 0.6, 0.01: 0.3, 1.0: 0.1}, np.array([0.0, 0.01, 1.0])
    chosen = forecast.best_clip([5000] * 5, [1e-3] * 5, shifts)
    costs = [
        np.log(forecast._shifted_costs(place, [5000] * 5, clip * np.full(5, 1e-3), sizes)) @ [0.6, 0.3, 0.1]
        for place, clip in enumerate(forecast.clips)
    ]
    assert abs(np.log(chosen / forecast.clips[int(np.argmin(costs))])) < np.log(newton.STEP)
    assert np.all(np.diff(forecast._shifted_costs(0, [5000] * 5, np.full(5, 1e-3), np.geomspace(1e-3, 10, 9))) > 0)
