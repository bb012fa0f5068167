"""Private fits of counts and costs: better with ε, and at or below the public model; seeds are fixed."""

import pytest
from benchmarks import counts


@pytest.mark.parametrize("source", [counts.SOURCES[0], counts.SOURCES[3]], ids=lambda source: source.name)
def test_the_mean_distance_falls_with_epsilon_and_is_at_most_that_of_the_public_model(source, real_data):
    assert real_data
    scene = counts.scene_of(source, seed=0)
    *ours, _, public = counts.measure(scene, 0, runs=4)
    assert ours == sorted(ours, reverse=True)
    assert ours[0] <= public
    assert ours[-1] < public / 5
