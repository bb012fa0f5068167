"""People read that gradients are told along sums of features, in one plain line, before they approve and afterwards."""

import io
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from rich.console import Console
from tests import menu_study as study

from copriv.api.plan import plan
from copriv.owner.entries import Enrolled
from copriv.owner.ledger_opening import begin
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.planning.scenario import Scenario
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.public_rows import PublicRows
from copriv.protocol.study_file import StudyFile, dictionary_digest, read_study
from copriv.records.load import take_public
from copriv.records.target import TargetChoice
from copriv.report.approval_screen import part_rows
from copriv.report.figures import Spending
from copriv.report.ledger_history import history, read_history
from copriv.report.ledger_sheet import ledger_sheet, sheet_lines
from copriv.report.menu import state_menu, told_along
from copriv.report.pages import render
from copriv.report.plan_report import show_plan
from copriv.report.statement import Heading, describe, make_statement, owner_statement
from copriv.report.study_sheet import study_rows

AXES = ((0.5, 0.0, 0.1, 0.0), (0.0, 0.5, 0.0, 0.0), (0.0, 0.0, 0.5, 0.0), (-0.1, 0.0, 0.0, 0.4))
TURNED = msgspec.structs.replace(study.TERMS, axes=AXES)
BOTH = msgspec.structs.replace(TURNED, fill=0.05)
LINE = "gradients are told along 4 sums of features that the study names, and the clip counts along them"
HEADING = Heading("a study", "a learner", "today", PublicRows(0, ""))
guarantees = pytest.mark.parametrize(("guarantee", "norm"), [(study.GUARANTEE, "L1"), (Guarantee.of(1, 1e-6), "L2")])


def rows_of(**said):
    """The sheet of a study of three columns whose terms say this."""
    generator = np.random.default_rng(0)
    frame = pl.DataFrame({name: generator.normal(size=90) for name in ("age", "dose", "stay")})
    dictionary = take_public(frame.lazy(), TargetChoice("stay"), 2)[0]
    terms = plain_terms(parameters=3, shares=(20, 80), kinds=("gradient",), dictionary=dictionary_digest(dictionary))
    return dict(study_rows(StudyFile(msgspec.structs.replace(terms, **said), msgspec.to_builtins(dictionary))))


def entries_of(matrix):
    return [f"{entry:g}" for axis in matrix for entry in axis if entry not in (0, 1)]


def test_one_line_says_it():
    assert told_along(4) == LINE
    assert told_along(1).startswith("gradients are told along 1 sum of features ")
    assert told_along(0) == ""


def test_the_sheet_of_a_study_says_along_what_gradients_are_told_and_that_the_clip_counts_there():
    axes = tuple(tuple(axis) for axis in (np.eye(3) * 0.345 + 0.01234).tolist())
    plain, turned, both = rows_of(), rows_of(axes=axes), rows_of(axes=axes, fill=0.02)
    assert "axes" not in plain
    assert turned["axes"] == (
        "average gradients are told along 3 sums of features that the study names, and the clip counts along them: "
        "a record's counts at most 0.5 there; no row becomes longer by it in L2; noise and price are those of "
        "gradients along the features"
    )
    assert "a record's gradient at most 0.5 long (along the axes below), " in turned["bounds"]
    assert "a record's gradient at most 0.5 long, " in plain["bounds"]
    assert "averages of products of two of these sums (xxᵀ)" in both["behind gradients"]
    assert list(both).index("bounds") < list(both).index("axes") < list(both).index("behind gradients")
    assert {name: words for name, words in turned.items() if name not in ("axes", "bounds")} == {
        name: words for name, words in plain.items() if name != "bounds"
    }
    for words in (*turned.values(), *both.values()):
        assert len(words) < 500
        assert not any(entry in words for entry in entries_of(axes))


@guarantees
def test_the_menu_that_is_approved_says_it_of_gradients_alone(guarantee, norm):
    """Of every kind what it was, but for gradients; noise, price and change are those along the features."""
    plain, turned = (part_rows(study.commitment_of(0, terms, guarantee), 4) for terms in (study.TERMS, TURNED))
    assert [plain[0], *plain[2:]] == [turned[0], *turned[2:]]
    words = turned[1][1]
    assert words.startswith(
        "noisy average gradient (along 4 sums of features that the study names), 4 numbers; a record's gradient is at "
        f"most 0.5 long ({norm}, along these sums); "
    )
    assert words.split("noise on every number, ")[1] == plain[1][1].split("noise on every number, ")[1]


