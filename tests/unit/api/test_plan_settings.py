"""What forecast, plan and verdict are told about files means the same in all of them."""

import numpy as np
import polars as pl
import pytest

from copriv.api.forecast import forecast
from copriv.api.verdict import verdict
from copriv.planning.scenario import Scenario


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A table, and the same with semicolons, decimal commas and umlauts."""
    chance = np.random.default_rng(3)
    rows = 400
    x = chance.normal(size=rows)
    table = pl.DataFrame(
        {
            "größe": np.round(x, 3),
            "ort": [("Köln", "Bonn")[k % 2] for k in range(rows)],
            "rate": np.round(5 + 2 * x + chance.normal(size=rows), 3),
        }
    )
    folder = tmp_path_factory.mktemp("files")
    lines = [";".join(str(cell).replace(".", ",") for cell in row) for row in table.rows()]
    path = folder / "german.csv"
    path.write_bytes("\n".join([";".join(table.columns), *lines, ""]).encode("latin-1"))
    return table, path


FORM = {"encoding": "latin-1", "decimal": ",", "features": 10}


def test_a_forecast_reads_files_as_it_is_told(written):
    table, path = written
    who = Scenario([200] * 5)
    plain = forecast(table, who, target="rate", rule="newton", features=10)
    told = forecast(path, who, target="rate", rule="newton", **FORM)
    assert told.relative_fitness == plain.relative_fitness
    assert (
        told.relative_fitness
        != forecast(
            path, who, target="rate", rule="newton", encoding="latin-1", ordinal=True, features=10
        ).relative_fitness
    )


def test_a_verdict_reads_both_files_as_it_is_told(written):
    table, path = written
    who = Scenario([400] * 5)
    plain = verdict(table, table, who, target="rate", rule="newton", features=10)
    assert verdict(path, path, who, target="rate", rule="newton", **FORM).to_dict() == plain.to_dict()
