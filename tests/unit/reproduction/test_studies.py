"""The paper's figures: computed, judged and drawn, from a small world."""

import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput, BadTable
from copriv.records import hospital_like, lending_like
from copriv.records.hospital import HOSPITAL
from copriv.records.lending import LENDING
from copriv.records.official import Choice, take_in_official
from copriv.reproduction import paper
from copriv.reproduction.fits import fit_bound, fit_slope
from copriv.reproduction.page import Chapter, write_page
from copriv.reproduction.runner import run_cells
from copriv.reproduction.study import Settings, save
from copriv.reproduction.world import World, alone


def _world(kind, frame, scale="printed", **choice):
    order = np.random.default_rng(0).permutation(frame.height)
    return World.of(kind.name, take_in_official(frame.lazy(), kind, Choice(**choice), order=order), scale)


@pytest.fixture(scope="module")
def loans():
    return _world(LENDING, lending_like.generate(60_000, np.random.default_rng(0)), public_rows=6000)


@pytest.fixture(scope="module")
def stays():
    frame = hospital_like.generate(30_000, np.random.default_rng(0))
    return _world(HOSPITAL, frame, public_rows=5000, min_records=500)


@pytest.fixture
def settings(tmp_path):
    def run(cells):
        return run_cells(cells, cache=tmp_path / "cache", tell=lambda _done, _total: None)

    return Settings(12, 0, run)


def test_loans_behave_as_the_paper_says(loans, settings, tmp_path):
    figures = {figure.name: figure for figure in paper.lending_figures(loans, settings, set(paper.LENDING))}
    assert set(figures) == set(paper.LENDING)
    # Banks of 18,000 loans are too small for ε = 0.1: there the noise wins, and the median rises.
    for finding in (*figures["a0"].findings[1:], *figures["a1"].findings):
        assert finding.agrees, finding
    table = figures["a1"].table
    assert table.height == 9 * table["records"].n_unique()
    region = figures["a4"].table
    assert not region.filter(pl.col("epsilon") == 0.1)["joining_pays"].any()
    for figure in figures.values():
        save(figure, tmp_path, "a label")
        assert {path.suffix for path in tmp_path.glob(f"{figure.name}.*")} == {".csv", ".png", ".svg"}


def test_hospitals_behave_as_the_paper_says(stays, settings, tmp_path, rendered):
    figures = {figure.name: figure for figure in paper.hospital_figures(stays, settings, set(paper.HOSPITAL))}
    assert set(figures) == set(paper.HOSPITAL)
    assert figures["b2"].table["hospital"].to_list() == list(stays.names)
    assert figures["b2"].table["alone"].to_list() == alone(stays.owners())
    assert all(finding.agrees is not False for finding in figures["b1"].findings), figures["b1"].findings
    for figure in figures.values():
        save(figure, tmp_path, "a label")
    chapter = Chapter("Hospitals", "about", "printed, not ε-DP", 1000, tuple(figures.values()), ("a note",))
    page = write_page([chapter], tmp_path).read_text()
    for words in ("the paper says", "Fig. b2", "printed, not ε-DP", "not private", "data:image/png;base64"):
        assert words in page
    assert "http" not in page


def test_valid_noise_is_larger_than_printed_noise_by_the_norms(loans):
    frame = lending_like.generate(60_000, np.random.default_rng(0))
    valid = _world(LENDING, frame, "valid", public_rows=6000)
    ratio = valid.bound / loans.bound
    assert 1.5 < ratio <= 11**0.5 + 1e-9


def test_what_was_computed_is_not_computed_again(loans, tmp_path, monkeypatch):
    cell = loans.cell(loans.blocks(3, 1000), 1.0, 0.1, runs=3, seed=0)
    told = []
    first = run_cells([cell, cell], cache=tmp_path, tell=lambda done, total: told.append((done, total)))
    assert told
    monkeypatch.setattr(type(cell), "run", lambda _self: pytest.fail("computed again"))
    again = run_cells([cell, cell], cache=tmp_path, tell=lambda _done, _total: None)
    assert again == first
    other = loans.cell(loans.blocks(3, 1000), 1.0, 0.1, runs=3, seed=1)
    assert other.key() != cell.key()


def test_a_cluster_gives_the_same_outcomes(loans, tmp_path):
    from dask.distributed import LocalCluster

    cells = [loans.cell(loans.blocks(3, 1000), epsilon, 0.1, runs=3, seed=0) for epsilon in (1.0, 10.0)]
    here = run_cells(cells, cache=tmp_path / "here", tell=lambda _done, _total: None)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**options) as cluster:
        there = run_cells(
            cells, cache=tmp_path / "there", dask=cluster.scheduler_address, tell=lambda _done, _total: None
        )
    assert there == here


def test_fits_have_teeth():
    x = np.geomspace(0.1, 10, 9)
    noise = np.exp(np.random.default_rng(0).normal(scale=0.02, size=9))
    assert fit_slope(x, 3 * x**-2 * noise).within(-2.2, -1.8)
    assert not fit_slope(x, 3 * x**-1.5 * noise).within(-2.2, -1.8)
    assert fit_bound(3 * x**-2 * noise, x**-2).r_squared > 0.99
    assert fit_bound(3 * x**-1 * noise, x**-2).r_squared < 0.9


def test_tables_that_are_not_official_are_refused():
    frame = pl.DataFrame({"x": np.arange(100.0), "y": np.arange(100.0)})
    for kind in (LENDING, HOSPITAL):
        with pytest.raises(BadTable, match="does not look like"):
            take_in_official(frame.lazy(), kind, Choice())
    with pytest.raises(BadInput, match="no figure z9"):
        paper.choose_figures("a0,z9", paper.LENDING)


@pytest.mark.parametrize(
    ("file", "kind", "choice"),
    [
        ("lending_2007_2011.parquet", LENDING, {}),
        ("lending_887k_categories.parquet", LENDING, {"target": "grade", "ordinal": True}),
        ("hospital_heart_failure_2024.parquet", HOSPITAL, {"min_records": 200}),
        ("hospital_2022.parquet", HOSPITAL, {"min_records": 100}),
        ("hospital_2016_1000.parquet", HOSPITAL, {"min_records": 13}),
    ],
)
def test_real_tables_are_read_by_their_official_columns(real_data, file, kind, choice):
    from copriv.records.table import open_table

    table = open_table(real_data / file)
    found = take_in_official(table.head(15_000) if kind is LENDING else table, kind, Choice(**choice))
    used = set(found.dictionary.required_columns())
    assert not used & set(kind.irrelevant)
    assert found.dictionary.target.name in (*kind.targets,)
    assert sum(owner.sample.records for owner in found.owners) > 0