@guarantees
def test_the_menu_says_it_of_filled_gradients(guarantee, norm):
    words = part_rows(study.commitment_of(0, BOTH, guarantee), 4)[1][1]
    assert words.startswith(
        "noisy average gradient with second moments (4 of a gradient along 4 sums of features that the study names and "
        "10 averages of products of two of these sums, weighted averages of xxᵀ), 14 numbers; a record's gradient and "
        f"second moments together are at most 0.5 long ({norm}, along these sums); "
    )


def test_the_statement_says_it_once_an_owner():
    for terms, times in ((study.TERMS, 0), (TURNED, 1)):
        commitment = study.commitment_of(0, terms)
        menu = state_menu(commitment, [("gradient", 20, 0)])
        spent = Spending("east", 1, 0.2, 0.0, 1.0, 3, 40, menu)
        told = make_statement(HEADING, "0" * 64, "secure", [owner_statement(spent, commitment)])
        assert told.owners[0].axes == 4 * times
        assert describe(told).count(LINE) == times
        page = render("privacy.html", told)
        assert page.count(f"Average {LINE}.") == times
        assert not any(entry in describe(told) for entry in ("-0.1", "0.1, 0.0"))
        kept = msgspec.json.decode(msgspec.json.encode(told))
        assert kept["owners"][0]["axes"] == 4 * times


def _ledger(path):
    return SqliteLedger.create(path / "ledger.sqlite", begin("east", "records", study.GUARANTEE))


def test_the_ledger_says_it_where_the_study_was_approved(tmp_path):
    with closing(_ledger(tmp_path)) as ledger:
        ledger.enroll(Enrolled("a" * 64, "along axes", "a learner", "a person", axes=4))
        ledger.enroll(Enrolled("b" * 64, "along features", "a learner", "a person"))
        one, other = [event.words for event in history(ledger, values=False) if event.event == "enrolled"]
        sheet = ledger_sheet(tmp_path, ledger.state())
    assert one == f"approved by a person; {LINE}"
    assert other == "approved by a person"
    assert sheet.along == {"a" * 64: LINE}
    lines = list(sheet_lines(sheet, "the ledger"))
    place = next(number for number, line in enumerate(lines) if "along axes" in line)
    assert lines[place + 1].split() == ["axes", *LINE.split()]
    assert sum(LINE in line for line in lines) == 1
    assert LINE in read_history(tmp_path / "ledger.sqlite", values=False).events[1].words


def test_a_study_without_axes_is_written_into_the_ledger_as_before():
    """Entries are sealed by their bytes: an approval of today has those that it had."""
    before = b'{"type":"enrolled","study":"s","name":"n","learner":"l","approved_by":"p"}'
    assert msgspec.json.encode(Enrolled("s", "n", "l", "p")) == before
    assert msgspec.json.decode(before, type=Enrolled).axes == 0
    assert msgspec.json.encode(Enrolled("s", "n", "l", "p", axes=4)) == before[:-1] + b',"axes":4}'


def table(rows, features=4):
    generator = np.random.default_rng(3)
    columns = {f"x{place}": generator.standard_t(4, size=rows) for place in range(features)}
    columns["y"] = sum(columns.values()) / 4 + generator.normal(size=rows)
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def planned():
    return plan(table(3_000), Scenario([2_000] * 4, epsilon=1), target="y", rule="newton", features="all")


def test_what_is_planned_is_said_in_one_line_and_is_whole_in_json(planned, tmp_path):
    """The matrix is in the study file and in JSON, and not on the screen."""
    axes, p = planned.terms.axes, planned.terms.parameters
    assert len(axes) == p > 1
    shown = io.StringIO()
    console = Console(file=shown, width=200)
    show_plan(planned.terms, planned.candidates, planned.scenario, tmp_path / "study.toml", console)
    [line] = [line for line in shown.getvalue().splitlines() if line.startswith("  axes")]
    assert line.split(None, 1)[1] == told_along(p)
    assert not any(entry in shown.getvalue() for entry in entries_of(axes))
    kept = msgspec.json.decode(msgspec.json.encode(planned.to_dict()))
    assert tuple(tuple(axis) for axis in kept["axes"]) == axes
    path = planned.save(tmp_path / "study.toml")
    assert read_study(Path(path).read_text(encoding="utf-8")).terms == planned.terms


def test_a_plan_without_a_menu_has_no_axes_to_show():
    found = plan(table(3_000), Scenario([2_000] * 4, epsilon=1), target="y", rule="newton", features="all", answers=3)
    assert found.terms.axes == ()
    shown = io.StringIO()
    show_plan(found.terms, found.candidates, found.scenario, Path("study.toml"), Console(file=shown, width=200))
    assert "axes" not in shown.getvalue()
