"""A dossier has no figure without a source: every link is walked, and twins with a wrong number are caught."""

import re

import msgspec
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import copriv as cp
from copriv.cli.main import app
from copriv.errors import BadInput
from copriv.report.dossier import Dossier, Entry, Link, Sources, verify
from copriv.report.dossier_files import dossier_html, write_dossier
from copriv.report.dossier_sections import make_dossier


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small run like the README's, with a validation."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 2))
    table = pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "rate": rows @ [1.0, 2.0] + rng.normal(size=1500)})
    run = cp.train(cp.read(table, target="rate", owners=3, features="all"), 1, simulate=True, validate=0.3)
    return run.save(tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def dossier(folder):
    return make_dossier(Sources(folder))


def test_every_link_leads_to_the_very_number(folder, dossier):
    assert len(dossier.entries) > 25
    assert all(entry.links for entry in dossier.entries)
    assert verify(dossier, folder) == []


@pytest.mark.parametrize("place", [0, 3, 8, 11, 20, -1])
def test_a_twin_with_a_wrong_number_is_caught(folder, dossier, place):
    entry = dossier.entries[place]
    value = f"{entry.value}?" if isinstance(entry.value, str) else entry.value * 1.001 + 1e-9
    assert len(verify(_changed(dossier, entry, msgspec.structs.replace(entry, value=value)), folder)) == 1


def test_twins_without_a_source_or_with_a_private_one_are_caught(folder, dossier):
    entry = dossier.entries[3]
    for links in ((), (Link("run.json", "/relative_fitness"),), (Link("model.json", "/terms/nothing"),)):
        assert len(verify(_changed(dossier, entry, msgspec.structs.replace(entry, links=links)), folder)) == 1


def test_a_file_that_was_changed_is_caught(folder, dossier, tmp_path):
    for name in ("model.json", "privacy.json", "report.json", "schedule.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert verify(dossier, tmp_path) == []
    (tmp_path / "report.json").write_bytes((folder / "report.json").read_bytes() + b" ")
    assert verify(dossier, tmp_path) == ["report.json is not the file that the dossier was made of"]


def test_words_have_no_figures(dossier):
    """A number in prose would have no source."""
    assert not [words for section in dossier.sections for words in section.words if re.search(r"\d", words)]


def test_the_page_shows_every_figure_with_its_link_and_runs_no_script(dossier):
    page = dossier_html(dossier)
    assert "<script" not in page
    rows = re.findall(r'<td class="value">.*?</td><td class="words">(.*?)</td>', page)
    assert len(rows) == len(dossier.entries)
    assert all("<a href=" in source for source in rows)
    assert "SIMULATED" in page


def test_nothing_that_was_measured_on_records_gets_in(folder, dossier):
    """ψ, R² and the rest of run.json are not private: none of these numbers is in the dossier."""
    figures = msgspec.json.decode((folder / "run.json").read_bytes())
    measured = {figures["relative_fitness"], figures["fitness"], figures["best_fitness"], figures["held_back"]["rmse"]}
    assert not measured & {entry.value for entry in dossier.entries}
    assert {link.file for entry in dossier.entries for link in entry.links} <= {seal.file for seal in dossier.files}


def test_the_command_and_the_method_write_the_same(folder, tmp_path):
    out = tmp_path / "for-the-bank.html"
    told = CliRunner().invoke(
        app, ["dossier", str(folder), "--out", str(out), "--sign-off", "validator: A. Kim", "--json"]
    )
    assert told.exit_code == 0, told.output
    kept = msgspec.json.decode(out.with_suffix(".json").read_bytes(), type=Dossier)
    assert verify(kept, folder) == []
    assert "A. Kim" in out.read_text(encoding="utf-8")
    with pytest.raises(BadInput, match=r"name it with \.html"):
        write_dossier(folder, tmp_path / "dossier.pdf")
    wrong = CliRunner().invoke(app, ["dossier", str(tmp_path)])
    assert wrong.exit_code != 0


def _changed(dossier, entry: Entry, other: Entry):
    sections = tuple(
        msgspec.structs.replace(section, entries=tuple(other if each is entry else each for each in section.entries))
        for section in dossier.sections
    )
    return msgspec.structs.replace(dossier, sections=sections)
