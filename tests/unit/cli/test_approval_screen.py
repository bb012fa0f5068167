"""What the person who approves gets to see: the range of everything, and names as text."""

import io

import msgspec
import numpy as np
import polars as pl
import pytest
from rich.console import Console

from copriv.cli.approval_screen import present
from copriv.cli.study_sheet import study_rows
from copriv.owner.home import Engagement, prepare
from copriv.protocol.study_file import StudyFile, dictionary_digest
from copriv.records.intake import take_public
from copriv.records.target import TargetChoice
from copriv.simulation.plain_terms import plain_terms

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


def _screen(frame, choice, tmp_path):
    frame.write_parquet(tmp_path / "table.parquet")
    engagement = Engagement(
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
    present(prepare(engagement, _study(frame, choice)), (), "ab12", Console(file=shown, width=300))
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
