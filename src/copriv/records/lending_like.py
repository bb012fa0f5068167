"""Records that look like Lending Club's, for when no file is given.

Columns are named and written as in the Kaggle file `loan.csv` (rates in percent, dates as `Dec-2015`). No row is
copied: the tables hold rounded quantiles, shares and correlations measured on the public files (term, purpose, home and
year of issue on all loans of 2007–2015, the rest on those of 2007–2011).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from copriv.records import copula
from copriv.vectors import FloatArray, IntArray

_Normals: TypeAlias = dict[str, FloatArray]
_Columns: TypeAlias = dict[str, pl.Series]

# fmt: off
COLUMNS = [
    "id", "member_id", "loan_amnt", "funded_amnt", "funded_amnt_inv", "term", "int_rate", "installment", "grade",
    "sub_grade", "emp_title", "emp_length", "home_ownership", "annual_inc", "verification_status", "issue_d",
    "loan_status", "pymnt_plan", "url", "purpose", "title", "zip_code", "addr_state", "dti", "delinq_2yrs",
    "earliest_cr_line", "inq_last_6mths", "mths_since_last_delinq", "mths_since_last_record", "open_acc", "pub_rec",
    "revol_bal", "revol_util", "total_acc", "initial_list_status", "policy_code", "application_type",
]
_DEPENDENCE = copula.read_dependence("""
    int_rate 100
    term 53 100
    loan_amnt 25 44 100
    annual_inc 7 12 45 100
    dti 13 10 8 -10 100
    revol_util 48 9 7 6 29 100
    revol_bal 14 13 42 42 36 50 100
    open_acc -1 7 22 32 33 -8 42 100
    total_acc -6 14 29 45 26 -6 41 71 100
    inq_last_6mths 23 2 -2 4 2 -4 -3 11 12 100
    delinq_2yrs 27 0 -6 6 -6 -8 -14 1 13 3 100
    pub_rec 22 2 -9 -3 0 12 -12 1 -1 11 1 100
    emp_length 1 15 18 24 6 2 18 12 23 -1 3 10 100
    home_ownership -8 17 21 41 -1 -9 24 27 42 9 5 8 30 100
    verification_status 21 39 43 25 8 7 17 10 15 -1 0 -3 10 10 100
    credit_age -12 15 25 38 8 -2 33 26 49 -2 12 14 30 39 14 100
    purpose 18 8 28 0 14 16 17 7 5 -1 -2 1 1 -10 11 0 100
    trouble 30 24 5 -11 7 15 2 -2 -4 16 4 16 1 -4 5 -3 11 100
