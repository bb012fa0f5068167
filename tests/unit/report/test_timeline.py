"""Who answered when, counted: nothing is lost in columns."""

import numpy as np

from copriv.report.timeline import COLUMNS, MOST_ROWS, draw_up


def test_every_meeting_is_counted():
    generator = np.random.default_rng(0)
    names = [f"owner-{k}" for k in range(MOST_ROWS + 1)]
    met, good = generator.integers(len(names), size=10_000), generator.random(10_000) < 0.7
    found = draw_up(names, list(range(1, 10_001)), [names[k] for k in met], good.tolist())
    assert (sum(found.answers), found.refused) == (good.sum(), (~good).sum())
    assert len(found.answers) == COLUMNS
    assert found.rows == []
    for place in (0, 7):
        mine = np.flatnonzero((met == place) & good) + 1
        assert (found.owners[place].first, found.owners[place].last) == (mine[0], mine[-1])
        assert found.owners[place].answers == mine.size


def test_an_owner_that_never_came_has_a_row():
    found = draw_up(["east", "west"], [2, 4], ["east", "east"], [True, False])
    assert found.rows == [".a.r", "...."]
    assert (found.owners[1].answers, found.owners[1].first) == (0, 0)
