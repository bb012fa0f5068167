"""Are an owner's rows like the public ones? Draws of one population must read as alike, others not. All is seeded."""

from collections import Counter

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.outside import OutsideLoss
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.owner import fit as fits
from copriv.owner.fit import Fit, fit_at_home
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.public_summary import summarise
from copriv.protocol.study_file import StudyFile
from copriv.records.load import take_public
from copriv.records.load_owner import load_owner
from copriv.records.target import TargetChoice
from copriv.report.fit_lines import fit_lines

TRUTH = np.linspace(-0.7, 0.8, 4)
DRAWS = 120
LOSSES = {"squared": SquaredLoss(), "huber": HuberLoss(0.2), "logistic": LogisticLoss()}


@pytest.fixture(scope="module")
def dictionary():
    """Three components; its numbers do not matter here."""
    generator = np.random.default_rng(0)
    table = pl.DataFrame(generator.normal(size=(80, 4)), schema=["age", "dose", "weight", "stay"], orient="row")
    return take_public(table.lazy(), TargetChoice("stay"), 3)[0]


def _rows(records, seed, loss="squared", truth=TRUTH, stretch=1.0):
    generator = np.random.default_rng(seed)
    rows = np.hstack([stretch * 0.35 * generator.normal(size=(records, 3)), np.full((records, 1), 0.5)])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    targets = rows @ truth + 0.2 * generator.standard_t(5, size=records)
    labels = loss == "logistic"
    return Sample.of_rows(rows, np.where(targets > 0.1, 1.0, -1.0) if labels else np.clip(targets, -1, 1))


def _summary(public, loss="squared"):
    objective = Objective(LOSSES[loss], 1e-5, 10.0)
    return summarise(public, objective, minimise(objective, public), 1.0)


