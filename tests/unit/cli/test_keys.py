"""Keys stay home: request, approve, join, come back after months; what the learner can read holds no owner's key."""

import json
import shutil
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from tests.narrow_loans import narrow_loans

from copriv.cli.owner import run_serve
from copriv.runtime.rehearsal import free_port
from copriv.transport.authority import issue_client
from copriv.transport.certificates import identity_in, is_for_key, life_of, read_certificate
from copriv.transport.credentials import read_credentials, write_credentials
from copriv.transport.learner_workspace import LearnerWorkspace

NAMES = ("east", "north")


@pytest.fixture(scope="module")
def study(copriv_once, tmp_path_factory):
    """A folder with public rows, two banks' tables and a study."""
    folder = tmp_path_factory.mktemp("study")
    for seed, name, rows in ((0, "public", 1000), (1, "east", 200), (2, "north", 150)):
        narrow_loans(rows, seed).write_parquet(folder / f"{name}.parquet")
    draft = ("--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 150)
    paper = ("--horizon", 10, "--answers", 10, "--step", 0.1, "--clip", 1)
    assert copriv_once(folder, "learner", "draft", *draft, *paper).code == 0
    return folder


@pytest.fixture
def drafted(study, copriv, tmp_path):
    """Public rows, two banks' tables, and a learner's folder without owners."""
    shutil.copytree(study, tmp_path, dirs_exist_ok=True)
    assert copriv("learner", "init", "study.toml", "--port", free_port()).code == 0


@pytest.fixture
def approved(copriv, drafted):
    """Both banks have asked and were answered; by name, what each was told at home."""
    told = {}
    for name in NAMES:
        told[name] = _json(copriv("owner", "request", name, "--folder", f"home-{name}", "--json"))
        told[name]["learner"] = _json(copriv("learner", "approve", f"{name}.request", "--json"))
    return told


@pytest.fixture
def joined(copriv, approved):
    for name in NAMES:
        assert _join(copriv, name).code == 0
    return approved


def _json(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out.splitlines()[-1])


def _join(copriv, name, invitation=None):
    words = (invitation or f"{name}.invitation", "--data", f"{name}.parquet", "--folder", f"home-{name}", "--yes")
    return copriv("owner", "join", *words)


def _private_keys(folder):
    """Every private key that any file of a folder holds, whatever its name."""
    begin, end = b"-----BEGIN PRIVATE KEY-----", b"-----END PRIVATE KEY-----"
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert b"PRIVATE KEY" not in data.replace(begin, b"").replace(end, b""), path
        for piece in data.split(begin)[1:]:
            yield load_pem_private_key(begin + piece.split(end)[0] + end + b"\n", password=None)


def test_no_file_that_the_learner_can_read_holds_an_owners_key(copriv, joined, tmp_path):
    """The learner's folder, and all that passes between: only authority, broker and learner have keys there."""
    keys = LearnerWorkspace(tmp_path / "learner").keys
    known = [keys.signing().certificate, *keys.own().values()]
    public = [read_certificate(certificate).public_key() for certificate in known]
    found = [key.public_key() for key in _private_keys(tmp_path / "learner")]
    assert len(found) == 3
    assert all(key in public for key in found)
    for name in NAMES:
        secret = read_credentials(tmp_path / f"home-{name}" / "owner.key").key
        line = secret.splitlines()[2].encode()  # the first is the same in every key on P-256
        for path in (tmp_path / "learner").rglob("*"):
            assert not path.is_file() or line not in path.read_bytes()
        for file in (f"{name}.request", f"{name}.invitation"):
            assert "PRIVATE" not in (tmp_path / file).read_text()


def test_an_invitation_of_a_rehearsal_would_be_noticed(copriv, joined, tmp_path):
    """The twin: with a key inside, the walk finds one."""
    assert copriv("learner", "invite", "west", "--out", "learner/west.invitation").code == 0
    assert len(list(_private_keys(tmp_path / "learner"))) == 4


def test_both_sides_show_the_same_fingerprints(copriv, approved, tmp_path):
    for name in NAMES:
        assert approved[name]["fingerprint"] == approved[name]["learner"]["fingerprint"]
        assert approved[name]["learner"]["authority"] in _join(copriv, name).err
    assert approved["east"]["fingerprint"] != approved["north"]["fingerprint"]
    shown = copriv("owner", "request", "west", "--folder", "home-west")
    assert "fingerprint: " in shown.out
    assert "PRIVATE" not in shown.out + shown.err
    [authority] = {told["learner"]["authority"] for told in approved.values()}
    assert authority in copriv("learner", "status").out


def test_a_study_of_owners_whose_keys_stayed_home(copriv, joined, tmp_path):
    serving = [threading.Thread(target=run_serve, args=(tmp_path / f"home-{name}",), kwargs={"as_json": True})
               for name in NAMES]  # fmt: skip
    for thread in serving:
        thread.start()
    told = _json(copriv("learner", "run", "--json"))
    for thread in serving:
        thread.join()
    assert (told["meetings"], told["owners"]) == (10, 2)


def test_certificates_past_their_half_life_are_renewed_while_a_study_runs(copriv, joined, tmp_path):
    """By the commands themselves; north comes when east has its new certificate."""
    quarters, home = LearnerWorkspace(tmp_path / "learner"), tmp_path / "home-east"
    early, old = datetime.now(UTC) - timedelta(hours=20), read_credentials(home / "owner.key")
    write_credentials(
        home / "owner.key", issue_client(quarters.keys.signing(), identity_in(old.certificate), early, 1.5)
    )
    quarters.keys.renew(["broker", "learner"], early, 1.5)
    before = [read_credentials(home / "owner.key").certificate, *quarters.keys.own().values()]

    def east():
        run_serve(home, as_json=True)

    def north():
        while serving[0].is_alive() and read_credentials(home / "owner.key").certificate == before[0]:
            time.sleep(0.02)
        run_serve(tmp_path / "home-north", as_json=True)

    serving = [threading.Thread(target=work) for work in (east, north)]
    for thread in serving:
        thread.start()
    outcome = copriv("learner", "run", "--json")
    for thread in serving:
        thread.join()
    assert _json(outcome)["meetings"] == 10
    assert "east gets a certificate until" in outcome.err
    pair = read_credentials(home / "owner.key")
    assert is_for_key(pair.certificate, pair.key)
    assert quarters.issued.held("east")[-1] == pair.certificate
    for certificate in (pair.certificate, *quarters.keys.own().values()):
        assert certificate not in before
        assert life_of(certificate).ends > datetime.now(UTC) + timedelta(days=59)


def test_join_wants_the_answer_to_its_own_request(copriv, approved, tmp_path):
    for folder, invitation, words in (
        ("home-east", "north.invitation", "not for the key"),
        ("nowhere", "east.invitation", "there is none"),
    ):
        join = ("owner", "join", invitation, "--data", "east.parquet", "--folder", folder, "--yes")
        outcome = copriv(*join)
        assert outcome.code == 2
        assert words in outcome.err
        assert "remedy" in outcome.err
    assert not (tmp_path / "nowhere").exists()
    assert sorted(path.name for path in (tmp_path / "home-east").iterdir()) == ["pending.key", "pending.request"]
    assert _join(copriv, "east").code == 0
    assert "pending.key" not in {path.name for path in (tmp_path / "home-east").iterdir()}
    again = _join(copriv, "east")
    assert again.code == 2
    assert "never overwritten" in again.err


def test_the_way_back_after_a_certificate_has_expired(copriv, joined, tmp_path):
    """Off for months: a clear error with its remedy, and the remedy works; nothing else has changed."""
    quarters, file = LearnerWorkspace(tmp_path / "learner"), tmp_path / "home-east" / "owner.key"
    identity = identity_in(read_credentials(file).certificate)
    long_ago = datetime.now(UTC) - timedelta(hours=20)
    write_credentials(file, issue_client(quarters.keys.signing(), identity, long_ago, days=0.5))
    refused = copriv("owner", "serve", "--folder", "home-east")
    assert refused.code == 2
    assert "expired on" in refused.err
    assert "copriv owner request NAME --again" in refused.err
    assert "less than a third" in copriv("owner", "status", "--folder", "home-east").out

    request = ("owner", "request", "east", "--folder", "home-east", "--out", "again.request")
    assert "--again" in copriv(*request).err
    assert "belongs to" in copriv("owner", "request", "west", "--folder", "home-east", "--again").err
    assert copriv(*request, "--again").code == 0
    approve = ("learner", "approve", "again.request", "--out", "again.invitation")
    assert "--again" in copriv(*approve).err
    assert copriv(*approve, "--again").code == 0
    assert "not for the key" in copriv("owner", "renew", "east.invitation", "--folder", "home-east").err
    assert copriv("owner", "renew", "again.invitation", "--folder", "home-east").code == 0
    pair = read_credentials(file)
    assert is_for_key(pair.certificate, pair.key)
    assert identity_in(pair.certificate) == quarters.register().owners["east"].identity != identity
    assert not (tmp_path / "home-east" / "pending.key").exists()


def test_a_request_can_be_made_again_and_the_lost_one_is_worthless(copriv, approved):
    assert "--again" in copriv("owner", "request", "east", "--folder", "home-east", "--out", "x").err
    assert copriv("owner", "request", "east", "--folder", "home-east", "--out", "x", "--again").code == 0
    assert "not for the key" in _join(copriv, "east").err
    assert copriv("learner", "approve", "x", "--again", "--out", "y").code == 0
    assert _join(copriv, "east", "y").code == 0


def test_invitations_with_keys_are_for_one_machine(copriv, drafted):
    init = ("learner", "init", "study.toml", "--folder", "far", "--host", "learner.example.org")
    assert copriv(*init).code == 0
    refused = copriv("learner", "invite", "east", "--folder", "far")
    assert refused.code == 2
    assert "copriv owner request NAME" in refused.err
    for place, host in enumerate(("127.8.9.1", "::1", "localhost")):
        folder = ("--folder", f"near-{place}")
        assert copriv("learner", "init", "study.toml", *folder, "--host", host).code == 0
        assert copriv("learner", "invite", "east", *folder, "--out", f"{place}.invitation").code == 0


def test_status_says_when_everything_ends(copriv, joined, tmp_path):
    told = _json(copriv("learner", "status", "--json"))
    ends = {entry["holder"].split()[0]: datetime.fromisoformat(entry["expires"]) for entry in told["certificates"]}
    now = datetime.now(UTC)
    assert set(ends) == {"authority", "broker", "learner", *NAMES}
    assert all(timedelta(days=59) < ends[name] - now < timedelta(days=61) for name in set(ends) - {"authority"})
    assert timedelta(days=1800) < ends["authority"] - now < timedelta(days=1900)
    assert not any(entry["running_out"] for entry in told["certificates"])
    assert all(owner["expires"] for owner in told["owners"])
    owner = _json(copriv("owner", "status", "--folder", "home-east", "--json"))
    assert [entry["holder"] for entry in owner["certificates"]] == ["this owner", "the authority"]
    assert "warning" not in copriv("learner", "status").out + copriv("owner", "status", "--folder", "home-east").out


def test_the_authority_rolls_over_from_the_command_line(copriv, joined):
    assert _json(copriv("learner", "authority", "roll", "--json"))["waiting"] == list(NAMES)
    assert "two authorities" in copriv("learner", "authority", "roll").err
    refused = copriv("learner", "authority", "retire")
    assert refused.code == 2
    assert "east, north" in refused.err
    assert copriv("learner", "status").out.count("authority ") == 2
    assert _json(copriv("learner", "authority", "retire", "--force", "--json"))["locked_out"] == list(NAMES)
    assert "only one" in copriv("learner", "authority", "retire").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("owner", "request", "a bank"), "'a bank'"),
        (("owner", "request", "east", "--folder", "learner"), "not an owner's folder"),
        (("owner", "request", "east", "--out", "study.toml"), "study.toml exists"),
        (("learner", "approve", "missing.request"), "missing.request"),
        (("learner", "approve", "study.toml"), "not a request"),
        (("learner", "approve", "ok.request", "--days", "29"), "--days"),
        (("learner", "approve", "ok.request", "--days", "91"), "--days"),
        (("learner", "approve", "ok.request", "--out", "study.toml"), "exists"),
        (("learner", "invite", "west", "--days", "365"), "--days"),
    ],
)
def test_bad_input_has_a_remedy(copriv, drafted, tmp_path, arguments, words):
    assert copriv("owner", "request", "ok", "--folder", "home-ok").code == 0
    outcome = copriv(*arguments)
    assert outcome.code == 2
    assert words in outcome.err
    assert "remedy" in outcome.err
    assert not (tmp_path / "owner").exists()
    assert json.loads((tmp_path / "learner" / "members.json").read_text())["owners"] == {}
