"""What the calibration rests on: jobs in other processes, and models judged by second moments."""

import math
import os
from functools import partial

import numpy as np
import pytest
from benchmarks.calibration import Judge
from benchmarks.crew import crew, work_off
from benchmarks.scenes import make_scene

from copriv.losses.sample import Sample


def test_jobs_run_elsewhere_with_one_thread_and_come_back_in_order():
    before, done = dict(os.environ), []
    with crew() as workers:
        jobs = [partial(math.sqrt, number) for number in range(6)]
        assert work_off(workers, jobs, lambda: done.append(1)) == [math.sqrt(number) for number in range(6)]
        assert work_off(workers, [partial(os.getenv, "NUMBA_NUM_THREADS")], lambda: None) == ["1"]
        assert workers.submit(os.getpid).result() != os.getpid()
    assert len(done) == 6
    assert dict(os.environ) == before


def test_a_job_that_fails_is_not_passed_over():
    with crew() as workers, pytest.raises(ValueError, match="math domain"):
        work_off(workers, [partial(math.sqrt, 1), partial(math.sqrt, -1)], lambda: None)


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
