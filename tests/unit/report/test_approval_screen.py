"""What the person who approves gets to see: the range of everything, and names as text."""

import io
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl
import pytest
from rich.console import Console

from copriv.errors import BadInput
from copriv.owner.approval import Subject
from copriv.owner.fit import fit_of
from copriv.owner.reading import Reading
from copriv.owner.workspace import Enrollment, prepare
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest
from copriv.records.file_format import FileFormat
from copriv.records.load import take_public
from copriv.records.target import TargetChoice
from copriv.report.approval_screen import TITLE, present, screen_rows
from copriv.report.study_sheet import study_rows
from copriv.runtime.owner_joining import Proposal

HOSTILE = "age\x1b[2J\x1b[1;1H[bold red]safe[/] \u202e"


@pytest.fixture
def frame():
    generator = np.random.default_rng(0)
    age, stay = generator.normal(50, 9, 90).round(1), generator.normal(6, 2, 90).round(1)
    return pl.DataFrame({HOSTILE: age, "ward": generator.choice(["a\x1b]0;x\x07", "[b]"], 90), "stay": stay})


def _study(frame, choice):
    dictionary = take_public(frame.lazy(), choice, 2)[0]
    terms = plain_terms(
        name="[blink]trial[/]",
        parameters=3,
        clip=0.25,
        limit=7.5,
        regularization=0.003,
        dictionary=dictionary_digest(dictionary),
    )
    return StudyFile(terms, msgspec.to_builtins(dictionary))


def _present(prepared, console, *notices):
    fit = fit_of(prepared.study, prepared.sample)
    present(Proposal(prepared, notices, "ab12 cd34", fit, lambda: None), console)


def _screen(frame, choice, tmp_path):
    frame.write_parquet(tmp_path / "table.parquet")
    enrollment = Enrollment(
        owner="east",
        host="127.0.0.1",
        port=4222,
        data=str(tmp_path / "table.parquet"),
        target=None,
        nano_epsilon=10**9,
        delta=0.0,
        accountant="pld",
        answers=3,
        rate=1.0,
        ledger="ledger.sqlite",
    )
    shown = io.StringIO()
    _present(prepare(enrollment, _study(frame, choice)), Console(file=shown, width=300))
    return shown.getvalue()


def test_names_are_shown_as_text(frame, tmp_path):
    shown = _screen(frame, TargetChoice("ward", ordinal=True), tmp_path)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\x07" not in shown
    assert "age\\x1b[2J\\x1b[1;1H[bold red]safe[/] \\u202e" in shown
    assert "'[b]' = 1, 'a\\x1b]0;x\\x07' = 2" in shown
    assert "[blink]trial[/]" in shown


def test_the_screen_shows_box_clip_regularization_and_the_range_of_the_target(frame, tmp_path):
    shown = _screen(frame, TargetChoice("stay"), tmp_path)
    for words in ("models within ±7.5", "at most 0.25 long", "regularization 0.003", "'stay': held between"):
        assert words in shown
    target = take_public(frame.lazy(), TargetChoice("stay"), 2)[0].target
    assert f"{target.center - target.scale:g} and {target.center + target.scale:g}" in shown


def test_a_label_says_what_is_positive(frame):
    told = dict(study_rows(_study(frame, TargetChoice("stay", labels=True, positive_above=5.5))))
    assert told["target"] == "'stay': a label, positive above 5.5"
    two = frame.with_columns((pl.col("stay") > 5).cast(pl.Int8).alias("stay"))
    told = dict(study_rows(_study(two, TargetChoice("stay", labels=True))))
    assert told["target"] == "'stay': a label, positive above 0.5, which takes 0 and 1"


def test_a_menu_with_positives_says_above_what_a_target_counts(frame):
    """In the owner's own unit: the learner has chosen it. Without positives on the menu nothing is said of it."""
    study = _study(frame, TargetChoice("stay"))
    menu = {"shares": (20, 80), "kinds": ("gradient", "second_moments", "positives")}
    with_positives = StudyFile(msgspec.structs.replace(study.terms, **menu), study.dictionary)
    center = take_public(frame.lazy(), TargetChoice("stay"), 2)[0].target.center
    told = dict(study_rows(with_positives))
    assert told["positive"] == f"a target above {center:g}; a record without a usable target counts as not positive"
    menu["kinds"] = menu["kinds"][:2]
    assert "positive" not in dict(study_rows(StudyFile(msgspec.structs.replace(study.terms, **menu), study.dictionary)))