""")
# Values at the probabilities `copula.TABLED`.
_QUANTILES = {
    "int_rate": (5.42, 5.42, 5.42, 6.5, 7.3, 8.5, 10.2, 11.1, 12, 13.1, 14.1, 15.3, 17.1, 18.6, 21, 23.1, 24.1, 24.6),
    "loan_amnt": (500, 1e3, 1200, 2400, 3e3, 5e3, 6e3, 7700, 9700, 11250, 14e3, 16e3, 22e3, 25e3, *4 * (35e3,)),
    "annual_inc": (1900, 7500, 14400, 24e3, 30e3, 37e3, 44500, 50e3, 59e3, 65600, 75600, 90e3, 117e3, 144e3, 243e3, 7e5,
                   17e5, 6e6),
    "dti": (0, 0, 0.33, 2.1, 4.1, 7, 9.3, 11.4, 13.5, 15.4, 17.6, 19.8, 22.4, 23.9, 26.9, 29.6, 29.9, 30),
    "revol_util": (0, 0, 0, 2.7, 8.7, 20.5, 30.8, 40.5, 49.7, 58.7, 68, 77.7, 88, 93.7, 98.6, 99.9, 106, 119),
    "revol_bal": (0, 0, 0, 300, 1060, 2760, 4560, 6550, 8820, 11500, 15e3, 20e3, 30e3, 44e3, 1e5, 23e4, 48e4, 12e5),
    "open_acc": (1, 2, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 15, 18, 23, 31, 40, 47),
    "total_acc": (1, 2, 4, 6, 9, 12, 15, 18, 20, 23, 27, 31, 38, 44, 56, 63, 79, 90),
    "credit_age": (6, 14, 38, 55, 71, 96, 118, 134, 150, 168, 191, 221, 274, 322, 431, 540, 650, 780),
}
# Loans per thousand with each count from 0 up.
_COUNTS = {
    "inq_last_6mths": (462, 265, 141, 75, 25, 14, 8, 4.3, 2.7, 1.2, 0.6, 0.4, 0.4, 0.1, 0.1, 0.2, 0.1),
    "delinq_2yrs": (888.6, 84.5, 18.1, 5.7, 1.7, 0.6, 0.3, 0.1, 0.1),
    "pub_rec": (944, 54, 1.5, 0.3),
}
# Loans per thousand in each category. The purposes are ordered by the mean rate of their loans, the others by degree.
_SHARES: dict[str, dict[str, float]] = {
    "term": {" 36 months": 700, " 60 months": 300},
    "home_ownership": {"RENT": 401.3, "OTHER": 0.2, "NONE": 0.1, "OWN": 98.6, "MORTGAGE": 499.8},
    "verification_status": {"Not Verified": 441, "Source Verified": 242, "Verified": 317},
    "emp_length": {
        "n/a": 26, "< 1 year": 119, "1 year": 85, "2 years": 111, "3 years": 103, "4 years": 86, "5 years": 81,
        "6 years": 56, "7 years": 44, "8 years": 37, "9 years": 32, "10+ years": 220,
    },
    "purpose": {
        "car": 10, "vacation": 5.3, "major_purchase": 19.5, "renewable_energy": 0.6, "home_improvement": 58.4,
        "medical": 9.6, "moving": 6.1, "credit_card": 232.3, "other": 48.3, "wedding": 2.6, "educational": 0.5,
        "house": 4.2, "debt_consolidation": 590.7, "small_business": 11.7,
    },
}
_SUB_GRADES = [f"{grade}{step}" for grade in "ABCDEFG" for step in range(1, 6)]
_SUB_GRADE_SHARES = (
    26.8, 35.7, 42.9, 68.3, 65.7, 44.2, 49.7, 70.5, 60.9, 66, 53.2, 50.7, 39, 32.2, 30.4, 24.8, 34.9, 31.1, 26.8,
    23.9, 20.8, 18.6, 15.7, 13, 11.7, 9.2, 7.2, 5.5, 5, 3.6, 3.3, 2.5, 1.9, 2.3, 2,
)
_OPEN = {"Current": 960, "In Grace Period": 10, "Late (16-30 days)": 5, "Late (31-120 days)": 20, "Default": 5}
_CLOSED = {"Fully Paid": 830, "Charged Off": 170}
# Loans per ten thousand, and the first and last three digits of the zip codes.
_STATES = [
    ("CA", 1747, 900, 961), ("NY", 956, 100, 149), ("FL", 730, 320, 349), ("TX", 685, 750, 799), ("NJ", 467, 70, 89),
    ("IL", 393, 600, 629), ("PA", 388, 150, 196), ("GA", 353, 300, 319), ("VA", 350, 220, 246), ("MA", 338, 10, 27),
    ("OH", 312, 430, 458), ("MD", 264, 206, 219), ("AZ", 219, 850, 865), ("WA", 209, 980, 994), ("CO", 201, 800, 816),
    ("NC", 195, 270, 289), ("CT", 192, 60, 69), ("MI", 187, 480, 499), ("MO", 180, 630, 658), ("MN", 153, 550, 567),
    ("NV", 124, 889, 898), ("WI", 121, 530, 549), ("SC", 115, 290, 299), ("AL", 114, 350, 369), ("OR", 110, 970, 979),
    ("LA", 108, 700, 714), ("KY", 84, 400, 427), ("OK", 75, 730, 749), ("KS", 70, 660, 679), ("UT", 65, 840, 847),
    ("AR", 61, 716, 729), ("DC", 53, 200, 205), ("RI", 49, 28, 29), ("NM", 48, 870, 884), ("NH", 44, 30, 38),
    ("WV", 44, 247, 268), ("HI", 43, 967, 968), ("DE", 32, 197, 199), ("MT", 23, 590, 599), ("WY", 20, 820, 831),
    ("AK", 20, 995, 999), ("SD", 16, 570, 577), ("VT", 13, 50, 59), ("TN", 8, 370, 385), ("MS", 6, 386, 397),
    ("IN", 4, 460, 479), ("IA", 3, 500, 528), ("NE", 3, 680, 693), ("ID", 2, 832, 838), ("ME", 1, 39, 49),
]
_RANKS = ["", "Senior ", "Junior ", "Lead ", "Assistant ", "Chief ", "Night ", "Regional ", "Staff ", "Head "]
_JOBS = ["nurse", "driver", "teacher", "clerk", "welder", "analyst", "cook", "manager", "engineer", "electrician"]
_PLACES = ["Ridgeline", "Bluewater", "Hartwell", "Oakmoor", "Pinecrest", "Larkfield", "Marlow", "Juniper", "Windrose"]
_FIRMS = [" Logistics", " Foods", " Dental", " Insurance", " Steel", " Software", " Motors", " Transit", " Builders"]
_WISHES = ["My ", "Our ", "Simple ", "One-time ", "Last ", "Family ", "Second ", "Lower-rate ", "Fresh ", "Best "]
_GOALS = [" payoff", " plan", " loan", " fix", " refinance", " project", " fund", " start", " relief", " budget"]
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# fmt: on
_CALENDAR = [f"{month}-{year}" for year in range(1900, 2016) for month in _MONTHS]
_FIRST_MONTH, _YEARS = _CALENDAR.index("Jan-2007"), (0.7, 2.7, 6, 14.1, 24.5, 60.1, 151.9, 265.5, 474.5)
_RATE_LIMITS = copula.look_up_values(copula.limits(_SUB_GRADE_SHARES), _QUANTILES["int_rate"])
_HISTORY = ["delinq_2yrs", "earliest_cr_line", "inq_last_6mths", "open_acc", "pub_rec", "total_acc"]


def generate(rows: int, generator: np.random.Generator) -> pl.DataFrame:
    """Draw a table of loans.

    Args:
        rows: how many loans.
        generator: where chance comes from; the same state gives the same table.

    Returns:
        One row for each loan, the oldest first, with the columns `COLUMNS` of `loan.csv`.

    Raises:
        BadInput: `rows` is less than 1.
    """
    copula.require_rows(rows)
    normals = _DEPENDENCE.draw(rows, generator)
    issued = _draw_issue_months(rows, generator)
    columns = (
        _identify(rows, generator)
        | _lend(normals, generator)
        | _describe_borrower(normals, generator)
        | _describe_purpose(normals, generator)
        | _recall_credit(normals, issued, generator)
        | _follow_up(normals, issued, generator)
    )
    return _leave_blanks(pl.DataFrame(columns), generator).select(COLUMNS)


def annuity(amount: FloatArray, annual_rate: FloatArray, months: FloatArray) -> FloatArray:
    """The monthly payment that repays an amount, at a yearly rate in percent, in so many months.

    >>> annuity(np.array([10000.0]), np.array([12.0]), np.array([36.0])).round(2).tolist()
    [332.14]
    """
    monthly = annual_rate / 1200.0
    return np.asarray(amount * monthly / (1.0 - (1.0 + monthly) ** -months), dtype=np.float64)


def _draw_issue_months(rows: int, generator: np.random.Generator) -> IntArray:
    years = copula.choose(_YEARS, rows, generator)
    return np.sort(_FIRST_MONTH + 12 * years + generator.integers(0, 12, rows))


def _identify(rows: int, generator: np.random.Generator) -> _Columns:
    """Identifiers that grow with gaps, as the real ones do."""
    loans = pl.Series(54_000 + np.cumsum(generator.integers(1, 150, rows)))
    members = pl.Series(70_000 + np.cumsum(generator.integers(1, 160, rows)))
    url = "https://www.lendingclub.com/browse/loanDetail.action?loan_id=" + loans.cast(pl.String)
    return {"id": loans, "member_id": members, "url": url}


def _lend(normals: _Normals, generator: np.random.Generator) -> _Columns:
    """The terms of the loans; the payment follows from amount, rate and term, and the grade from the rate."""
    amount = _name_amounts(_draw_values(normals, "loan_amnt"), 25.0, generator)
    rate = _draw_values(normals, "int_rate").round(2)
    sub_grade = copula.label(_SUB_GRADES, copula.place(rate, _RATE_LIMITS))
    invested = amount * (1.0 - 0.3 * generator.random(len(amount)) ** 12)
    return {
        "loan_amnt": pl.Series(amount),
        "funded_amnt": pl.Series(amount),
        "funded_amnt_inv": pl.Series((invested / 25.0).round() * 25.0),
        "term": copula.look_up_labels(normals["term"], _SHARES["term"]),
        "int_rate": pl.Series(rate),
        "installment": pl.Series(annuity(amount, rate, _draw_months(normals)).round(2)),
        "sub_grade": sub_grade,
        "grade": sub_grade.str.head(1),
    }


def _describe_borrower(normals: _Normals, generator: np.random.Generator) -> _Columns:
    # Incomes grow by factors: between two quantiles their logarithms are nearer to a line than they are themselves.
    exact = np.exp(copula.look_up_values(normals["annual_inc"], np.log(_QUANTILES["annual_inc"])))
    income = _name_amounts(exact, 1.0, generator)
    names = ("emp_length", "home_ownership", "verification_status")
    return {
        "annual_inc": pl.Series(income),
        "emp_title": _write_employment(len(income), generator),
        **{name: copula.look_up_labels(normals[name], _SHARES[name]) for name in names},
        **_locate(len(income), generator),
    }


def _write_employment(rows: int, generator: np.random.Generator) -> pl.Series:
    """A job, a firm, or a job at a firm."""
    job = copula.write(_RANKS, rows, generator) + copula.write(_JOBS, rows, generator)
    firm = copula.write(_PLACES, rows, generator) + copula.write(_FIRMS, rows, generator)
    way = pl.Series(generator.integers(0, 3, rows))
    return job.zip_with(way == 0, firm.zip_with(way == 1, job + " at " + firm))


def _locate(rows: int, generator: np.random.Generator) -> _Columns:
    names, shares, first, last = zip(*_STATES, strict=True)
    state = copula.choose(shares, rows, generator)
    area = pl.Series(generator.integers(np.take(first, state), np.take(last, state), endpoint=True))
    return {"addr_state": copula.label(names, state), "zip_code": area.cast(pl.String).str.zfill(3) + "xx"}


def _describe_purpose(normals: _Normals, generator: np.random.Generator) -> _Columns:
    """The purpose, and a title that repeats it or says it in the borrower's words."""
    purpose = copula.look_up_labels(normals["purpose"], _SHARES["purpose"])
    plain, rows = purpose.str.replace_all("_", " "), len(purpose)
    own = copula.write(_WISHES, rows, generator) + plain + copula.write(_GOALS, rows, generator)
    return {"purpose": purpose, "title": own.zip_with(pl.Series(generator.random(rows) < 0.4), plain)}


