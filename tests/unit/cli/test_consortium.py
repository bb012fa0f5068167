"""`copriv learner` and `copriv owner`: what people type, what they are told, and what is never written by mistake."""

import fcntl
import functools
import json
import shutil
import threading
from collections import Counter

import pytest
from tests.narrow_loans import narrow_loans

from copriv.cli.owner import run_serve
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount
from copriv.protocol.study_file import read_study
from copriv.records.cluster import Machine
from copriv.runtime.rehearsal import free_port

PAPER = ("--horizon", 30, "--answers", 30, "--step", 0.1, "--clip", 1)


@pytest.fixture(scope="module")
def draft(copriv_once, tmp_path_factory):
    """Public rows, two banks' tables and a study, made once for each rule: their folder, and what was told."""

    @functools.cache
    def make(rule):
        folder = tmp_path_factory.mktemp("draft")
        for seed, name, rows in ((0, "public", 2000), (1, "east", 400), (2, "north", 300)):
            narrow_loans(rows, seed).write_parquet(folder / f"{name}.parquet")
        public = ("--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 350)
        outcome = copriv_once(folder, "learner", "draft", *public, *rule, "--evaluations", 1, "--json")
        assert outcome.code == 0, outcome.err
        return folder, outcome.out

    return make


@pytest.fixture
def drafted(draft, copriv, tmp_path, request):
    """Public rows, two banks' tables and a study of 30 meetings, or of another rule."""
    folder, told = draft(getattr(request, "param", PAPER))
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return json.loads(told)


@pytest.fixture
def invited(copriv, drafted):
    """A learner's folder with both banks invited."""
    assert copriv("learner", "init", "study.toml", "--port", free_port()).code == 0
    for name in ("east", "north"):
        assert copriv("learner", "invite", name).code == 0
    return drafted


@pytest.fixture
def joined(copriv, invited):
    """Both banks have joined, with a promise of their own; the records of one do not fit in its memory."""
    for name, epsilon, *small in (("east", "1", "--memory", "500MB"), ("north", "2.5")):
        outcome = copriv("owner", "join", f"{name}.invitation", "--data", f"{name}.parquet", "--folder", f"home-{name}",
                         "--epsilon", epsilon, "--yes", "--json", *small)  # fmt: skip
        assert outcome.code == 0, outcome.err
    return invited


@pytest.mark.parametrize("drafted", [("--answers", 2), ("--rule", "statistics")], indirect=True)
def test_other_rules_end_when_everybody_has_answered(copriv, joined, tmp_path):
    told = _run(copriv, tmp_path)
    most = joined["answers"]
    assert told["rule"] == joined["rule"] in {"newton", "statistics"}
    assert told["meetings"] == told["horizon"] == 2 * most
    assert [entry["answers"] for entry in told["spent"]] == [most, most]
    assert [entry["epsilon"] for entry in told["spent"]] == [pytest.approx(1), pytest.approx(2.5)]


def _run(copriv, tmp_path):
    """Both banks serve in threads of this process; what the learner tells."""
    serving = [threading.Thread(target=run_serve, args=(tmp_path / f"home-{name}", tmp_path / f"{name}.jsonl", machine),
                                kwargs={"as_json": True})
               for name, machine in (("east", Machine("500MB")), ("north", None))]  # fmt: skip
    for thread in serving:
        thread.start()
    outcome = copriv("learner", "run", "--log", "learner.jsonl", "--json")
    for thread in serving:
        thread.join()
    assert outcome.code == 0, outcome.err
    return _told(outcome)


def _events(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def _check_logs(copriv, told, tmp_path):
    """What the learner and an owner have written down while it happened."""
    kinds = Counter(event["kind"] for event in _events(tmp_path / "learner.jsonl"))
    assert (kinds["answered"], kinds["met"], kinds["arrived"], kinds["evaluated"]) == (30, 30, 2, 2)
    assert (kinds["began"], kinds["done"], kinds["refused"], kinds["expelled"]) == (1, 1, 0, 0)
    [entry] = [entry for entry in told["spent"] if entry["owner"] == "east"]
    replied = [event for event in _events(tmp_path / "east.jsonl") if event["kind"] == "replied"]
    assert len(replied) == entry["answers"] + 1  # and the evaluation
    assert sum(event["price"] for event in replied) == pytest.approx(entry["epsilon"])
    assert replied[-1]["left"] == pytest.approx(1 - entry["epsilon"])
    kept = set().union(*replied)
    assert kept == {"at", "kind", "query", "price", "spent", "left", "measure", "outcome", "unit", "adjacency"}


def test_a_study_from_draft_to_verdict(copriv, joined, tmp_path, rendered):
    """Everything in one process, with real links: the commands that docs/deploy.md names."""
    told = _run(copriv, tmp_path)
    assert (told["meetings"], told["owners"], told["records"]) == (30, 2, 700)
    assert told["guarantee"] == {"epsilon": 2.5, "delta": 0.0, "unit": "record", "adjacency": "replace-one"}
    assert sum(entry["answers"] for entry in told["spent"]) == 30
    assert all(0 < entry["epsilon"] <= entry["promised"] for entry in told["spent"])
    assert told["evaluation"]["owners"] == 2
    for name in ("model.json", "privacy.html", "privacy.json", "schedule.json", "meetings.png", "run.json"):
        assert (tmp_path / "learner" / "run" / name).is_file()
    _check_logs(copriv, told, tmp_path)
    _check_verdict(copriv, tmp_path)
    _check_status(copriv, told)
    again = copriv("learner", "run", "--wait", 0.1, "--json")
    assert json.loads(again.out)["meetings"] == 30
    assert "finished" in again.err


def _told(outcome):
    """The one JSON object of a command; what others have said before it is theirs."""
    return json.loads(outcome.out.splitlines()[-1])


def _check_verdict(copriv, tmp_path):
    joint = json.loads((tmp_path / "learner" / "run" / "model.json").read_text())
    assert json.loads((tmp_path / "home-east" / "model.json").read_text())["theta"] == joint["theta"]
    verdict = _told(copriv("owner", "verdict", "--folder", "home-east", "--json"))
    assert verdict["paid"] in {"joined", "alone", "undecided"}
    assert verdict["records"] == 400
    same = json.loads(
        copriv("owner", "verdict", "--folder", "home-east", "--model", "learner/run/model.json", "--json").out
    )
    assert same == verdict
    shown = copriv("owner", "verdict", "--folder", "home-east").out
    assert "not private" in shown
    assert "± is two standard errors" in shown
    scale = joint["dictionary"]["target"]["scale"]
    assert verdict["models"]["joint"]["rmse"] == pytest.approx(scale * verdict["losses"]["joint"] ** 0.5)
    assert set(verdict["models"]) == {"own", "own_public", "public", "joint", "personal"}
    _check_personal(copriv, tmp_path, verdict)


def _check_personal(copriv, tmp_path, verdict):
    told = _told(copriv("owner", "personalise", "--folder", "home-east", "--json"))
    assert told["verdict"] == verdict
    assert told["private"] is False
    place = tmp_path / "home-east" / "personal.json"
    assert place.stat().st_mode & 0o077 == 0
    assert "not to be passed on" in json.loads(place.read_text())["noise"]
    predicted = copriv("predict", "--model", place, "--data", "east.parquet", "--out", "p.csv", "--json")
    assert json.loads(predicted.out)["personal"] is True
    assert "neither must be passed on" in predicted.err
    refused = copriv("owner", "verdict", "--folder", "home-east", "--model", place)
    assert refused.code == 2
    assert "is a personal model" in refused.err
    assert "must not be passed on" in copriv("owner", "personalise", "--folder", "home-east").out


def _check_status(copriv, told):
    status = json.loads(copriv("owner", "status", "--folder", "home-north", "--json").out)
    [entry] = [entry for entry in told["spent"] if entry["owner"] == "north"]
    assert status["epsilon_spent"] == pytest.approx(entry["epsilon"])
    assert status["answers"] == entry["answers"] + 1  # and the evaluation
    assert status["model"]
    assert status["last_contact"]
    assert "NOT APPROVED" not in copriv("owner", "status", "--folder", "home-north").out
    assert json.loads(copriv("owner", "pause", "--folder", "home-north", "--json").out)["paused"]["by"]
    assert "PAUSED" in copriv("owner", "status", "--folder", "home-north").out
    assert "resumed" in copriv("owner", "resume", "--folder", "home-north").out
    assert "PAUSED" not in copriv("owner", "status", "--folder", "home-north").out
    learner = json.loads(copriv("learner", "status", "--json").out)
    assert learner["finished"]
    assert (learner["running"], learner["stage"], learner["waited_for"]) == (False, "finished", [])
    assert [owner["place"] for owner in learner["owners"]] == ["done", "done"]
    assert "finished" in copriv("learner", "status").out


def test_a_plan_compares_every_rule_and_mechanism(copriv, drafted, tmp_path):
    options = ("--public", "public.parquet", "--target", "int_rate", "--owners", 3, "--records", 400)
    quick = ("--horizon", 40, "--features", 3, "--epsilon", 5, "--delta", 1e-6)
    told = json.loads(copriv("plan", *options, *quick, "--out", "plan.toml", "--json").out)
    ways = {(way["rule"], way["mechanism"]) for way in told["candidates"]}
    assert ways == {(r, m) for r in ("newton", "statistics", "averaged", "paper") for m in ("laplace", "gaussian")}
    costs = [way["predicted"] for way in told["candidates"]]
    assert costs == sorted(costs)
    assert told["rule"] == told["candidates"][0]["rule"]
    assert (told["delta"] == 0) == (told["candidates"][0]["mechanism"] == "laplace")
    assert read_study((tmp_path / "plan.toml").read_text()).terms.digest() == told["terms"]
    shown = copriv("plan", *options, *quick, "--out", "again.toml")
    assert "runner-up" in shown.out


def test_a_verdict_before_anybody_is_asked(copriv, drafted, tmp_path):
    options = ("--data", "east.parquet", "--public", "public.parquet", "--target", "int_rate", "--features", 4)
    told = json.loads(copriv("verdict", *options, "--owners", 5, "--epsilon", 2, "--json").out)
    assert told["verdict"] in {"join", "stay", "either"}
    assert (told["records"], told["owners"], told["epsilon"], told["adjacency"]) == (400, 5, 2.0, "replace-one")
    assert told["interval"][0] < told["joint"] < told["interval"][1]
    assert told["ratio_interval"][0] < told["joint"] / told["alone"] < told["ratio_interval"][1]
    assert told["break_even_owners_interval"][0] <= told["break_even_owners"]
    larger = json.loads(copriv("verdict", *options, "--others", "9000,9000,9000,9000", "--epsilon", 2, "--json").out)
    assert (larger["owners"], larger["others"]) == (5, [9000] * 4)
    assert larger["joint"] < told["joint"]
    assert "not private" in copriv("verdict", *options).out
    for wrong, words in (
        (("--owners", 1), "--owners"),
        (("--others", "9000,many"), "--others"),
        (("--others", "9000", "--owners", 5), "--owners"),
        (("--epsilon", 0), "epsilon"),
        (("--data", "none.csv"), "none.csv"),
    ):
        outcome = copriv("verdict", *options, *wrong)
        assert outcome.code == 2
        assert words in outcome.err


def test_the_study_file_is_what_counts(drafted, tmp_path):
    text = (tmp_path / "study.toml").read_text()
    study = read_study(text)
    assert study.terms.digest() == drafted["terms"]
    assert read_study("# a comment\n" + text).terms.digest() == drafted["terms"]
    assert read_study(text.replace("clip = 1.0", "clip = 1.5")).terms.digest() != drafted["terms"]
    first = study.dictionary["columns"][0]["mean"]
    assert read_study(text.replace(repr(first), repr(first + 1))).terms.digest() != drafted["terms"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("loss = ", "los = "), "'los' in [model]"),
        (("[privacy]", "[piracy]"), "section 'piracy'"),
        (("horizon = 30", 'horizon = "many"'), "horizon"),
        (("horizon = 30", "horizon = 0"), "horizon is 0"),
        (("[dictionary]", "[dictionary"), "not TOML"),
        (("format = 2", "format = 9"), "format 9"),
        (('meeting = "request"', 'meeting = "telepathy"'), "meeting"),
    ],
)
def test_a_bad_study_file_is_named_before_anything_is_made(copriv, drafted, tmp_path, change, words):
    path = tmp_path / "study.toml"
    path.write_text(path.read_text().replace(*change))
    outcome = copriv("learner", "init", path)
    assert outcome.code == 2
    assert words in outcome.err
    assert "remedy" in outcome.err
    assert not (tmp_path / "learner").exists()


