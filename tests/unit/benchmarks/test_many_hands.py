"""Benchmarks share their tasks out to processes with one thread each."""

import math
import os
from functools import partial

import pytest
from benchmarks.many_hands import share_out


def test_tasks_come_back_in_order_from_processes_of_one_thread():
    before = dict(os.environ)
    tasks = [*(partial(pow, 2, k) for k in range(5)), partial(os.getenv, "NUMBA_NUM_THREADS")]
    *powers, threads = share_out(tasks, "powers of two")
    assert (powers, threads) == ([1, 2, 4, 8, 16], "1")
    assert share_out([os.getpid], "who") != [os.getpid()]
    assert dict(os.environ) == before


def test_a_task_that_fails_is_not_passed_over():
    with pytest.raises(ValueError, match="math domain"):
        share_out([partial(math.sqrt, 1), partial(math.sqrt, -1)], "roots")
