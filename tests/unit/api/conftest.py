import numpy as np
import polars as pl
import pytest

from copriv.records import lending_like

COLUMNS = ["loan_amnt", "annual_inc", "dti", "grade", "home_ownership", "fico_range_low", "int_rate"]


@pytest.fixture(scope="session")
def loans():
    """The loans of three banks."""
    frame = lending_like.generate(900, np.random.default_rng(3))
    kept = [name for name in COLUMNS if name in frame.columns]
    return frame.select(kept).with_columns(pl.Series("bank", ["east", "north", "west"] * 300))


@pytest.fixture(scope="session")
def public():
    """Public loans of the same population."""
    frame = lending_like.generate(400, np.random.default_rng(4))
    return frame.select([name for name in COLUMNS if name in frame.columns])
