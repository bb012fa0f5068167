"""Loans of a few columns, for tests that are not about columns: each is surveyed and coded in every run."""

import numpy as np

from copriv.records import lending_like

COLUMNS = ("id", "loan_amnt", "int_rate", "grade", "home_ownership", "annual_inc", "issue_d", "addr_state", "dti")


def narrow_loans(rows, seed):
    """As `lending_like` makes them: a number, categories, a day and a state beside the target, and no more."""
    return lending_like.generate(rows, np.random.default_rng(seed)).select(COLUMNS)
