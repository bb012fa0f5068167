"""Counts and sums of held-back records: exact, in any order, and moved by one record no further than proven."""

import itertools

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.losses.validation import LIGHT, LabelGrid, NumberGrid, grid_of, shape_for
from copriv.privacy.sensitivity import of_counts, of_square_sums
from copriv.vectors import Norm

THETA = np.array([1.0, 0.5])
# Rows with an intercept; the last is one without a usable target.
ROWS = [(1.0, x) for x in (-3.0, -0.4, 0.0, 0.4, 3.0)]
EXTREMES = [(row, y) for row in ROWS for y in (-1.0, -0.2, 0.7, 1.0)] + [((0.0, 0.0), 0.0)]
LABELS = [(row, y) for row in ROWS for y in (-1.0, 1.0)] + [((0.0, 0.0), 0.0)]


def _table(records):
    return Sample.of_rows([row for row, _ in records], [y for _, y in records])


def _furthest(grid, records, norm):
    """Over all pairs of neighbours of three records."""
    base = [records[0], records[1], records[2]]
    answers = [grid.exact(_table([*base[:2], each]), THETA) for each in records]
    return max(norm.of(one - other) for one, other in itertools.combinations(answers, 2))


@pytest.mark.parametrize("norm", list(Norm))
def test_no_pair_of_neighbours_moves_counts_further_and_some_reach_it(norm):
    found = _furthest(LabelGrid((0.5, 1.0)), LABELS, norm)
    assert found <= of_counts(norm).value
    assert found == pytest.approx(of_counts(norm).value)
    assert found > of_counts(norm).value / 2  # the twin: a sensitivity of 1


@pytest.mark.parametrize("norm", list(Norm))
def test_no_pair_of_neighbours_moves_sums_further_and_some_come_close(norm):
    found = _furthest(NumberGrid(0.0, 1.0, 0.5), EXTREMES, norm)
    allowed = of_square_sums(light=LIGHT, norm=norm).value
    assert 0.7 * allowed < found <= allowed


def test_sums_are_the_same_in_any_order_and_in_parts():
    rng = np.random.default_rng(3)
    rows, targets = rng.normal(size=(5000, 2)), rng.uniform(-1, 1, 5000)
    grid, order = NumberGrid(0.1, 0.9, 2.0), rng.permutation(5000)
    whole = grid.exact(Sample.of_rows(rows, targets), THETA)
    assert (whole == grid.exact(Sample.of_rows(rows[order], targets[order]), THETA)).all()
    assert (whole == grid.exact(Sample.of_rows(rows, targets).in_parts(512), THETA)).all()


def test_every_record_is_in_one_cell():
    rng = np.random.default_rng(4)
    sample = Sample.of_rows(np.column_stack([np.ones(700), rng.normal(size=700)]), rng.choice([-1.0, 1.0], 700))
    counts = LabelGrid((-0.5, 0.5, 1.5)).exact(sample, THETA)
    assert counts.sum() == 700
    assert counts.size == 9
    assert counts[4:8].sum() == (sample.targets > 0).sum()


def test_bad_grids_are_refused():
    for edges in ((), (1.0, 1.0), (float("nan"),), tuple(range(64))):
        with pytest.raises(BadInput, match="edges"):
            LabelGrid(edges)
    with pytest.raises(BadInput, match="numbers for validation"):
        grid_of("numbers", (1.0,))
    with pytest.raises(BadInput, match="finite numbers"):
        NumberGrid(0.0, 0.0, 1.0)
    with pytest.raises(BadInput, match="validation under the poisson loss"):
        shape_for("poisson")