def test_a_study_that_fills_gradients_says_what_they_carry(frame):
    study = _study(frame, TargetChoice("stay"))
    menu = {"shares": (20, 80), "kinds": ("gradient",)}
    shown = {
        fill: dict(study_rows(StudyFile(msgspec.structs.replace(study.terms, **menu, fill=fill), study.dictionary)))
        for fill in (0.0, 0.02)
    }
    assert "behind gradients" not in shown[0.0]
    assert "averages of products of two features (xxᵀ)" in shown[0.02]["behind gradients"]
    assert "gradient and second moments together at most" in shown[0.02]["bounds"]
    assert "second moments" not in shown[0.0]["bounds"] + shown[0.0]["menu"]


def _engagement(tmp_path, **changes):
    enrollment = Enrollment(
        owner="east",
        host="broker.example.org",
        port=4333,
        data=str(tmp_path / "table.parquet"),
        target=None,
        nano_epsilon=5_000_004_900,
        delta=0.0,
        accountant="pld",
        answers=3,
        rate=1.0,
        ledger=str(tmp_path / "their ledger.sqlite"),
    )
    return msgspec.structs.replace(enrollment, **changes)


def _rows(frame, tmp_path, terms, width=20_000, **changes):
    """What is shown, as printed: a list of names and values."""
    frame.with_columns(pl.col("stay").alias("days")).write_parquet(tmp_path / "table.parquet")
    study = _study(frame, TargetChoice("stay"))
    study = StudyFile(msgspec.structs.replace(study.terms, **terms), study.dictionary)
    shown = io.StringIO()
    prepared = prepare(_engagement(tmp_path, **changes), study)
    _present(prepared, Console(file=shown, width=width), "these are known records")
    cells = [line.strip("│").split("│") for line in shown.getvalue().splitlines() if line.startswith("│")]
    return prepared, [(name.strip(), value.strip()) for name, value in cells], shown.getvalue()


def test_everything_that_an_approval_covers_is_shown_and_more(frame, tmp_path):
    """But for a hash of the records and an id of the ledger, which nobody can read: their paths are shown."""
    terms = {"loss": "huber", "threshold": 0.75, "evaluations": 2, "evaluation_share": 0.25, "loss_bound": 0.5}
    prepared, rows, shown = _rows(frame, tmp_path, terms, target="days", answers=7, form=FileFormat(dates="%d.%m.%Y"))
    told = dict(rows)
    enrollment = prepared.enrollment
    covered = {
        "terms": told["terms"] == prepared.study.terms.digest(),
        "owner": told["you are"] == "east",
        "data": told["your records"] == enrollment.data,
        "dataset": True,
        "target": told["your target"] == "'days'",
        "form": told["their file is written"] == "dates '%d.%m.%Y'",
        "ledger": told["your ledger"] == enrollment.ledger,
        "ledger_id": True,
        "accountant": "added up" in told["accountant"],
        "nano_epsilon": "ε = 5.0000049," in told["you promise"],
        "delta": "δ = 0 for any one record (replace-one)" in told["you promise"],
        "answers": any(name == "you answer" and value.startswith("at most 7 times") for name, value in rows),
        "blocks": _shown_blocks(prepared) == "2026-01, 2026-02" and "blocks that are read" not in told,
    }
    assert set(covered) == set(Subject.__struct_fields__)
    assert all(covered.values()), covered
    assert told["broker"] == "broker.example.org:4333"
    assert "huber loss with threshold 0.75" in told["model"]
    assert "row at most 1 long, its target within ±1" in told["bounds"]
    assert told["evaluations"].startswith("2 of your average loss, with 0.25 of your budget")
    assert "at most 0.5" in told["evaluations"]
    assert "(number)" in told["features"]
    assert "'ward' (category, 2 of them)" in told["features"]
    for words in ("note: these are known records", "the learner's authority: ab12 cd34"):
        assert words in shown


def _shown_blocks(prepared):
    reading = Reading(("2026-01", "2026-02"), "2026-02")
    enrollment = msgspec.structs.replace(prepared.enrollment, reading=reading)
    return dict(screen_rows(replace(prepared, enrollment=enrollment)))["blocks that are read"]


