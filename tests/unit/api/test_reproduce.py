"""`reproduce` from Python: grids of one's own, nothing written unless a folder is named."""

import msgspec
import numpy as np
import pytest

from copriv.api.reproduce import reproduce
from copriv.errors import BadInput
from copriv.records import hospital_like, lending_like


@pytest.fixture(scope="module")
def loans():
    return lending_like.generate(8_000, np.random.default_rng(0))


def test_grids_are_what_is_drawn(loans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = reproduce(
        "lending", data=loans, runs=2, horizon=20, epsilons=[1, 10], sizes="500,1000", owners=[2, 6], figures="a0,a1,a4"
    )
    assert sorted(told.tables["a0"]["epsilon"].unique()) == [1, 10]
    assert told.tables["a0"]["k"].max() == 20
    assert sorted(told.tables["a1"]["records"].unique()) == [500, 1000]
    assert sorted(told.tables["a4"]["owners"].unique()) == [2, 6]
    assert told.page is None
    assert not list(tmp_path.iterdir())
    assert set(told.to_polars().columns) == {"figure", "paper", "ours", "agrees", "gap"}
    assert "not ε-DP" in told._repr_html_()
    assert msgspec.json.encode(told.to_dict())


def test_a_page_says_what_disagrees(loans, tmp_path):
    told = reproduce("lending", data=loans, runs=2, horizon=5, figures=["a0", "a00"], sizes=500, out=tmp_path)
    page = told.page.read_text()
    assert "see the figure" not in page
    assert "T = 5 (the paper: 1,000)" in page
    differing = [finding for _, finding in told.findings if not finding.agrees]
    assert all(finding.gap for finding in differing)
    again = reproduce("lending", data=loans, runs=2, horizon=5, figures=["a0", "a00"], sizes=500, out=tmp_path)
    assert again.findings == told.findings


def test_hospitals_can_be_drawn_with_one_epsilon():
    stays = hospital_like.generate(6_000, np.random.default_rng(0))
    told = reproduce("hospital", data=stays, min_records=100, public_rows=1_000, runs=2, horizon=20, epsilons=1)
    unknown = [finding for _, finding in told.findings if finding.agrees is None]
    assert any("no ε near 10" in finding.gap for finding in unknown)


@pytest.mark.parametrize(
    ("study", "settings", "named"),
    [
        ("loans", {}, "no study loans"),
        ("lending", {"horizon": 0}, "a horizon of 0"),
        ("lending", {"epsilons": "0,1"}, "grid of ε"),
        ("lending", {"owners": 1.5}, "1.5 owners"),
        ("lending", {"sizes": 100_000_000}, "owners of 100,000,000 records"),
        ("lending", {"noise": "none"}, "no noise none"),
        ("lending", {"run": 3}, "'run'"),
        ("hospital", {"sizes": 100}, "hospitals are as they are"),
    ],
)
def test_bad_settings_are_refused(loans, study, settings, named, tmp_path):
    with pytest.raises(BadInput) as refused:
        reproduce(study, data=loans, out=tmp_path / "figures", **settings)
    assert named in str(refused.value)
    assert not (tmp_path / "figures").exists()
