"""The generated records have the columns, the relations, the spread and the correlations of the real files.

Every comparison with a real file is also made for a broken twin, and must refuse it.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.records import hospital_like, lending_like

GENERATORS = pytest.mark.parametrize("generate", [lending_like.generate, hospital_like.generate])
SHARED = Path(__file__).parents[4] / "shared" / "data"
RANK_TOLERANCE = 0.1
GRADES = {grade: number for number, grade in enumerate("ABCDEFG", 1)}
AGES = {"0 to 17": 0, "18 to 29": 1, "30 to 49": 2, "50 to 69": 3, "70 or Older": 4}
LEVELS = {"Minor": 1, "Moderate": 2, "Major": 3, "Extreme": 4}
ADMISSIONS = {"Newborn": 0, "Elective": 1, "Urgent": 2, "Emergency": 3, "Trauma": 3}
DISPOSITIONS = {
    "Left Against Medical Advice": 0,
    "Home or Self Care": 0,
    "Home w/ Home Health Services": 1,
    "Skilled Nursing Home": 3,
    "Expired": 4,
}
ELSEWHERE = 2


@pytest.fixture(scope="module")
def loans():
    return lending_like.generate(40_000, seeded(11, "loans"))


@pytest.fixture(scope="module")
def discharges():
    return hospital_like.generate(40_000, seeded(12, "discharges"))


def read_real(name):
    for folder in (Path(os.environ.get("COPRIV_DATA", SHARED)), SHARED):
        if (folder / name).exists():
            return pl.read_parquet(folder / name)
    return pytest.skip(f"{name} is neither in $COPRIV_DATA nor in {SHARED}")


# --- the numbers of a table, whether real or generated ------------------------------------------------


def measure_loans(frame):
    plain = ["int_rate", "loan_amnt", "annual_inc", "dti", "revol_util", "revol_bal", "open_acc", "total_acc"]
    return frame.select(
        pl.col(*plain, "inq_last_6mths", "delinq_2yrs").cast(pl.Float64),
        pl.col("term").str.extract(r"(\d+)").cast(pl.Float64),
        pl.col("grade").replace_strict(GRADES, return_dtype=pl.Float64),
    )


def measure_discharges(frame):
    return frame.select(
        pl.col("Length of Stay").cast(pl.String).str.extract(r"(\d+)").cast(pl.Float64),
        pl.col("Total Charges", "Total Costs").cast(pl.Float64, strict=False),
        pl.col("Age Group").replace_strict(AGES, return_dtype=pl.Float64),
        pl.col("APR Severity of Illness Code").cast(pl.Float64),
        pl.col("APR Risk of Mortality").replace_strict(LEVELS, default=None, return_dtype=pl.Float64),
        pl.col("Type of Admission").replace_strict(ADMISSIONS, default=None, return_dtype=pl.Float64),
        pl.col("Patient Disposition").replace_strict(DISPOSITIONS, default=ELSEWHERE, return_dtype=pl.Float64),
    )


def correlate_ranks(numbers):
    return np.corrcoef(numbers.drop_nulls().select(pl.all().rank()).to_numpy(), rowvar=False)


def widest_rank_gap(real, likeness):
    return np.abs(correlate_ranks(real) - correlate_ranks(likeness)).max()


def shuffle_one_column(numbers, name):
    return numbers.with_columns(pl.Series(name, seeded(13, "twin").permutation(numbers[name].to_numpy())))


def widest_quantile_gap(real, likeness, smallest):
    """The widest relative gap between quantiles, those below `smallest` measured against it."""
    points = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999]
    wanted, found = (np.quantile(values.drop_nulls().to_numpy(), points) for values in (real, likeness))
    return (np.abs(found - wanted) / np.maximum(wanted, smallest)).max()


def skewness(values):
    return values.drop_nulls().skew()


def bell_with_moments_of(values):
    return pl.Series(seeded(14, "twin").normal(values.mean(), values.std(), 40_000))


# --- both generators -----------------------------------------------------------------------------------


@GENERATORS
def test_the_same_generator_state_gives_the_same_table(generate):
    assert generate(3_000, seeded(1, "twice")).equals(generate(3_000, seeded(1, "twice")))


@GENERATORS
def test_another_state_gives_another_table(generate):
    assert not generate(100, seeded(1, "twice")).equals(generate(100, seeded(2, "twice")))


@GENERATORS
def test_the_generator_moves_on(generate):
    chance = seeded(1, "twice")
    assert not generate(100, chance).equals(generate(100, chance))


@GENERATORS
@pytest.mark.parametrize("rows", [0, -5])
def test_a_table_needs_rows(generate, rows):
    with pytest.raises(BadInput, match="at least 1") as refusal:
        generate(rows, seeded(1, "rows"))
    assert refusal.value.value == rows


@GENERATORS
@pytest.mark.parametrize("rows", [1, 2, 500])
def test_every_row_asked_for_is_there(generate, rows):
    assert generate(rows, seeded(1, "rows")).height == rows


@GENERATORS
def test_types_do_not_depend_on_the_number_of_rows(generate):
    assert generate(1, seeded(1, "rows")).schema == generate(5_000, seeded(2, "rows")).schema


# --- loans ---------------------------------------------------------------------------------------------


def test_loans_have_the_names_of_the_kaggle_file(loans):
    assert loans.columns == lending_like.COLUMNS
    first_of_the_kaggle_file = ["id", "member_id", "loan_amnt", "funded_amnt", "funded_amnt_inv", "term", "int_rate"]
    assert loans.columns[:7] == first_of_the_kaggle_file
    assert set(loans["term"].unique()) == {" 36 months", " 60 months"}
    assert loans["issue_d"].str.contains(r"^[A-Z][a-z]{2}-20(07|08|09|10|11|12|13|14|15)$").all()


def test_loans_are_told_apart(loans):
    assert loans["id"].is_unique().all()
    assert loans["member_id"].is_unique().all()
    assert (loans["url"].str.extract(r"loan_id=(\d+)$").cast(pl.Int64) == loans["id"]).all()


def leaves_nothing_owed(loans, installment):
    """Pay month by month; a payment is rounded to the cent, so what is left is at most some cents a month."""
    months = measure_loans(loans)["term"].to_numpy()
    monthly, owed = 1.0 + loans["int_rate"].to_numpy() / 1200.0, loans["loan_amnt"].to_numpy()
    for month in range(60):
        owed = np.where(month < months, owed * monthly - installment.to_numpy(), owed)
    return bool((np.abs(owed) < 1.5).all())


def test_the_installment_repays_the_loan(loans):
    assert leaves_nothing_owed(loans, loans["installment"])
    assert not leaves_nothing_owed(loans, loans["installment"] * 1.001)


def test_the_grade_follows_from_the_rate(loans):
    steps = loans.group_by("sub_grade").agg(low=pl.col("int_rate").min(), high=pl.col("int_rate").max())
    steps = steps.sort("sub_grade").select("low", "high").rows()
    assert len(steps) == 35
    assert all(below[1] < above[0] for below, above in pairwise(steps))
    assert (loans["grade"] == loans["sub_grade"].str.head(1)).all()


def test_delinquencies_agree_with_their_dates(loans):
    recent = loans.filter(pl.col("delinq_2yrs") > 0)["mths_since_last_delinq"]
    assert recent.null_count() == 0
    assert recent.max() < 24
    assert loans.filter(pl.col("delinq_2yrs") == 0)["mths_since_last_delinq"].min() >= 24


def test_loans_have_the_blanks_of_the_real_file(loans):
    share = loans.null_count() / loans.height
    assert 0.55 < share["mths_since_last_delinq"].item() < 0.7
    assert 0.85 < share["mths_since_last_record"].item() < 0.95
    assert 0.04 < share["emp_title"].item() < 0.08
    assert 0 < share["revol_util"].item() < 0.01
    assert share["int_rate"].item() == 0


def test_loans_correlate_as_in_the_real_file(loans):
    real, likeness = measure_loans(read_real("lending_2007_2011.parquet")), measure_loans(loans)
    assert widest_rank_gap(real, likeness) <= RANK_TOLERANCE
    for name in likeness.columns:
        assert widest_rank_gap(real, shuffle_one_column(likeness, name)) > RANK_TOLERANCE, name


@pytest.mark.parametrize(("column", "tolerance"), [("loan_amnt", 0.1), ("annual_inc", 0.2), ("dti", 0.05)])
def test_loans_spread_as_in_the_real_file(loans, column, tolerance):
    real = read_real("lending_2007_2011.parquet")[column].cast(pl.Float64)
    smallest = real.quantile(0.05)
    assert widest_quantile_gap(real, loans[column], smallest) <= tolerance
    assert widest_quantile_gap(real, bell_with_moments_of(real), smallest) > tolerance


def test_loans_are_skewed_as_in_the_real_file(loans):
    real = read_real("lending_2007_2011.parquet")
    assert skewness(loans["loan_amnt"]) == pytest.approx(skewness(real["loan_amnt"]), abs=0.15)
    assert skewness(bell_with_moments_of(real["loan_amnt"])) != pytest.approx(skewness(real["loan_amnt"]), abs=0.15)
    # The skewness of the incomes themselves is that of the one largest; their logarithms have a stable one.
    assert skewness(loans["annual_inc"].log()) == pytest.approx(skewness(real["annual_inc"].log()), abs=0.2)
    bell = bell_with_moments_of(real["annual_inc"]).clip(lower_bound=1.0)
    assert skewness(bell.log()) != pytest.approx(skewness(real["annual_inc"].log()), abs=0.2)
    assert skewness(loans["annual_inc"]) > 5


@pytest.mark.parametrize(("column", "tolerance"), [("term", 0.01), ("home_ownership", 0.01), ("purpose", 0.01)])
def test_categories_of_loans_have_their_shares_of_all_years(loans, column, tolerance):
    real = read_real("lending_887k_categories.parquet")
    assert widest_share_gap(real[column], loans[column]) <= tolerance
    evenly = pl.Series(seeded(15, "twin").choice(real[column].unique().sort().to_numpy(), 40_000))
    assert widest_share_gap(real[column], evenly) > tolerance


def widest_share_gap(real, likeness):
    wanted, found = (
        dict(values.rename("value").value_counts(normalize=True, name="share").rows()) for values in (real, likeness)
    )
    return max(abs(wanted.get(name, 0) - found.get(name, 0)) for name in wanted | found)


# --- discharges ----------------------------------------------------------------------------------------


def test_discharges_have_the_official_names(discharges):
    assert discharges.columns == hospital_like.COLUMNS
    assert discharges.columns == read_real("hospital_2022.parquet").columns


def test_codes_are_spelled_out(discharges):
    for code, description in (
        ("CCSR Diagnosis Code", "CCSR Diagnosis Description"),
        ("CCSR Procedure Code", "CCSR Procedure Description"),
        ("APR DRG Code", "APR DRG Description"),
        ("APR MDC Code", "APR MDC Description"),
        ("Permanent Facility Id", "Facility Name"),
    ):
        assert (discharges[code].is_null() == discharges[description].is_null()).all()
        assert discharges[code].n_unique() == discharges.select(code, description).n_unique()


def test_stays_are_whole_days_up_to_the_cap(discharges):
    stay = discharges["Length of Stay"]
    assert stay.dtype == pl.Int64
    assert (stay.min(), stay.max()) == (1, 120)


def test_facilities_are_many_and_unequal(discharges):
    sizes = discharges["Facility Name"].value_counts()["count"]
    assert 85 <= len(sizes) <= 90
    assert sizes.max() > 8 * sizes.median()
    assert sizes.max() < discharges.height / 8


def test_newborns_and_mothers_are_plausible(discharges):
    newborn = pl.col("APR MDC Code") == 15
    assert (discharges.filter(newborn)["Age Group"] == "0 to 17").all()
    assert (discharges["Birth Weight"].is_not_null() == discharges.select(newborn).to_series()).all()
    assert set(discharges.filter(pl.col("APR MDC Code") == 14)["Age Group"]) == {"18 to 29", "30 to 49"}
    assert set(discharges.filter(pl.col("APR MDC Code") == 14)["Gender"]) == {"F"}


def mean_log_stays(discharges, column):
    means = discharges.group_by(column).agg(pl.col("Length of Stay").log().mean(), pl.len())
    return means.filter(pl.col("len") >= 100).sort(column)["Length of Stay"].to_list()


def test_stays_depend_on_severity_admission_and_group(discharges):
    by_severity = mean_log_stays(discharges, "APR Severity of Illness Code")
    assert by_severity == sorted(by_severity)
    for column, least in (
        ("APR Severity of Illness Code", 0.8),
        ("Type of Admission", 0.3),
        ("APR DRG Code", 1.5),
    ):
        assert np.ptp(mean_log_stays(discharges, column)) > least
        shuffled = discharges.with_columns(pl.col(column).shuffle(seed=1))
        assert np.ptp(mean_log_stays(shuffled, column)) < least


def spread_between_facilities(discharges):
    """Standard deviation of the facilities' mean logarithm of the stay, like compared with like."""
    like = ("APR DRG Code", "APR Severity of Illness Code")
    excess = pl.col("Length of Stay").log() - pl.col("Length of Stay").log().mean().over(like)
    means = discharges.with_columns(excess=excess).group_by("Facility Name").agg(pl.col("excess").mean(), pl.len())
    return means.filter(pl.col("len") >= 400)["excess"].std()