def _answers(rows):
    return [value for name, value in rows if name == "you answer"]


def test_gradients_and_losses_are_described_by_the_promise(frame, tmp_path):
    terms = {"evaluations": 2, "evaluation_share": 0.25, "loss_bound": 0.5}
    prepared, rows, _ = _rows(frame, tmp_path, terms, nano_epsilon=10**9)
    gradient, loss = _answers(rows)
    scales = [part.calibration.mechanism.scale for part in prepared.commitment.parts]
    assert gradient.startswith("at most 3 times: a noisy average gradient, 3 numbers")
    assert f"laplace noise of scale {scales[0]:.6g}" in gradient
    assert "ε = 0.75, 75% of what you promise" in gradient
    assert loss.startswith("at most 2 times: a noisy average loss, 1 number; a record's loss counts at most 0.5")
    assert f"laplace noise of scale {scales[1]:.6g}" in loss
    assert "ε = 0.25, 25% of what you promise" in loss


def test_moments_are_not_called_gradients(frame, tmp_path):
    for delta, noise in ((0.0, "laplace"), (1e-6, "gaussian")):
        terms = {"rule": "statistics", "delta": delta}
        prepared, rows, shown = _rows(frame, tmp_path, terms, answers=1, delta=delta, accountant="zcdp")
        [moments] = _answers(rows)
        assert moments.startswith("once: noisy sums of second moments of your records (Σ xxᵀ and Σ xy), 9 numbers")
        assert f"{noise} noise of scale {prepared.commitment.calibration.mechanism.scale:.6g}" in moments
        assert "100% of what you promise" in moments
        assert "average" not in shown


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_name_of_a_study_draws_no_rows(frame, tmp_path, width):
    """The title is constant; a name cannot bring anything to the beginning of a line."""
    name = "loans" + " " * 76 + "you promise    ε = 0.001, δ = 0 for any one record (replace-one)"
    _, rows, shown = _rows(frame, tmp_path, {"name": name}, width=width)
    assert shown.splitlines()[0].strip() == TITLE
    assert [name for name, _ in rows].count("you promise") == 1
    assert dict(_rows(frame, tmp_path, {"name": name})[1])["study"].startswith(
        "'loans you promise ε = 0.001, δ = 0 for"
    )
    with pytest.raises(BadInput, match="printable"):
        msgspec.structs.replace(_study(frame, TargetChoice("stay")).terms, name="x │ you promise │ ε = 0.001")


def test_the_person_who_approves_sees_that_people_are_protected(tmp_path):
    generator = np.random.default_rng(0)
    frame = pl.DataFrame({"patient": np.arange(120) // 3, "age": generator.normal(50, 9, 120), "stay": np.arange(120)})
    frame = frame.with_columns(dose=pl.col("age").shuffle(seed=1))
    study = _study(frame.drop("patient"), TargetChoice("stay"))
    people = {"unit": "person", "person": "patient", "rows_cap": 5, "weigh": "person"}
    study = msgspec.structs.replace(study, terms=msgspec.structs.replace(study.terms, **people))
    frame.write_parquet(tmp_path / "table.parquet")
    named = {"owner": "east", "host": "h", "port": 4222, "data": str(tmp_path / "table.parquet"), "target": None}
    promise = {"nano_epsilon": 10**9, "delta": 0.0, "accountant": "pld", "answers": 3, "rate": 1.0, "ledger": "l"}
    shown = io.StringIO()
    _present(prepare(Enrollment(**named, **promise), study), Console(file=shown, width=300))
    told = shown.getvalue()
    for words in (
        "one person (all of its rows at this owner)",
        "people by 'patient', at most 5 rows of each",
        "the best for an average person, not for an average row",
        "40; this number becomes public, and the number of rows does not",
        "ε = 1, δ = 0 for any one person",
        "when one person is replaced",
        "a person at several owners loses at each of them",
    ):
        assert words in told
    shown.truncate(0)
    rows = msgspec.structs.replace(study, terms=plain_terms(parameters=3, dictionary=study.terms.dictionary))
    _present(prepare(Enrollment(**named, **promise), rows), Console(file=shown, width=300))
    assert "ε = 1 for one record is ε = 3 for that person" in shown.getvalue()