def test_join_shows_the_promise_and_writes_nothing_without_approval(copriv, invited, tmp_path):
    outcome = copriv("owner", "join", "east.invitation", "--data", "east.parquet", "--epsilon", "0.5")
    assert outcome.code == 2
    for words in ("ε = 0.5", "replace-one", "400; this number becomes public", "int_rate", invited["terms"][:20]):
        assert words in outcome.err
    assert "--yes" in outcome.err
    assert not (tmp_path / "owner").exists()


def test_only_approved_terms_are_served(copriv, invited, tmp_path):
    join = ("owner", "join", "east.invitation", "--data", "east.parquet", "--approve-later")
    assert copriv(*join).code == 0
    refused = copriv("owner", "serve")
    assert refused.code == 2
    assert "approved" in refused.err
    assert not json.loads(copriv("owner", "status", "--json").out)["approved"]
    assert "Privacy Office" in copriv("owner", "approve", "--yes", "--signed-off-by", "Privacy Office").out
    assert json.loads(copriv("owner", "status", "--json").out)["approved"]
    study = tmp_path / "owner" / "study.toml"
    study.write_text(study.read_text().replace("clip = 1.0", "clip = 2.0"))
    changed = copriv("owner", "serve")
    assert changed.code == 2
    assert "not what the folder says" in changed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--data", "missing.parquet"), "missing.parquet"),
        (("--data", "east.parquet", "--target", "nothing"), "nothing"),
        (("--data", "east.parquet", "--epsilon", "-1"), "epsilon"),
        (("--data", "east.parquet", "--epsilon", "much"), "much"),
        (("--data", "east.parquet", "--delta", "2"), "delta"),
        (("--data", "east.parquet", "--answers", "-3"), "answers"),
        (("--data", "east.parquet", "--rate", "0"), "rate"),
    ],
)
def test_bad_input_to_join_is_named_and_nothing_is_written(copriv, invited, tmp_path, arguments, words):
    outcome = copriv("owner", "join", "east.invitation", *arguments, "--yes")
    assert outcome.code == 2
    assert words in outcome.err
    assert "remedy" in outcome.err
    assert not (tmp_path / "owner").exists()