def _recall_credit(normals: _Normals, issued: IntArray, generator: np.random.Generator) -> _Columns:
    opened = issued - _draw_values(normals, "credit_age").astype(np.int64)
    counts = {name: copula.look_up_categories(normals[name], shares) for name, shares in _COUNTS.items()}
    whole = {name: _draw_values(normals, name).round() for name in ("open_acc", "total_acc", "revol_bal")}
    late, noted = counts["delinq_2yrs"] > 0, counts["pub_rec"] > 0
    return {
        **{name: pl.Series(count.astype(np.float64)) for name, count in (counts | whole).items()},
        "dti": pl.Series(_draw_values(normals, "dti").round(2)),
        "revol_util": pl.Series(_draw_values(normals, "revol_util").round(1)),
        "earliest_cr_line": copula.label(_CALENDAR, opened),
        "mths_since_last_delinq": _date(late, (0, 24), (24, 84), 0.29, generator),
        "mths_since_last_record": _date(noted, (24, 120), (0, 1), 0.03, generator),
    }


def _date(
    counted: npt.NDArray[np.bool_],
    within: tuple[int, int],
    otherwise: tuple[int, int],
    known: float,
    generator: np.random.Generator,
) -> pl.Series:
    """Months since the last bad mark: known where one is counted, and for a share of the others."""
    rows = len(counted)
    months = np.where(counted, generator.integers(*within, rows), generator.integers(*otherwise, rows))
    return pl.Series(np.where(counted | (generator.random(rows) < known), months, np.nan)).fill_nan(None)


