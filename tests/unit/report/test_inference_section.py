"""Coefficients as findings in report.html: by cause, with forests of owners, or the reason why there are none."""

import re
from dataclasses import replace
from io import StringIO

import msgspec
import numpy as np
import pytest
from rich.console import Console

import copriv as cp
from copriv.forecast.validation import Figure
from copriv.learner.validation import OwnerValidation, Validation
from copriv.report.inference import INFERENCE, Coefficient, Inference, MetaRow, OwnerEstimates
from copriv.report.inference_section import MOST_FINDINGS, MOST_FORESTS, MOST_OWNERS, inference_section
from copriv.report.inference_table import show_inference, show_meta
from copriv.report.kept_run import find_run, read_passable
from copriv.report.report_page import report_html
from copriv.report.table import show
from copriv.report.validation_table import owner_cells

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def told(columns=5, owners=4, none=""):
    """Coefficients that stand out the less the later they come; the intercept is last."""
    names = [f"column {place}" for place in range(columns)] + ["intercept"]
    held = {} if none else {"low": -1.0, "high": 9.0, "p_value": 0.25}
    found = tuple(
        Coefficient(name, 10.0 / (place + 1), 0.5, 0.3, 0.2, 0.1, 0.33, **held) for place, name in enumerate(names)
    )
    each = tuple(
        OwnerEstimates(f"bank {place}", 100 + place, (1.0,) * len(names), (0.5,) * len(names))
        for place in range(owners)
    )
    meta = tuple(MetaRow(name, (1.0, 0.5, 1.5), (1.1, 0.2, 2.0), 0.1, 0.5, 0.4) for name in names)
    return Inference(found, each, meta, population="Of these owners.", none=none)


@pytest.fixture(scope="module")
def run():
    stream = np.random.default_rng(7)
    age, height = stream.normal(40, 10, 4000), stream.normal(170, 8, 4000)
    table = {"age": age, "height": height, "y": 0.3 * age + stream.normal(0, 2, 4000)}
    return cp.train(cp.read(table, target="y", owners=4, features="all"), 10, simulate=True, seed=2)


def test_a_table_by_cause_and_forests_of_what_stands_out():
    shown = inference_section(told())
    assert [row[0] for row in shown["findings"].rows] == [f"column {place}" for place in range(5)] + ["intercept"]
    assert shown["findings"].headings[3:7] == ["sampling", "privacy", "owners", "public rows"]
    assert shown["findings"].rows[0][7] == "-1 to 9"
    assert len(shown["forests"]) == MOST_FORESTS
    picture, words = shown["forests"][0]
    assert "column 0" in picture
    assert all(f"bank {place}" in picture for place in range(4))
    assert "random effects" in picture
    assert "xmlns" not in picture
    assert "<style" not in picture
    assert words == "column 0, owner by owner."
    assert "random effects" in shown["forest_words"]
    assert shown["no_findings"] == ""


def test_a_reason_instead_of_forests():
    shown = inference_section(told(none="columns are nearly collinear"))
    assert shown["no_findings"] == "columns are nearly collinear"
    assert shown["forests"] == []
    assert shown["findings"].rows[0][7] == "no interval"
    nothing = inference_section(Inference(none="features are components"))
    assert (nothing["findings"], nothing["findings_words"], nothing["forests"]) == (None, [], [])
    assert inference_section(told(owners=1))["forests"] == []


def test_long_models_and_many_owners_are_told_by_the_largest():
    shown = inference_section(told(columns=1000, owners=500))
    assert len(shown["findings"].rows) == MOST_FINDINGS + 1
    assert shown["findings"].rows[-1][0] == "intercept"
    assert "940 coefficients that stand out less" in shown["findings_left"]
    picture, words = shown["forests"][0]
    assert picture.count("bank ") == MOST_OWNERS
    assert "bank 499" in picture
    assert "bank 0<" not in picture
    assert "the 40 with most records of 500" in words


def test_the_report_of_a_run_has_what_inference_json_has(run, tmp_path):
    page = run.report().html
    section = page[page.index('id="findings"') : page.index('id="privacy"')]
    found = run.result.inference
    assert not found.none
    for each in found.coefficients:
        assert f'<th scope="row">{each.name}</th><td>{each.estimate:.4g}</td>' in section
    assert section.count("<svg") == 2
    run.save(tmp_path / "run")
    assert read_passable(find_run(tmp_path / "run")).inference == found
    (tmp_path / "run" / INFERENCE).unlink()
    kept = read_passable(find_run(tmp_path / "run"))
    assert "kept no such coefficients" in report_html(kept)


def test_names_of_columns_and_owners_are_text(run):
    found = told()
    named = msgspec.structs.replace(
        found,
        coefficients=tuple(msgspec.structs.replace(each, name=HOSTILE + each.name) for each in found.coefficients),
        owners=tuple(msgspec.structs.replace(each, owner=HOSTILE) for each in found.owners),
        population=HOSTILE.replace("\x1b", "").replace("\u202e", ""),
    )
    page = report_html(replace(run.result.passable, inference=named))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", page)


def test_names_are_no_markup_of_a_terminal(run):
    """A name that closes a tag would end the command, after everything was paid."""
    found = told()
    rows = (msgspec.structs.replace(each, name=f"[/red]{each.name}") for each in found.coefficients)
    meta = (msgspec.structs.replace(each, name=f"[/red]{each.name}") for each in found.meta)
    named = msgspec.structs.replace(found, coefficients=tuple(rows), meta=tuple(meta))
    figures = run.result.figures
    spent = [msgspec.structs.replace(each, owner="[/]\x1b[31mbank") for each in figures.spent]
    console = Console(file=StringIO(), width=200)
    show_inference(named, console)
    show_meta(named, console)
    show(msgspec.structs.replace(figures, spent=spent, run_folder="runs/[/red]"), console)
    shown = console.file.getvalue()
    assert shown.count("[/red]column 0") == 2
    assert r"[/]\x1b[31mbank" in shown
    assert "run folder: runs/[/red]" in shown


def test_owners_of_a_validation_are_text():
    figures = {"auc": Figure(0.7, (0.6, 0.8), (0.65, 0.75))}
    owner = OwnerValidation("\x1b[2Jbank", figures, 0.1, "epsilon")
    _, rows = owner_cells(Validation(figures, [owner], 100, 0.2))
    assert rows[0][0] == r"\x1b[2Jbank"
