"""The commands of an owner say the same of two files that differ in one record, and end with the same exit code."""

import json
import re
from pathlib import Path

import pytest

from copriv.audit import odd_records
from copriv.audit.hostile_studies import PLAIN, Study
from copriv.audit.raw_table import FEW, USUAL, write_table
from copriv.owner import joining
from copriv.owner.ledger_opening import begin
from copriv.runtime.rehearsal import free_port

NAMES = {"target missing", "largest", "control characters and escapes", "markup", "an empty line", "a very long cell"}
ODDS = [odd for odd in odd_records.NARROW if odd.name in NAMES]
HOSTILE = Study("zero scale", {("dictionary", "target", "scale"): 0.0})


@pytest.fixture
def join(copriv, tmp_path, monkeypatch):
    """Join a study with a file that has one odd record; everything anew, but the invitation."""
    (tmp_path / "study.toml").write_text(PLAIN.text())
    assert copriv("learner", "init", "study.toml", "--port", free_port()).code == 0
    assert copriv("learner", "invite", "bank").code == 0
    invitation = tmp_path / "bank.invitation"

    # A ledger's id is chance, and a statement names it: the same draw for all, so that only records could differ.
    def same_draw(*arguments, draw_id, **options):
        return begin(*arguments, draw_id=lambda: "1d" * 32, **options)

    monkeypatch.setattr(joining, "begin", same_draw)

    def call(suffix, odd, study=PLAIN):
        place = tmp_path / f"{suffix}-{odd.name}-{study.name}".replace(" ", "-")
        place.mkdir()
        monkeypatch.setenv("COPRIV_REGISTRY", str(place / "registry"))
        data = place / f"records.{suffix}"
        data.write_bytes(write_table(suffix, odd, 3, columns=FEW))
        given = place / "bank.invitation"
        given.write_text(_with_study(invitation, study))
        folder = place / "home"
        joined = copriv("owner", "join", given, "--data", data, "--folder", folder, "--yes", "--json")
        status = copriv("owner", "status", "--folder", folder, "--json")
        stated = copriv("ledger", "statement", folder / "ledger.sqlite", "--json")
        told = [(outcome.code, _told(outcome.out, place)) for outcome in (joined, status, stated)]
        return *told, joined.err

    return call


def _with_study(invitation: Path, study: Study) -> str:
    """The invitation, with what a hostile learner has written into it instead."""
    import tomllib

    import tomli_w

    content = tomllib.loads(invitation.read_text())
    return tomli_w.dumps(content | {"study": study.text()})


def _told(out, place):
    plain = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+(\+00:00)?", "now", out.replace(str(place), "…"))
    return json.loads(plain) if plain.startswith(("{", "[")) else plain


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_join_and_status_do_not_depend_on_a_record(join, suffix):
    *usual, _ = join(suffix, USUAL)
    assert [code for code, _ in usual] == [0, 0, 0]
    assert usual[0][1]["records"] == 9
    for odd in ODDS:
        if suffix in odd.formats:
            *found, words = join(suffix, odd)
            assert found == usual, odd.name
            assert "\x1b[2J" not in words


def test_a_hostile_study_is_refused_in_the_same_words(join):
    usual = join("csv", USUAL, HOSTILE)
    assert usual[0][0] == 2
    assert "scale" in usual[-1]
    assert join("csv", ODDS[0], HOSTILE) == usual