def _readings(dictionary, sizes=(100, 400), loss="squared", change=lambda public: public, **owner):
    """How many of many draws read as what; public rows and owners are drawn anew each time."""
    public, own = sizes
    return Counter(
        fit_at_home(
            _rows(own, 2 * seed + 1, loss, **owner),
            LOSSES[loss],
            change(_summary(_rows(public, 2 * seed, loss), loss)),
            dictionary,
        ).reading
        for seed in range(DRAWS)
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_draws_of_one_population_are_alike(dictionary, loss):
    """99 of 100 are, by the law of T²; more than 5 of 120 others have a probability of 0.002."""
    assert _readings(dictionary, loss=loss)["alike"] >= DRAWS - 5


@pytest.mark.parametrize("sizes", [(30, 2000), (2000, 30), (40, 40)])
def test_also_where_rows_are_few(dictionary, sizes):
    assert _readings(dictionary, sizes)["alike"] >= DRAWS - 5


def test_a_twin_that_forgets_the_owners_sampling_error_is_caught(dictionary, monkeypatch):
    gradients = fits._gradients
    monkeypatch.setattr(fits, "_gradients", lambda *given: gradients(*given)._replace(records=10**9))
    assert _readings(dictionary, (400, 60))["alike"] < DRAWS // 4


def test_a_twin_that_forgets_that_of_the_public_rows_is_caught(dictionary):
    certain = lambda public: msgspec.structs.replace(public, rows=10**9)  # noqa: E731
    assert _readings(dictionary, (60, 400), change=certain)["alike"] < DRAWS // 4


def test_a_twin_that_compares_at_another_model_is_caught(dictionary):
    """The public rows' gradient at the public model, against the owner's at 0."""
    nowhere = lambda public: msgspec.structs.replace(public, model=(0.0,) * 4)  # noqa: E731
    assert _readings(dictionary, change=nowhere)["alike"] == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_another_population_does_not_read_as_alike(dictionary, loss):
    found = _readings(dictionary, loss=loss, truth=TRUTH[::-1])
    assert found["does not fit"] == DRAWS


def test_a_loss_from_outside_is_compared_alike(dictionary):
    """A loss with the formulas of the squared one; the functions that are not used are those of nothing."""
    outside = OutsideLoss("own", _unused, lambda z, y: 2.0 * (z - y), _unused, *[lambda m, t: 1.0] * 2, 1.0)
    own, public = _rows(200, 1, truth=TRUTH[::-1]), _summary(_rows(300, 2))
    found, expected = (fit_at_home(own, loss, public, dictionary) for loss in (outside, SquaredLoss()))
    assert found.reading == "does not fit"
    assert found.distance == pytest.approx(expected.distance, rel=1e-9)


def _unused(z, y):
    return z - y


def test_what_public_rows_are_worth(dictionary):
    """The model of an owner whose truth lies d away is p σ²/dᵀHd of its own rows' worth."""
    apart = np.array([0.03, 0.0, 0.0, 0.06])
    own, public = _rows(80_000, 1, truth=TRUTH + apart), _rows(80_000, 2)
    noise = float(np.var(own.targets - (TRUTH + apart) @ own.columns))
    expected = 4 * noise / float(np.mean((apart @ own.columns) ** 2))
    found = fit_at_home(own, SquaredLoss(), _summary(public), dictionary)
    assert found.reading == "differs"
    assert found.worth == pytest.approx(expected, rel=0.2)
    assert found.most == "the level of 'stay'"


def test_more_rows_are_shortened(dictionary):
    """The model is as right for them; but they are no draws of one population."""
    found = fit_at_home(_rows(500, 1, stretch=1.5), SquaredLoss(), _summary(_rows(500, 2)), dictionary)
    assert found.shortened > 3 * found.public_shortened
    assert found.distance < found.bound
    assert (found.reading, found.worth) == ("differs", None)
    assert "lie elsewhere" in next(fit_lines(found))


YEARS = [
    *("loan_amnt", "term", "home_ownership", "annual_inc", "purpose", "dti", "inq_last_6mths", "open_acc"),
    *("revol_bal", "revol_util", "total_acc", "int_rate"),
]
REGIONS = [
    "age_group",
    "sex",
    "los",
    "admission_type",
    "discharge_group",
    "apr_severity_code",
    "payer_group",
    "charges",
]


def _real_readings(public, owners, target):
    dictionary, sample, _ = take_public(public.lazy(), TargetChoice(target), 6)
    summary = _summary(sample)
    own = (load_owner(table.lazy(), dictionary).sample for table in owners)
    return Counter(fit_at_home(rows, SquaredLoss(), summary, dictionary).reading for rows in own)


@pytest.mark.parametrize(
    ("file", "columns", "place", "here", "elsewhere"),
    [
        ("lending_2007_2011", YEARS, pl.col("issue_d").str.slice(0, 4), "2011", ("2008", "2009")),
        ("hospital_heart_failure_2024", REGIONS, pl.col("health_service_area").cast(pl.String), "Finger Lakes",
         ("Long Island", "Hudson Valley")),
    ],
)  # fmt: skip
def test_real_rows_of_another_year_or_region_do_not_fit(real_data, file, columns, place, here, elsewhere):
    """700 public rows and owners of 300; of ten owners of the same year or region one may differ, by chance."""
    table = pl.scan_parquet(real_data / f"{file}.parquet").select(*columns, place.alias("place"))
    rows = table.filter(pl.col("place").is_in([here, *elsewhere])).collect().sample(fraction=1, shuffle=True, seed=3)
    at = {name: rows.filter(pl.col("place") == name).drop("place") for name in (here, *elsewhere)}
    target, public = "los" if "los" in columns else "int_rate", at[here][:700]
    assert _real_readings(public, [at[other][:300] for other in elsewhere], target)["does not fit"] == 2
    same = [at[here][start : start + 100] for start in range(700, 1700, 100)]
    assert _real_readings(public, same, target)["alike"] >= 9


def test_without_a_summary_or_records_that_say_something_it_says_so(dictionary):
    public = _summary(_rows(100, 0))
    assert fit_at_home(_rows(50, 1), SquaredLoss(), None, dictionary).reading == "unknown"
    nothing = Sample.of_rows(np.zeros((50, 4)), np.zeros(50))
    assert "usable target" in fit_at_home(nothing, SquaredLoss(), public, dictionary).why
    few = fit_at_home(_rows(6, 1), SquaredLoss(), public, dictionary)
    assert (few.reading, few.distance) == ("unknown", None)
    assert few.shortened is not None
    same = Sample.of_rows(np.tile([0.1, 0.2, 0.3, 0.5], (50, 1)), np.full(50, 0.25))
    assert "all the same" in fit_at_home(same, SquaredLoss(), public, dictionary).why
    assert _summary(_rows(4, 0)) is None


def test_a_column_that_never_varies_is_not_compared(dictionary):
    own = _rows(300, 1)
    flat = Sample.of_rows(np.where([False, True, False, False], 0.0, own.columns.T), own.targets)
    found = fit_at_home(flat, SquaredLoss(), _summary(_rows(300, 2)), dictionary)
    assert found.directions == 3


def test_a_comparison_that_fails_keeps_nobody_from_joining(dictionary, monkeypatch):
    """A count of shortened rows beyond a machine's integers once ended `join`, or not, as the records were."""

    def overflow(*_):
        raise OverflowError

    monkeypatch.setattr(fits, "_as_often", overflow)
    terms, own = plain_terms(), _rows(60, 1)
    study = StudyFile(terms, msgspec.to_builtins(dictionary), _summary(_rows(100, 0)))
    assert fits.fit_of(study, own) == Fit("unknown", why="the comparison failed")
    with pytest.raises(OverflowError):
        fit_at_home(own, SquaredLoss(), study.public, dictionary)


@pytest.mark.parametrize("name", ["model", "gradient"])
@pytest.mark.parametrize("number", [1e6, -1e6, 0.0, 5e-324])
@pytest.mark.filterwarnings("error")
def test_no_summary_makes_it_fail(dictionary, name, number):
    """Whether an owner can join must depend on no record, whatever a learner has written."""
    hostile = msgspec.structs.replace(_summary(_rows(100, 0)), **{name: (number,) * 4})
    for loss, penalty in LOSSES.items():
        found = fit_at_home(_rows(60, 1, loss), penalty, hostile, dictionary)
        assert isinstance(found, Fit)
        assert all(isinstance(line, str) for line in fit_lines(found))
        assert msgspec.json.decode(msgspec.json.encode(found), type=Fit) == found


def test_what_a_person_reads(dictionary):
    public = _summary(_rows(300, 0))
    alike, other = (
        list(fit_lines(fit_at_home(_rows(200, 3, truth=truth), SquaredLoss(), public, dictionary)))
        for truth in (TRUTH, TRUTH[::-1])
    )
    assert "as alike as draws of one population, as far as 200 records can tell" in alike[0]
    assert "do not fit yours: for your model, 300 public rows are worth about" in other[0]
    for lines in (alike, other):
        assert "no ε covers it" in lines[-1]
    unknown = list(fit_lines(fit_at_home(_rows(50, 1), SquaredLoss(), None, dictionary)))
    assert unknown[0].endswith("not compared: the study says nothing of its public rows")