def test_facilities_differ_a_little(discharges):
    # Heart failure in 2024: 0.17 between the 56 facilities of 200 discharges and more.
    assert 0.1 < spread_between_facilities(discharges) < 0.25
    assert spread_between_facilities(discharges.with_columns(pl.col("Facility Name").shuffle(seed=1))) < 0.1


@pytest.mark.parametrize("bill", ["Total Charges", "Total Costs"])
def test_bills_grow_with_stay_and_severity(discharges, bill):
    logs = discharges.select(
        pl.col(bill).log(), pl.col("Length of Stay").log(), pl.col("APR Severity of Illness Code").cast(pl.Float64)
    ).to_numpy()
    slopes = np.linalg.lstsq(np.c_[np.ones(len(logs)), logs[:, 1:]], logs[:, 0], rcond=None)[0][1:]
    assert slopes[0] == pytest.approx(0.8, abs=0.15)
    assert 0.0 < slopes[1] < 0.3


def test_discharges_correlate_as_in_the_real_file(discharges):
    real, likeness = measure_discharges(read_real("hospital_2022.parquet")), measure_discharges(discharges)
    assert widest_rank_gap(real, likeness) <= RANK_TOLERANCE
    for name in likeness.columns:
        assert widest_rank_gap(real, shuffle_one_column(likeness, name)) > RANK_TOLERANCE, name


def test_stays_spread_as_in_the_real_file(discharges):
    real = measure_discharges(read_real("hospital_2022.parquet"))["Length of Stay"]
    likeness = discharges["Length of Stay"].cast(pl.Float64)
    assert widest_quantile_gap(real, likeness, smallest=5.0) <= 0.15
    assert widest_quantile_gap(real, bell_with_moments_of(real), smallest=5.0) > 0.15
    assert skewness(likeness) == pytest.approx(skewness(real), rel=0.15)
    assert skewness(bell_with_moments_of(real)) != pytest.approx(skewness(real), rel=0.15)


def widest_gap_of_quartiles(real, likeness):
    return max(abs(real.quantile(point) - likeness.quantile(point)) for point in (0.25, 0.5, 0.75))


def test_heart_failure_stays_as_in_another_year(discharges):
    real = read_real("hospital_heart_failure_2024.parquet")["los"]
    heart_failure, schizophrenia = (
        discharges.filter(pl.col("APR DRG Code") == code)["Length of Stay"] for code in (194, 750)
    )
    assert widest_gap_of_quartiles(real, heart_failure) <= 1
    assert widest_gap_of_quartiles(real, schizophrenia) > 1
