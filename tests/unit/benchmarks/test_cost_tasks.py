"""The cost benchmark puts what its tasks bring back into the right tables."""

import pytest
from benchmarks import cost
from benchmarks.datasets import BANKS, OTHERS


@pytest.fixture
def tables(monkeypatch):
    """The tables that a run with stand-ins for its tasks would print."""
    told = {}
    sources = [source.name for source in (BANKS, *OTHERS)]
    bought = dict.fromkeys(cost.libraries.COLUMNS, 5.0)

    def compare(source, draw):
        ordinary = {column: float(draw) for column in cost.COLUMNS if column not in bought}
        cell = {**ordinary, "ours": 10.0 * sources.index(source.name) + draw}
        return {(source.name, 1.0): {**cell, **(bought if draw < cost.LIBRARY_DRAWS else {})}}

    monkeypatch.setattr(cost, "compare", compare)
    monkeypatch.setattr(cost, "thresholds", lambda: ([["3 banks", 0.1, 1e-4]], [["1", 3, 1e-4]]))
    monkeypatch.setattr(cost, "without_public_rows", lambda: [["bare"]])
    monkeypatch.setattr(cost, "logistic", lambda: [["logistic"]])
    monkeypatch.setattr(cost, "share_out", lambda tasks, _: [task() for task in tasks])
    monkeypatch.setattr(cost, "draw_picture", lambda _: None)
    monkeypatch.setattr(cost.libraries, "installed", lambda: "no time")
    monkeypatch.setattr(cost, "tell", lambda name, _, columns, rows, **__: told.update({name: (columns, rows)}))
    cost.main()
    return told


def test_cells_are_averaged_over_all_draws_of_their_source(tables):
    columns, rows = tables["cost"]
    middle = sum(range(cost.DRAWS)) / cost.DRAWS
    assert [row[0] for row in rows] == [source.name for source in (BANKS, *OTHERS)]
    assert [row[columns.index("ours")] for row in rows] == [10.0 * k + middle for k in range(len(rows))]
    assert {row[columns.index(cost.libraries.CURATOR)] for row in rows} == {5.0}


def test_every_other_table_gets_its_own_rows(tables):
    assert tables["cost-without-public-rows"][1] == [["bare"]]
    assert tables["cost-logistic"][1] == [["logistic"]]
    assert tables["cost-who-gains"][1] == [["3 banks", 0.1, 1e-4]]
    assert tables["cost-how-many"][1] == [["1", 3, 1e-4]]