@pytest.mark.parametrize("drafted", [("--answers", 1)], indirect=True)
def test_a_rule_that_weighs_answers_needs_one_kind_of_noise(copriv, invited, tmp_path):
    outcome = copriv("owner", "join", "east.invitation", "--data", "east.parquet", "--delta", "1e-6", "--yes")
    assert outcome.code == 2
    assert "'newton'" in outcome.err
    assert not (tmp_path / "owner").exists()


def test_a_ledger_that_is_nearly_spent_does_not_join(copriv, invited, tmp_path):
    assert copriv("ledger", "init", "l.sqlite", "--owner", "e", "--data", "east.parquet", "--epsilon", "1").code == 0
    ledger = SqliteLedger(tmp_path / "l.sqlite")
    most = Amount(900_000_000, "epsilon")
    ledger.reserve("q", "?", most, "before", most)
    ledger.close()
    join = ("owner", "join", "east.invitation", "--data", "east.parquet", "--ledger", "l.sqlite", "--yes")
    refused = copriv(*join, "--epsilon", "0.5")
    assert refused.code == 2
    assert "0.1 epsilon left" in refused.err
    assert not (tmp_path / "owner").exists()
    assert copriv(*join, "--epsilon", "0.1").code == 0


def test_invitations_are_secret_and_never_overwritten(copriv, invited, tmp_path):
    assert (tmp_path / "east.invitation").stat().st_mode & 0o077 == 0
    twice = copriv("learner", "invite", "east")
    assert twice.code == 2
    assert "--again" in twice.err
    assert "exists" in copriv("learner", "invite", "east", "--again").err
    assert copriv("learner", "invite", "east", "--again", "--out", "second").code == 0
    members = json.loads((tmp_path / "learner" / "members.json").read_text())["owners"]
    config = (tmp_path / "learner" / "broker.conf").read_text()
    assert config.count("copriv:owner:east:") == 1
    assert members["east"]["identity"] in config


