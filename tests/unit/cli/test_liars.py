"""`copriv learner run` with an owner that lies: the command ends well, and says who was expelled and why."""

import json
import threading
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from tests.narrow_loans import narrow_loans

from copriv.cli.owner import run_serve
from copriv.errors import CoprivError
from copriv.owner.owner import Owner
from copriv.protocol.wire import decode_query
from copriv.runtime.rehearsal import free_port

LIAR = "north"


@pytest.fixture
def joined(copriv, tmp_path, request):
    """Two banks have joined a study of Algorithm 1; an invitation may limit the records of the second."""
    for seed, name, rows in ((0, "public", 1000), (1, "east", 200), (2, LIAR, 150)):
        narrow_loans(rows, seed).write_parquet(tmp_path / f"{name}.parquet")
    draft = ("--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 175, "--horizon", 30)
    settled = ("--rule", "paper", "--answers", 60, "--step", 0.1, "--clip", 1, "--evaluations", 1)
    limit = getattr(request, "param", ())
    commands = [
        ("learner", "draft", *draft, *settled),
        ("learner", "init", "study.toml", "--port", free_port()),
        ("learner", "invite", "east"),
        ("learner", "invite", LIAR, *limit),
    ]
    for name in ("east", LIAR):
        home = ("--data", f"{name}.parquet", "--folder", f"home-{name}")
        commands.append(("owner", "join", f"{name}.invitation", *home, "--epsilon", "5", "--yes"))
    for command in commands:
        outcome = copriv(*command)
        assert outcome.code == 0, outcome.err


def _serve(home):
    with suppress(CoprivError):  # the liar is turned away
        run_serve(home, as_json=True)


def _run(copriv, tmp_path, *options):
    homes = [tmp_path / f"home-{name}" for name in ("east", LIAR)]
    serving = [threading.Thread(target=_serve, args=(home,), daemon=True) for home in homes]
    for thread in serving:
        thread.start()
    outcome = copriv("learner", "run", *options)
    for thread in serving:
        thread.join(60)
    return outcome


def _lie(monkeypatch, lie, kind="gradient", after=2):
    """One bank lies about one kind of question, after some honest answers."""
    honest, asked = Owner.handle, set()

    def handle(self, data):
        reply = honest(self, data)
        if self.name != LIAR or not data or decode_query(data).kind != kind:
            return reply
        asked.add(decode_query(data).id)
        return reply if len(asked) <= after else msgspec.msgpack.encode(lie(msgspec.msgpack.decode(reply)))

    monkeypatch.setattr(Owner, "handle", handle)


LIES = {
    "1e308": lambda fields: fields | {"values": [1e308] * len(fields["values"])},
    "[/x]": lambda _fields: {"type": "refusal", "id": "", "owner": LIAR, "reason": "malformed", "text": "[/x]<b>"},
}


@pytest.mark.parametrize("lie", LIES)
def test_the_command_ends_well_and_names_the_liar(copriv, joined, tmp_path, monkeypatch, lie):
    _lie(monkeypatch, LIES[lie])
    outcome = _run(copriv, tmp_path)
    assert outcome.code == 0, outcome.err
    assert "north was expelled (2 of its answers taken out)" in outcome.out
    figures = json.loads((tmp_path / "learner" / "run" / "run.json").read_text())
    [out] = figures["expelled"]
    assert (out["owner"], out["taken_out"]) == (LIAR, 2)
    assert (figures["meetings"], figures["owners"], figures["records"]) == (30, 1, 200)
    assert figures["evaluation"]["owners"] == 1
    model = json.loads((tmp_path / "learner" / "run" / "model.json").read_text())
    assert np.all(np.isfinite(model["theta"]))
    assert [promised["owner"] for promised in model["promised"]] == ["east"]
    statement = (tmp_path / "learner" / "run" / "privacy.html").read_text()
    assert "Who was caught lying" in statement
    assert "<b>" not in statement
    assert [entry["owner"] for entry in json.loads(
        (tmp_path / "learner" / "run" / "privacy.json").read_text())["expelled"]] == [LIAR]  # fmt: skip
    [seen] = [owner for owner in json.loads(copriv("learner", "status", "--json").out)["owners"] if owner["why"]]
    assert (seen["owner"], seen["place"]) == (LIAR, "expelled")
    again = copriv("learner", "run", "--wait", 0.1, "--json")
    assert json.loads(again.out.splitlines()[-1])["expelled"] == figures["expelled"]


def test_a_refusal_with_markup_is_shown_as_text(copriv, joined, tmp_path, monkeypatch):
    """It may be true, so its owner stays; before, the learner died of the closing tag."""
    lie = {"type": "refusal", "id": "", "owner": LIAR, "reason": "failed", "text": "[/x] [bold]no"}
    _lie(monkeypatch, lambda _fields: lie, after=0)
    outcome = _run(copriv, tmp_path)
    assert outcome.code == 0, outcome.err
    assert "north refuses (failed): [/x] [bold]no" in outcome.err
    assert json.loads((tmp_path / "learner" / "run" / "run.json").read_text())["refused"] == {"failed": 3}


def test_a_lie_in_the_evaluation_is_named_and_not_counted(copriv, joined, tmp_path, monkeypatch):
    _lie(monkeypatch, LIES["1e308"], kind="loss", after=0)
    outcome = _run(copriv, tmp_path)
    assert outcome.code == 0, outcome.err
    figures = json.loads((tmp_path / "learner" / "run" / "run.json").read_text())
    assert (figures["owners"], figures["evaluation"]["owners"]) == (2, 1)
    [out] = figures["expelled"]
    assert (out["owner"], out["meeting"], out["taken_out"]) == (LIAR, 0, 0)
    assert "its answers for training stay" in out["why"]


@pytest.mark.parametrize("joined", [("--records", 149)], indirect=True)
def test_more_records_than_the_invitation_allows_are_not_believed(copriv, joined, tmp_path):
    outcome = _run(copriv, tmp_path, "--at-least", 1, "--wait", 2, "--json")
    assert outcome.code == 0, outcome.err
    assert "north is turned away: it claims 150 records, and its invitation is for at most 149" in outcome.err
    assert json.loads(outcome.out.splitlines()[-1])["owners"] == 1


def test_an_invitation_for_no_records_is_refused(copriv, joined):
    outcome = copriv("learner", "invite", "west", "--records", 0)
    assert outcome.code == 2
    assert "--records is 0" in outcome.err
