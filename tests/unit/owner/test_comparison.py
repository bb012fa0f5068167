"""Which model is best at home? The answer must not flatter a model that knows the records by heart."""

from collections import Counter

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.objective import Objective
from copriv.losses.passes import average_value
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.owner import comparison
from copriv.owner.comparison import Comparison, Difference, compare, cross_validate, explain, summarise
from copriv.owner.own_models import Centres
from copriv.owner.personal import personalise
from copriv.records.target import Target

PARAMETERS = 8
TRUTH = np.append(np.linspace(-0.8, 0.9, PARAMETERS - 1), 0.4)
OBJECTIVE = Objective(SquaredLoss(), 1e-5, 10.0)
RATE = Target("rate", "number", center=10.0, scale=5.0)
DEAD = Target("dead", "label", center=0.5, scale=1.0)
BAD = TRUTH + 0.5
TINY_TRUTH = np.linspace(-0.8, 0.9, 20)


def _sample(records, seed=0, truth=TRUTH, labels=False, noise=0.3):
    generator = np.random.default_rng(seed)
    rows = np.hstack([generator.normal(size=(records, truth.size - 1)) / 3, np.full((records, 1), 0.5)])
    margins = rows @ truth + noise * generator.normal(size=records)
    return Sample.of_rows(rows, np.where(margins > 0, 1.0, -1.0) if labels else margins)


def _compare(sample, joint, public=None, objective=OBJECTIVE, target=RATE, **options):
    return compare(sample, objective, Centres(public, joint), target, **options)


def test_a_tiny_owner_gains_from_a_good_joint_model():
    """80 records for 20 parameters, and public rows that are far off."""
    found = [_compare(_sample(80, seed, TINY_TRUTH), TINY_TRUTH, TINY_TRUTH + 0.5) for seed in range(20)]
    verdicts = Counter(each.paid for each in found)
    assert verdicts["joined"] >= 11
    assert verdicts["alone"] == 0
    assert "Joining paid: use" in explain(next(each for each in found if each.paid == "joined"))


def _in_sample(sample, centres):
    """The broken twin: models are judged on the records that they were fitted to."""
    fitted = centres.fit_all(OBJECTIVE, sample) @ sample.columns
    family = centres.families
    margins = {kind: fitted[family[kind].rows[-1]] for kind in ("own", "joint")}
    losses = {kind: (found - sample.targets) ** 2 for kind, found in margins.items()}
    return summarise(comparison.CrossValidation(sample, margins, losses, {}, 1, {}, fitted[10], OBJECTIVE.loss), RATE)


def test_judging_a_model_on_its_own_records_gets_the_tiny_owner_wrong():
    twin = [_in_sample(_sample(50, seed, TINY_TRUTH), Centres(None, TINY_TRUTH)) for seed in range(20)]
    assert sum(each.paid == "alone" for each in twin) >= 10
    honest = [_compare(_sample(50, seed, TINY_TRUTH), TINY_TRUTH) for seed in range(20)]
    assert sum(each.paid == "alone" for each in honest) == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_large_owner_stays_alone_rather_than_take_a_bad_model(seed):
    found = _compare(_sample(3000, seed), BAD)
    assert (found.paid, found.without) == ("alone", "own")
    assert "Joining did not pay: use a model of your own records" in explain(found)


def test_when_the_public_model_wins_it_is_to_be_used_and_nothing_spent():
    found = _compare(_sample(400), BAD, TRUTH)
    assert (found.paid, found.without) == ("alone", "public")
    assert "use the public model" in explain(found)
    assert "spend nothing" in explain(found)


def test_equal_models_are_undecided():
    found = [_compare(_sample(200, seed), TRUTH + 0.01, TRUTH - 0.01) for seed in range(20)]
    assert Counter(each.paid for each in found)["undecided"] >= 18
    assert "spend nothing more" in explain(found[0]) or found[0].paid != "undecided"


def test_choosing_the_strength_by_the_fold_that_is_judged_flatters(monkeypatch):
    """Weights for a fold come from the other folds; the twin that looks at the fold itself is better than it may be."""
    samples = [_sample(40, seed, TINY_TRUTH, noise=1.0) for seed in range(20)]
    honest = [_compare(each, TINY_TRUTH + 0.3).losses["own"] for each in samples]

    def peeking(sample):
        centres = Centres(None, TINY_TRUTH)
        used = comparison._deal(sample)
        losses = []
        for rest, fold in comparison._divide(used.records, 5):
            models = centres.fit_all(OBJECTIVE, comparison._take(used, rest))[centres.families["own"].rows]
            wrong = (models @ used.columns[:, fold] - used.targets[fold]) ** 2
            losses.append(wrong[np.argmin(wrong.mean(axis=1))])
        return float(np.concatenate(losses).mean())

    assert np.mean([peeking(each) for each in samples]) < 0.97 * np.mean(honest)


def test_models_are_judged_as_if_fitted_to_all_records():
    """Without what a fold more is worth, as in the twin, an own model is judged by that of four fifths."""
    judged, twin, truth = [], [], []
    for seed in range(40):
        sample, new = _sample(60, seed, TINY_TRUTH), _sample(2000, 500 + seed, TINY_TRUTH)
        found = cross_validate(sample, OBJECTIVE, Centres(None, TINY_TRUTH))
        judged.append(found.losses["own"].mean())
        twin.append(np.mean((found.margins["own"] - found.sample.targets) ** 2))
        truth.append(average_value(OBJECTIVE.loss, new, found.models["own"]))
    assert np.mean(judged) == pytest.approx(np.mean(truth), rel=0.03)
    assert np.mean(twin) > 1.06 * np.mean(truth)


