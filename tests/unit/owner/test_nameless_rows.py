"""Known rows under ids that nobody had before are no new people, unless a person signs."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.arriving_blocks import append, ledger_of, write

from copriv.errors import BadInput
from copriv.owner import known_people as module
from copriv.owner import nameless_rows as rows
from copriv.owner.dataset_ledger import Word, settle
from copriv.owner.registry import Registry


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return ledger_of(tmp_path)


def renumbered(of="first.parquet"):
    table = pl.read_parquet(of).with_columns(who=pl.lit("Z") + pl.col("who"))
    table.write_parquet("renumbered.parquet")
    return Path("renumbered.parquet").absolute()


def test_renumbered_people_are_refused_until_somebody_signs(ledger):
    with pytest.raises(BadInput, match="100% of its rows or ids with known records, and 0% of its people"):
        append(ledger, "again", renumbered())
    append(ledger, "feb", write("feb.parquet", [f"q{number}" for number in range(10)] * 2, 500))
    Path("feb.parquet").rename("kept-elsewhere.parquet")
    with pytest.raises(BadInput, match="of its people"):
        append(ledger, "again", renumbered("kept-elsewhere.parquet"))
    assert append(ledger, "again", renumbered(), unrelated=True).units == 20


def test_a_twin_that_knows_rows_with_their_ids_alone_takes_them_for_new(ledger, monkeypatch):
    monkeypatch.setattr(module, "kin_by_rows", lambda _registry, _found: ())
    assert append(ledger, "again", renumbered()).units == 20


def test_renumbered_people_get_no_new_ledger_either(ledger):
    append(ledger, "feb", write("feb.parquet", ["q1", "q2"] * 5, 500))
    pl.read_parquet(renumbered()).rename({"who": "card"}).write_parquet("card.parquet")
    with Registry() as registry, pytest.raises(BadInput, match=r"looks like a version of .*first.parquet"):
        settle(registry, registry.lookup(Path("card.parquet").absolute()), Word("me"), "card")


def few_values(name, seed):
    """Three hundred people with rows of 1,200 kinds: some repeat in one file, and as many meet between two."""
    draw = np.random.default_rng(seed).integers
    who = [f"{name}{number}" for number in range(300)]
    pl.DataFrame({"who": who, "x": draw(0, 40, 300), "y": draw(0, 30, 300)}).write_parquet(f"{name}.parquet")
    return Path(f"{name}.parquet").absolute()


def test_rows_that_meet_by_chance_are_new(ledger, monkeypatch):
    append(ledger, "a", few_values("a", 1))
    with monkeypatch.context() as patch:
        patch.setattr(rows, "_chance", lambda _known, _seen: 0.0)
        with pytest.raises(BadInput, match="of its people"):
            append(ledger, "b", few_values("b", 2))
    assert append(ledger, "b", few_values("b", 2)).units == 300
