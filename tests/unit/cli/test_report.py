"""`copriv report`: both files of any finished run, written anew, also of runs that earlier versions have kept."""

import json
import stat

import pytest

OF_LATER = ("report.html", "report.json", "report-internal.html")


@pytest.fixture(scope="module")
def run(copriv_once, table, tmp_path_factory):
    """A finished run with secure noise, and what was printed at its end."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COPRIV_REGISTRY", str(folder / "registry"))
        outcome = _train(copriv_once, folder, table)
    assert outcome.code == 0, outcome.err
    return folder / "run", outcome.out


def _train(copriv_once, folder, table):
    return copriv_once(
        *(folder, "train", "--data", table, "--target", "int_rate", "--owner-column", "bank", "--features", "3"),
        *("--rule", "paper", "--horizon", "9", "--public-rows", "300", "--out", "run"),
    )


def _told(folder):
    return {name: (folder / name).read_bytes() for name in OF_LATER}


def test_training_ends_with_the_report(run):
    folder, out = run
    *_, passed_on, kept = out.rstrip().splitlines()
    assert passed_on == "report: run/report.html (may be passed on)"
    assert kept.split() == ["run/report-internal.html", *["(measured", "on", "records:", "not", "private)"]]
    assert all((folder / name).is_file() for name in OF_LATER)


def test_reports_are_written_anew_and_are_the_same(copriv, run):
    folder, _ = run
    before = _told(folder)
    for name in ("report.html", "report-internal.html"):
        (folder / name).unlink()
    told = json.loads(copriv("report", folder, "--json").out)
    assert told == {
        "report": str(folder / "report.html"),
        "internal": str(folder / "report-internal.html"),
        "private": True,
    }
    after = _told(folder)
    assert after["report.html"] == before["report.html"]
    assert after["report.json"] == before["report.json"]
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in OF_LATER} == {0o600}


def test_a_run_without_facts_gets_what_it_has_kept(copriv, run, tmp_path):
    """As earlier versions have left it: no report.json; meetings, models and forecasts are still on record."""
    folder, _ = run
    facts = json.loads((folder / "report.json").read_text())
    before = _told(folder)
    for name in OF_LATER:
        (folder / name).unlink()
    exported = copriv("export", folder, tmp_path / "handout")
    assert exported.code == 0, exported.err
    assert copriv("report", folder).code == 0
    found = json.loads((folder / "report.json").read_text())
    assert {name: found[name] for name in ("timeline", "command", "python", "foreseen")} == {
        name: facts[name] for name in ("timeline", "command", "python", "foreseen")
    }
    assert (tmp_path / "handout" / "report.html").read_bytes() == (folder / "report.html").read_bytes()
    for name, content in before.items():
        (folder / name).write_bytes(content)


def test_a_browser_is_opened_if_wanted(copriv, run, monkeypatch):
    folder, _ = run
    opened = []
    monkeypatch.setattr("typer.launch", lambda place: opened.append(place) or len(opened) - 1)
    assert copriv("report", folder, "--open").err == ""
    assert opened == [str(folder / "report.html")]
    assert "open" in copriv("report", folder, "--open").err


@pytest.mark.parametrize("content", [b"{", b'{"network": true, "format": 9}'])
def test_what_is_no_report_is_refused_with_its_name(copriv, run, content, tmp_path):
    folder, _ = run
    assert copriv("report", tmp_path).code == 2
    kept = (folder / "report.json").read_bytes()
    (folder / "report.json").write_bytes(content)
    outcome = copriv("report", folder)
    (folder / "report.json").write_bytes(kept)
    assert outcome.code == 2
    assert "report.json" in outcome.err
    assert "remedy" in outcome.err
