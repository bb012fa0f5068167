"""The benchmark of public rows that differ: which pairs there are, how they are read, and what its summary counts."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from benchmarks import shift, shift_pairs, shift_rivals
from benchmarks.shift_pairs import Case, Family

from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import promised

TOY = Family("toy year", "toy", "pay", "year", (Case((1,)), Case((2,), shift_pairs.Partition("town"))), ("tell",))


def cell(pair: str, epsilon: float, ours: tuple[float, ...], held_out: bool = False, **rivals: float) -> shift.Cell:
    return shift.Cell(pair, "toy", held_out, epsilon, ours, {"public": 1.0, **rivals})


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A table in which year 1 pays less than year 2, in the place of the real ones."""
    stream, rows = np.random.default_rng(0), 400
    year = np.repeat([1, 2], rows // 2)
    columns = {
        "year": year,
        "age": stream.normal(size=rows),
        "size": stream.normal(size=rows),
        "town": ["a", "b"] * 200,
    }
    pay = columns["age"] + 10.0 * (year == 2)
    pl.DataFrame({**columns, "pay": pay, "tell": pay}).write_parquet(tmp_path / "toy.parquet")
    monkeypatch.setenv("COPRIV_DATA", str(tmp_path))
    monkeypatch.setattr(shift_pairs, "FAMILIES", (TOY,))


def test_half_of_every_family_is_held_out_and_names_are_unique():
    names = [name for name, *_ in shift_pairs.specs()]
    assert len(set(names)) == len(names)
    for family in shift_pairs.FAMILIES:
        held = [kept_out for _, of, _, kept_out in shift_pairs.specs() if of == family]
        assert 2 * sum(held) == len(held)
    assert set(shift.LENDING) <= set(names)


def test_public_rows_and_owners_are_of_different_years_and_nothing_gives_the_target_away(toy):
    first, second = shift_pairs.pairs()
    assert (first.held_out, second.held_out) == (False, True)
    assert first.scene.public.records == sum(first.scene.records) == 200
    assert len(first.scene.samples) == 10
    assert len(second.scene.samples) == 2
    # An intercept, age and size; neither the year, nor the owner, nor what tells the target.
    assert second.scene.public.parameters == 3
    # The first year's targets are the unit: the second year's are all beyond it.
    assert np.all(first.scene.joint.targets > 0.99)
    assert abs(first.scene.public.targets.mean()) < 0.1


def test_a_pair_is_found_by_its_name(toy):
    [name, other] = [name for name, *_ in shift_pairs.specs()]
    assert name == "toy year: 1 → others by 10 blocks"
    assert shift_pairs.load(other).held_out
    with pytest.raises(KeyError):
        shift_pairs.load("nowhere")


def test_the_summary_counts_close_cells_bad_runs_and_growth():
    good = cell("a", 0.1, (0.5, 0.5), statistics=0.5)
    worse = cell("a", 1.0, (0.6, 2.0), held_out=True, statistics=0.1)
    measured = {str(row[0]).split(", ")[-1]: row[1:] for row in shift.summary([good, worse])}
    assert measured["all (2)"] == ["50%", "≥ 85%", "no"]
    assert measured["held out (1)"] == ["0%", "≥ 85%", "no"]
    assert measured["runs above 1.5 × public-only at ε = 0.1 (2)"] == ["0.0%", "≤ 5%", "yes"]
    assert measured["runs above 1.5 × public-only at ε = 1 (2)"] == ["50.0%", "≤ 1%", "no"]
    assert shift.grows([worse, good]) == [("a", "0.5 at 0.1, 1.3 at 1")]
    assert not shift.grows([good, replace(worse, ours=(0.4, 0.4))])


def test_why_ours_is_worse_is_chance_noise_or_the_clip(monkeypatch):
    monkeypatch.setattr(shift, "ours", lambda *_, **__: np.asarray([0.01]))
    worse = cell("a", 1.0, (0.9, 0.91), statistics=0.5)
    assert shift.explain(None, cell("a", 1.0, (0.2, 1.4), statistics=0.5)).startswith("chance")
    for left, why in ((0.02, "noise"), (0.8, "clip")):
        monkeypatch.setattr(shift, "at_same_clip", lambda *_, left=left: [left])
        assert shift.explain(None, worse).startswith(why)


def test_rivals_are_searched_on_fewer_records_with_the_noise_of_all(toy, monkeypatch):
    monkeypatch.setattr(shift_rivals, "SEARCH_RECORDS", 50)
    monkeypatch.setattr(shift_rivals.peers, "HORIZON", 20)
    monkeypatch.setattr(shift_rivals, "AVERAGED_STEPS", 1)
    scene = shift_pairs.load("toy year: 2 → others by town").scene
    field = shift_rivals.Field.of(scene)
    assert (scene.records, field.every, field.thin.records) == ((100, 100), 4, (25, 25))
    protection = promised(Guarantee.of(1.0), scene.public.parameters)
    told = [each.noise_std for each in field.thinned(protection).of(field.thin.records, 1.0, 2)]
    assert told == [each.noise_std for each in protection.of(scene.records, 1.0, 2)]
    # A twin that takes the noise of the thinned records would be louder.
    assert told[0] < protection.of(field.thin.records, 1.0, 2)[0].noise_std / 3
    found = shift_rivals.rivals(field, 1.0, runs=2, seed=0)
    assert tuple(found) == shift_rivals.NAMES
    assert found["public"] == scene.psi(field.start)
    assert all(psi >= 0 for psi in found.values())