def test_the_figures_are_what_they_are_called():
    sample = _sample(200)
    found = _compare(sample, BAD, TRUTH, folds=4)
    assert (found.records, found.folds) == (200, 4)
    assert found.losses["joint"] == pytest.approx(average_value(OBJECTIVE.loss, sample, BAD))
    assert found.metrics["joint"].rmse == pytest.approx(5 * found.losses["joint"] ** 0.5)
    assert found.metrics["own"].r2 == pytest.approx(1 - found.losses["own"] / np.var(sample.targets))
    assert set(found.losses) == {"own", "own_public", "public", "joint", "personal"}
    assert found.joint_gain.value == pytest.approx(1 - found.losses["joint"] / found.losses[found.without])


def test_the_order_of_records_and_their_number_are_all_that_folds_depend_on():
    sample = _sample(100)
    assert _compare(sample, BAD) == _compare(sample, BAD)


@pytest.mark.parametrize("loss", [SquaredLoss(), HuberLoss(0.2), LogisticLoss()], ids=lambda loss: loss.name)
def test_every_loss_can_be_compared(loss):
    labels = loss.name == "logistic"
    sample, objective = _sample(300, labels=labels), Objective(loss, 1e-3, 10.0)
    found = _compare(sample, -TRUTH, 2 * TRUTH if labels else TRUTH, objective, DEAD if labels else RATE)
    assert found.paid == "alone"
    assert found.losses["personal"] < found.losses["joint"]


@pytest.mark.parametrize(("records", "folds"), [(100, 5), (24, 4), (15, 3), (10, 2)])
def test_few_records_are_divided_into_fewer_folds(records, folds):
    assert _compare(_sample(records), TRUTH).folds == folds


def test_too_few_records_and_folds_are_refused():
    with pytest.raises(BadInput, match=r"9 records are too few.*at least 10"):
        _compare(_sample(9), TRUTH)
    with pytest.raises(BadInput, match="1 folds"):
        _compare(_sample(100), TRUTH, folds=1)


@pytest.mark.parametrize("entry", [np.nan, np.inf, -1e300])
def test_a_model_that_is_none_is_refused_by_its_name(entry):
    with pytest.raises(BadInput, match=r"the joint model has an entry that is no number.*ask the learner"):
        _compare(_sample(20), np.append(TRUTH[:-1], entry), TRUTH)


def test_models_are_judged_on_usable_records_only():
    sample = _sample(60)
    holes = Sample.of_rows(np.vstack([sample.columns.T, np.zeros((25, 8))]), np.append(sample.targets, np.zeros(25)))
    assert _compare(holes, BAD) == _compare(sample, BAD)


def test_the_verdict_of_differences():
    gain, none, loss = Difference(0.1, 0.01), Difference(0.0, 0.01), Difference(-0.1, 0.01)
    cases = ((gain, loss, True), (gain, none, False), (none, loss, False), (none, none, False), (loss, loss, False))
    told = [Comparison(50, 5, {}, {}, *case).paid for case in cases]
    assert told == ["joined", "undecided", "alone", "undecided", "alone"]
    assert Comparison(50, 5, {}, {}).paid == "undecided"


def _worlds(seed):
    """An owner that differs from everybody by more or less, with joint and public models of more or less use."""
    generator = np.random.default_rng(seed)
    own = TRUTH + generator.choice([0.0, 0.3, 1.0]) * generator.normal(size=PARAMETERS)
    joint = TRUTH + generator.choice([0.02, 0.3]) * generator.normal(size=PARAMETERS)
    public = TRUTH + 0.15 * generator.normal(size=PARAMETERS)
    return own, Centres(public, joint), int(generator.choice([30, 100, 400]))


def _strays(seed):
    """Losses on new records of the same owner, over the best of own, own + public and joint there.

    Of the personal model, and of twins that always take the joint model, or the owner's own.
    """
    truth, centres, records = _worlds(seed)
    sample, new = _sample(records, seed, truth), _sample(4000, 1000 + seed, truth)
    found = cross_validate(sample, OBJECTIVE, centres)
    models, family = centres.fit_all(OBJECTIVE, sample), centres.families
    rivals = [found.weights[kind] @ models[family[kind].rows] for kind in ("own", "own_public", "joint")]
    best = min(average_value(OBJECTIVE.loss, new, theta) for theta in rivals)
    taken = personalise(sample, OBJECTIVE, centres, RATE).theta, centres.joint, models[10]
    return [average_value(OBJECTIVE.loss, new, theta) / best for theta in taken]


def test_the_personal_model_is_hardly_worse_than_the_best_of_the_others():
    personal, joint, own = np.asarray([_strays(seed) for seed in range(40)]).T
    assert personal.mean() < 1.01
    assert np.mean(personal < 1.05) >= 0.95
    # Twins that always take one model are far worse somewhere.
    assert joint.max() > 1.3
    assert own.mean() > 1.03
