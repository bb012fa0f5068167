"""Private fits of counts and costs: better with ε, and at or below the public model; seeds are fixed.

Over two draws of the public rows: in one of them alone these may be luckier than ours at ε = 0.1.
"""

import numpy as np
import pytest
from benchmarks import counts


@pytest.mark.parametrize("source", [counts.SOURCES[0], counts.SOURCES[3]], ids=lambda source: source.name)
def test_the_mean_distance_falls_with_epsilon_and_is_at_most_that_of_the_public_model(source, real_data):
    assert real_data
    *ours, _, public = np.mean([counts.measure(counts.scene_of(source, seed), seed, runs=4) for seed in (0, 1)], axis=0)
    assert ours == sorted(ours, reverse=True)
    assert ours[0] <= public
    assert ours[-1] < public / 5
