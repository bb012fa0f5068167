"""Records of three banks around a line, and public rows like them."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def banks():
    """Rows, targets, owners, and public rows with theirs."""
    chance = np.random.default_rng(5)
    rows = chance.normal(size=(1300, 3)) * [1.0, 10.0, 0.1] + [0.0, 50.0, 1.0]
    targets = rows @ [2.0, -0.3, 5.0] + 7 + 0.1 * chance.normal(size=1300)
    return (
        rows[:1000],
        targets[:1000],
        np.array(["north", "south", "west"])[np.arange(1000) % 3],
        (rows[1000:], targets[1000:]),
    )
