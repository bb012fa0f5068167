"""A row becomes the same bits wherever it stands, in whatever batch."""

import numpy as np
import polars as pl
import pytest

from copriv.records.column import Column
from copriv.records.dictionary import Dictionary
from copriv.records.projection import project, shorten
from copriv.records.target import Target

ROWS, COLUMNS = 9, 40


def _cancelling():
    """Components within the ranges of a dictionary that leave of a row little but rounding."""
    generator = np.random.default_rng(5)
    weights = generator.choice([-1e9, 1e9], size=(3, COLUMNS)) * generator.uniform(0.1, 1, size=(3, COLUMNS))
    row = generator.normal(size=COLUMNS)
    weights[:, -1] = -(weights[:, :-1] @ row[:-1]) / row[-1]
    return weights, row


@pytest.mark.parametrize("height", [1, 2, 3, 5, 8, 13, 64, 257])
def test_identical_rows_have_identical_scores_at_every_place(height):
    weights, row = _cancelling()
    scores = shorten(project(np.tile(row, (height, 1)), weights), 1e-9)
    assert np.unique(scores.view(np.int64), axis=0).shape == (1, 3)
    assert scores.view(np.int64)[0].tolist() == shorten(project(row[None], weights), 1e-9).view(np.int64)[0].tolist()


def test_a_matrix_product_would_be_caught():
    """The twin: what a library makes of identical rows depends on where they stand."""
    weights, row = _cancelling()
    found = {
        bytes(score)
        for height in range(1, 40)
        for score in np.ascontiguousarray(np.tile(row, (height, 1)) @ weights.T).view(np.int64)
    }
    assert len(found) > 1


def test_a_dictionary_reads_a_row_alike_alone_and_among_others():
    weights, _ = _cancelling()
    generator = np.random.default_rng(6)
    names = [f"x{j}" for j in range(COLUMNS)]
    dictionary = Dictionary(
        tuple(Column(name, "number", 0.0, 0.0, 1.0) for name in names),
        tuple(tuple(np.clip(row, -1e9, 1e9).tolist()) for row in weights),
        1e-9,
        0.5,
        Target("y", "number", 0.0, 1.0),
    )
    table = pl.DataFrame(generator.normal(size=(ROWS, COLUMNS)), schema=names).with_columns(y=pl.lit(0.1))
    together = dictionary.records_of(table)[0]
    for place in range(ROWS):
        alone = dictionary.records_of(table[place])[0]
        assert alone.tobytes() == together[place : place + 1].tobytes()