def _follow_up(normals: _Normals, issued: IntArray, generator: np.random.Generator) -> _Columns:
    """What became of the loans: the older ones have mostly ended; and the columns that hardly vary."""
    rows = len(issued)
    closed = generator.random(rows) < (len(_CALENDAR) - issued) / _draw_months(normals)
    ending, standing = (copula.look_up_labels(normals["trouble"], shares) for shares in (_CLOSED, _OPEN))
    return {
        "issue_d": copula.label(_CALENDAR, issued),
        "loan_status": ending.zip_with(pl.Series(closed), standing),
        "pymnt_plan": pl.repeat("n", rows, eager=True),
        "policy_code": pl.repeat(1.0, rows, eager=True),
        "initial_list_status": copula.write(["f", "w"], rows, generator),
        "application_type": copula.label(["INDIVIDUAL", "JOINT"], copula.choose((9994, 6), rows, generator)),
    }


def _leave_blanks(frame: pl.DataFrame, generator: np.random.Generator) -> pl.DataFrame:
    """The few blanks of the real columns; those who name no employment have no title either."""
    chance = pl.lit(pl.Series(generator.random(len(frame))))
    nameless = (pl.col("emp_length") == "n/a") | (chance > 0.964)
    blanks = ((_HISTORY, chance < 0.0007), (["revol_util"], chance < 0.002), (["emp_title"], nameless))
    return frame.with_columns(pl.when(~blank).then(pl.col(names)).name.keep() for names, blank in blanks)


def _draw_values(normals: _Normals, name: str) -> FloatArray:
    return copula.look_up_values(normals[name], _QUANTILES[name])


def _draw_months(normals: _Normals) -> FloatArray:
    return np.where(copula.look_up_categories(normals["term"], list(_SHARES["term"].values())), 60.0, 36.0)


def _name_amounts(amounts: FloatArray, unit: float, generator: np.random.Generator) -> FloatArray:
    """People name round numbers: most amounts go to the nearest thousand, the others to the nearest unit."""
    thousands = np.maximum((amounts / 1000.0).round(), 1.0) * 1000.0
    return np.where(generator.random(len(amounts)) < 0.6, thousands, (amounts / unit).round() * unit)
