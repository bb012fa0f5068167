"""Five months of retrainings, in short; `make months` lives 24 on real panels."""

from pathlib import Path

import months
import numpy as np
import polars as pl
import pytest

from copriv.owner.arrival import append_block
from copriv.owner.registry import Registry
from copriv.records import lending_like
from copriv.records.block_files import BlockFile

LIFETIME = 10**9


@pytest.fixture(scope="module")
def setup():
    """A generated panel with 1 to 5 rows a person."""
    chance = np.random.default_rng(5)
    sizes = chance.integers(1, 6, 420)
    rows = lending_like.generate(int(sizes.sum()), chance)
    people = np.repeat([f"p{number}" for number in range(420)], sizes)
    panel = rows.select("int_rate", "annual_inc", "dti", "loan_amnt").with_columns(person=pl.Series(people))
    return months.Setup(
        panel, "int_rate", months=5, owners=2, features=2, public_people=120, kills=0.35, restores=0.5, seed=3
    )


def test_nobody_loses_more_than_the_lifetime_epsilon(setup, tmp_path):
    life, found = months.live(setup, tmp_path)
    assert max(life.losses.values()) <= LIFETIME
    assert len(life.losses) == 300, "everybody was read"
    assert life.returned > 100
    assert life.killed
    assert life.interrupted
    assert life.restored == life.noticed > 0
    assert found.lifetime.window.ratio <= 1.5
    assert len(life.models) == 5


def test_a_twin_that_gives_returning_people_a_new_account_is_caught(setup, tmp_path, monkeypatch):
    calm = months.Setup(**(vars(setup) | {"kills": 0.0, "restores": 0.0, "months": 3, "window": 1}))
    real = Registry.person

    def forgetful(registry, ledger, arrival):
        def hashed(known, who):
            return real(known, f"{arrival.name} {who}")

        with monkeypatch.context() as patch:
            patch.setattr(Registry, "person", hashed)
            return append_block(registry, ledger, arrival)

    monkeypatch.setattr("copriv.owner.reading._of_people", _whole_file_of_its_block)
    monkeypatch.setattr("copriv.owner.workspace.require_units", lambda *_given: None)
    life, _ = months.live(calm, tmp_path, append=forgetful)
    assert max(life.losses.values()) > LIFETIME


def _whole_file_of_its_block(block, _people, reading, _counted):
    nobody = None if block.name in reading.blocks else pl.Series("people", [], dtype=pl.String)
    return BlockFile(Path(block.path), person=block.person, people=nobody)