def test_a_new_certificate_for_the_same_study_changes_nothing_else(copriv, joined, tmp_path):
    before = json.loads(copriv("owner", "status", "--folder", "home-east", "--json").out)
    key = (tmp_path / "home-east" / "owner.key").read_text()
    assert copriv("learner", "invite", "east", "--again", "--out", "second").code == 0
    assert copriv("owner", "renew", "second", "--folder", "home-east").code == 0
    assert (tmp_path / "home-east" / "owner.key").read_text() != key
    after = json.loads(copriv("owner", "status", "--folder", "home-east", "--json").out)
    assert {**after, "certificates": None} == {**before, "certificates": None}
    wrong = copriv("owner", "renew", "north.invitation", "--folder", "home-east")
    assert wrong.code == 2
    assert "another owner" in wrong.err


def test_a_revoked_owner_leaves_the_configuration(copriv, invited, tmp_path):
    outcome = copriv("learner", "revoke", "north", "--json")
    assert json.loads(outcome.out) == {"owner": "north", "revoked": True, "broker": False}
    assert "copriv:owner:north" not in (tmp_path / "learner" / "broker.conf").read_text()
    assert "revoked" in copriv("learner", "status").out
    assert copriv("learner", "revoke", "nobody").code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("learner", "init", "missing.toml"), "missing.toml"),
        (("learner", "invite", "a bank", "--folder", "learner"), "'a bank'"),
        (("learner", "invite", "west", "--days", "0"), "--days"),
        (("learner", "run", "--at-least", "3"), "--at-least"),
        (("learner", "run", "--deadline", "0"), "deadline"),
        (("learner", "run", "--folder", "elsewhere"), "elsewhere"),
        (("owner", "serve", "--folder", "elsewhere"), "elsewhere"),
        (("owner", "status", "--folder", "elsewhere"), "elsewhere"),
        (("owner", "join", "study.toml", "--data", "east.parquet"), "not an invitation"),
        (("learner", "draft", "--public", "public.parquet", "--target", "int_rate"), "study.toml exists"),
        (("learner", "draft", "--public", "public.parquet", "--target", "x", "--out", "o"), "'x'"),
        (("learner", "draft", "--public", "p", "--target", "x", "--out", "o", "--owners", "0"), "--owners"),
    ],
)
def test_bad_input_has_a_remedy(copriv, invited, arguments, words):
    outcome = copriv(*arguments)
    assert outcome.code == 2
    assert words in outcome.err
    assert "remedy" in outcome.err


@pytest.mark.parametrize(
    ("lock", "command"),
    [("home-east/serve.lock", ("owner", "serve", "--folder", "home-east")), ("learner/run.lock", ("learner", "run"))],
)
def test_only_one_process_works_in_a_folder(copriv, joined, tmp_path, lock, command):
    with (tmp_path / lock).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcome = copriv(*command)
    assert outcome.code == 2
    assert "already" in outcome.err
