"""How much one column says alone."""

import numpy as np
from scipy.stats import rankdata

from copriv.records.strength import _ranks


def test_equal_values_share_the_average_of_their_ranks():
    chance = np.random.default_rng(2)
    for values in (chance.normal(size=50), chance.integers(0, 5, 50).astype(float), np.zeros(3)):
        assert _ranks(values).tolist() == rankdata(values).tolist()
