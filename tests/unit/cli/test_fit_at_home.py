"""The fit check at home: a person sees it before it promises anything, and nothing of it leaves."""

import json
import re
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.owner.workspace import OwnerWorkspace
from copriv.protocol.wire import encode
from copriv.records import lending_like
from copriv.runtime import owner_client
from copriv.runtime.owner_verdict import judge


@pytest.fixture
def invited(copriv, tmp_path):
    """A study of public rows, an invitation, and two tables of one size: like the public rows, and unlike them."""
    public, alike, other = (lending_like.generate(300, np.random.default_rng(seed)) for seed in range(3))
    other = other.with_columns(pl.col("int_rate") * 0.5 + 4.0)
    for name, table in (("public", public), ("alike", alike), ("other", other)):
        table.write_parquet(tmp_path / f"{name}.parquet")
    for command in (
        ("learner", "draft", "--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 300,
         "--rule", "paper", "--horizon", 4, "--answers", 4, "--step", 0.1, "--clip", 1, "--features", 3),
        ("learner", "init", "study.toml"),
        ("learner", "invite", "east"),
    ):  # fmt: skip
        outcome = copriv(*command)
        assert outcome.code == 0, outcome.err
    return tmp_path


def _join(copriv, name, *more):
    return copriv(
        "owner", "join", "east.invitation", "--data", f"{name}.parquet", "--folder", name, "--unrelated", "--yes", *more
    )


def _hello(folder, monkeypatch):
    """What `copriv owner serve` says first, but for two numbers that chance draws."""
    said = []

    async def hear(desk, _link):
        said.append(desk.hello)
        return (0.0,) * 4

    monkeypatch.setattr(owner_client, "serve", hear)
    owner_client.serve_study(OwnerWorkspace(folder), lambda *_told: None)
    return encode(msgspec.structs.replace(said[0], instance="1", ledger="1"))


def _kept(folder):
    """Everything in an owner's folder that is text, without its own name."""
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix != ".sqlite"}
    return {name: content for name, content in files.items() if not name.startswith("ledger")}


def test_a_person_sees_it_and_nobody_else(copriv, invited, monkeypatch):
    alike, other = (_join(copriv, name, "--json") for name in ("alike", "other"))
    assert (alike.code, other.code) == (0, 0), other.err
    assert "as alike as draws of one population" in re.sub(r"\s+", " ", alike.err)
    assert "the public rows do not fit yours" in re.sub(r"\s+", " ", other.err)
    told = [json.loads(outcome.out) for outcome in (alike, other)]
    assert [each["fit"]["reading"] for each in told] == ["alike", "does not fit"]
    assert told[1]["fit"]["most"] == "the level of 'int_rate'"
    homes = [OwnerWorkspace(invited / name) for name in ("alike", "other")]
    hellos = [_hello(home.folder, monkeypatch) for home in homes]
    assert hellos[0] == hellos[1]
    kept = [_kept(home.folder) for home in homes]
    assert kept[0].keys() == kept[1].keys()
    for content in kept[1].values():
        assert b"does not fit" not in content
        assert str(told[1]["fit"]["distance"]).encode() not in content
    verdict = judge(homes[1], np.zeros(4), 5, lambda *_told: None)
    assert msgspec.to_builtins(verdict.fit) == told[1]["fit"]


def test_a_twin_whose_hello_depends_on_it_is_caught(copriv, invited, monkeypatch):
    """An owner that would answer less often because its rows do not fit."""
    told = [json.loads(_join(copriv, name, "--json").out) for name in ("alike", "other")]
    honest = owner_client.hello_of

    def telling(enrollment, *given):
        [fit] = [each["fit"] for each in told if Path(enrollment.data).stem in each["folder"]]
        return msgspec.structs.replace(honest(enrollment, *given), answers=4 if fit["reading"] == "alike" else 1)

    monkeypatch.setattr(owner_client, "hello_of", telling)
    assert _hello(invited / "alike", monkeypatch) != _hello(invited / "other", monkeypatch)


def test_a_study_that_says_nothing_of_its_public_rows_goes_on(copriv, invited):
    invitation = invited / "east.invitation"
    text = invitation.read_text()
    start, end = text.index("[public]"), text.index("[dictionary]")
    invitation.write_text(text[:start] + text[end:])
    outcome = _join(copriv, "other")
    assert outcome.code == 0, outcome.err
    assert "not compared: the study says nothing of its public rows" in re.sub(r"\s+", " ", outcome.err)


def test_a_summary_that_is_none_is_refused_before_any_record_is_read(copriv, invited):
    invitation = invited / "east.invitation"
    text = invitation.read_text()
    for right, wrong in (
        ("rows = 300\nshort", "rows = 0\nshort"),
        ("model = [\n", "model = [\n    0.0,\n"),
        ("shortened = ", "shortened = 7"),
    ):
        invitation.write_text(text.replace(right, wrong))
        outcome = _join(copriv, "no-such-file")
        assert outcome.code == 2
        assert "public rows" in outcome.err
