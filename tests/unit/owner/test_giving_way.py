"""A personal model that a plain one clearly beats at home gives way to it, and outliers do not choose models."""

import math

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.owner import comparison, own_models
from copriv.owner.comparison import cross_validate
from copriv.owner.outliers import tempered
from copriv.owner.own_models import Centres

OBJECTIVE = Objective(SquaredLoss(), 1e-5, 10.0)
TRUTH = np.append(np.linspace(-0.8, 0.9, 7), 0.4)
PLAIN = ("own", "own_public", "public", "joint")


def _owner(seed, records=120, noise=None, apart=0.15):
    """Records, and centres that lie a little apart from their truth; with Gaussian noise, or a noise of our own."""
    generator = np.random.default_rng(seed)
    rows = np.hstack([generator.normal(size=(records, TRUTH.size - 1)) / 3, np.full((records, 1), 0.5)])
    errors = 0.3 * generator.normal(size=records) if noise is None else noise(generator, records)
    centres = Centres(*(TRUTH + apart * generator.normal(size=TRUTH.size) * scale for scale in (2, 1)))
    return Sample.of_rows(rows, rows @ TRUTH + errors), centres


def _beaten(found):
    """By how many standard errors the personal model does worse at home than the best plain one."""
    best = min(PLAIN, key=lambda kind: found.losses[kind].mean())
    apart = found.difference("personal", best)
    return apart.value / apart.standard_error if apart.standard_error else 0.0


def test_no_personal_model_is_clearly_beaten_at_home(monkeypatch):
    owners = [_owner(seed) for seed in range(30)]
    found = [cross_validate(sample, OBJECTIVE, centres) for sample, centres in owners]
    assert max(map(_beaten, found)) <= comparison.TO_GIVE_WAY
    monkeypatch.setattr(comparison, "TO_GIVE_WAY", math.inf)
    twins = [cross_validate(sample, OBJECTIVE, centres) for sample, centres in owners]
    assert max(map(_beaten, twins)) > 1.5


def test_what_gives_way_is_the_other_model_in_every_respect():
    seen = set()
    for seed in range(30):
        sample, centres = _owner(seed, apart=(0.15, 0.6)[seed % 2])
        found = cross_validate(sample, OBJECTIVE, centres)
        same = [kind for kind in PLAIN if np.array_equal(found.models[kind], found.models["personal"])]
        for kind in same:
            seen.add(kind)
            np.testing.assert_array_equal(found.losses[kind], found.losses["personal"])
            np.testing.assert_array_equal(found.margins[kind], found.margins["personal"])
        again = found.weights["personal"] @ centres.fit_all(OBJECTIVE, found.sample)[centres.families["personal"].rows]
        np.testing.assert_allclose(again, found.models["personal"], atol=1e-12)
    assert len(seen) >= 2


def _with_outliers(generator, records):
    """Of about three records in a hundred the noise is fifteen times as large."""
    return 0.2 * generator.normal(size=records) * np.where(generator.random(records) < 0.03, 15, 1)


def _excess(seeds):
    """How far predictions of the personal model are from the truth, averaged over owners."""
    apart = []
    for seed in seeds:
        sample, centres = _owner(seed, noise=_with_outliers)
        theta = cross_validate(sample, OBJECTIVE, centres).models["personal"]
        apart.append(np.mean(((theta - TRUTH) @ sample.columns) ** 2))
    return float(np.mean(apart))


def test_outliers_choose_worse_models(monkeypatch):
    seeds = range(30)
    ours = _excess(seeds)
    monkeypatch.setattr(own_models, "tempered", lambda judged: judged)
    assert ours < 0.9 * _excess(seeds)


def test_outliers_count_by_three_deviations_over_their_miss():
    generator = np.random.default_rng(0)
    targets = generator.normal(size=400)
    targets[0] = 50.0
    margins = Sample.of_rows(np.zeros((400, 3)), targets)
    counted, whole = tempered(margins).targets ** 2, targets**2
    deviation = 1.4826 * np.median(np.abs(targets))
    near = np.abs(targets) <= 3 * deviation
    np.testing.assert_allclose(counted[near], whole[near])
    np.testing.assert_allclose(counted[~near], 3 * deviation * np.abs(targets[~near]))


def test_records_that_all_candidates_know_are_left_as_they_are():
    exact = Sample.of_rows([[1.0, 1.0], [2.0, 2.0], [3.0, 4.0]], [1.0, 2.0, 3.0])
    assert tempered(exact) is exact
