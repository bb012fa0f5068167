"""What the calibration rests on: models judged by second moments."""

import numpy as np
import pytest
from benchmarks.calibration import Judge
from benchmarks.datasets import make_scene

from copriv.losses.sample import Sample


def test_models_are_judged_as_by_reading_all_records():
    chance = np.random.default_rng(0)
    samples = []
    for size in (30, 50, 90):
        rows = chance.normal(size=(size, 3)) / 3
        samples.append(Sample.of_rows(rows, rows @ [0.5, -0.2, 0.1] + 0.1 * chance.normal(size=size)))
    scene = make_scene(samples[0], samples)
    judge = Judge.of(scene)
    for theta in chance.normal(size=(5, 3)):
        assert judge.psi(theta) == pytest.approx(scene.psi(theta), rel=1e-9)
