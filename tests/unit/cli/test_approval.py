"""What a person has approved is what is served: everything that shapes the promise, and nothing in its place."""

import json
import shutil
from contextlib import closing

import msgspec
import pytest
from tests.narrow_loans import narrow_loans

from copriv.errors import BadInput
from copriv.owner import approval as approvals
from copriv.owner.ledger_opening import begin, fingerprint_of_file
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import Enrollment, OwnerWorkspace
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.study_file import read_study

COVERED_BEFORE = ("terms", "nano_epsilon", "delta", "answers")


@pytest.fixture(scope="module")
def study(copriv_once, tmp_path_factory):
    """A folder with public rows, a bank's table and a study."""
    folder = tmp_path_factory.mktemp("study")
    for seed, name, rows in ((0, "public", 400), (1, "east", 200)):
        narrow_loans(rows, seed).write_parquet(folder / f"{name}.parquet")
    drafted = copriv_once(
        folder,
        *("learner", "draft", "--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 200),
        *("--rule", "paper", "--horizon", 4, "--answers", 4, "--step", 0.1, "--clip", 1, "--features", 3),
        *("--learner", "The Institute", "--name", "loans 2026", "--delta", "1e-6"),
    )
    assert drafted.code == 0, drafted.err
    return folder


@pytest.fixture
def home(study, copriv, tmp_path):
    """An owner's folder with a promise of ε = 1, δ = 1e-6, approved."""
    shutil.copytree(study, tmp_path, dirs_exist_ok=True)
    for command in (
        ("learner", "init", "study.toml"),
        ("learner", "invite", "east"),
        ("owner", "join", "east.invitation", "--data", "east.parquet", "--ledger", "l.sqlite", "--yes",
         "--signed-off-by", "A. Officer"),
    ):  # fmt: skip
        outcome = copriv(*command)
        assert outcome.code == 0, outcome.err
    return OwnerWorkspace(tmp_path / "owner")


def _change(home, **changes):
    path = home.folder / "engagement.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(home.enrollment, **changes)))


def _another_data_file(home, tmp_path):
    shutil.copy(home.enrollment.data, tmp_path / "copy.parquet")
    _change(home, data=str(tmp_path / "copy.parquet"))


def _another_ledger_file(home, tmp_path):
    shutil.copy(home.enrollment.ledger, tmp_path / "copy.sqlite")
    _change(home, ledger=str(tmp_path / "copy.sqlite"))


def _another_ledger_in_its_place(home, tmp_path):
    (tmp_path / "l.sqlite").unlink()
    fingerprint = fingerprint_of_file(tmp_path / "east.parquet")
    SqliteLedger.create(tmp_path / "l.sqlite", begin("east", fingerprint, Guarantee.of(9, 1e-6))).close()


def _other_records(home, tmp_path):
    narrow_loans(201, 7).write_parquet(tmp_path / "east.parquet")


def _other_terms(home, tmp_path):
    study = home.folder / "study.toml"
    study.write_text(study.read_text().replace('learner = "The Institute"', 'learner = "Somebody Else"'))


CHANGES = {
    "owner": (lambda home, _path: _change(home, owner="west"), "the owner's name"),
    "data": (_another_data_file, "the path of the records"),
    "target": (lambda home, _path: _change(home, target="loan_amnt"), "the target column"),
    "form": (lambda home, _path: _change(home, form={"decimal": ","}), "how the file of the records is written"),
    "nano_epsilon": (lambda home, _path: _change(home, nano_epsilon=10**9 - 1), "epsilon"),
    "delta": (lambda home, _path: _change(home, delta=1e-5), "delta"),
    "accountant": (lambda home, _path: _change(home, accountant="zcdp"), "the accountant"),
    "answers": (lambda home, _path: _change(home, answers=3), "the number of answers"),
    "ledger": (_another_ledger_file, "the path of the ledger"),
    "reading": (
        lambda home, _path: _change(home, reading={"blocks": ["first"], "until": "first"}),
        "the blocks that are read",
    ),
    "another ledger in its place": (_another_ledger_in_its_place, "the ledger"),
    "other records": (_other_records, "the records"),
    "terms": (_other_terms, "the terms"),
}
FREE = ("host", "port", "rate")


def _refusal(home):
    try:
        OwnerWorkspace(home.folder).require_approved()
    except BadInput as problem:
        return problem.problem
    return None


def test_every_field_of_an_engagement_is_either_covered_or_free():
    assert {*CHANGES, *FREE} >= set(Enrollment.__struct_fields__)


def test_what_is_approved_is_served_and_the_way_to_the_broker_may_change(home):
    assert _refusal(home) is None
    _change(home, host="broker.example.org", port=4333, rate=2.0)
    assert _refusal(home) is None


def test_what_was_approved_before_files_had_a_format_is_still_approved(home):
    for name in ("engagement.json", "approval.json"):
        content = json.loads((home.folder / name).read_text())
        assert content.pop("form") == dict.fromkeys(("encoding", "delimiter", "decimal", "dates"))
        (home.folder / name).write_text(json.dumps(content))
    assert _refusal(home) is None


def _restore(kept):
    for path, content in kept.items():
        path.write_bytes(content)


def test_whatever_shapes_the_promise_cannot_be_exchanged(copriv, home, tmp_path):
    names = ("owner/engagement.json", "owner/study.toml", "l.sqlite", "east.parquet")
    kept = {tmp_path / name: (tmp_path / name).read_bytes() for name in names}
    for name, (change, words) in CHANGES.items():
        change(home, tmp_path)
        served = copriv("owner", "serve")
        assert served.code == 2, name
        assert words in served.err.split("it differs in ")[1].splitlines()[0].split(", ")
        assert "copriv owner approve" in served.err
        assert not OwnerWorkspace(home.folder).is_approved()
        _restore(kept)
        assert _refusal(home) is None, name


def test_a_new_version_of_the_records_has_to_be_approved(home, tmp_path):
    _other_records(home, tmp_path)
    with closing(SqliteLedger(tmp_path / "l.sqlite")) as ledger:
        ledger.open_version(fingerprint_of_file(tmp_path / "east.parquet"), "somebody")
    assert _refusal(home).endswith("it differs in the records")


def test_an_approval_of_less_would_be_caught(home, tmp_path, monkeypatch):
    """The twin covers what approvals used to cover: some of the changes above would pass."""
    monkeypatch.setattr(approvals, "_WORDS", {name: name for name in COVERED_BEFORE})
    for field, value in (("target", "loan_amnt"), ("accountant", "zcdp")):
        _change(home, **{field: value})
        assert _refusal(home) is None
    _another_ledger_in_its_place(home, tmp_path)
    assert _refusal(home) is None


def test_an_approval_from_before_has_to_be_given_again(copriv, home):
    path = home.folder / "approval.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({name: kept[name] for name in (*COVERED_BEFORE, "by", "at")}))
    assert "approve again" in copriv("owner", "serve").err
    assert not json.loads(copriv("owner", "status", "--json").out)["approved"]
    assert copriv("owner", "approve", "--yes").code == 0
    assert _refusal(home) is None


def test_an_approval_holds_no_hash_that_others_can_recompute(home):
    text = (home.folder / "approval.json").read_text()
    assert fingerprint_of_file(home.folder.parent / "east.parquet") not in text


def test_the_ledger_knows_who_asks_and_who_has_approved(home):
    with closing(SqliteLedger(home.folder.parent / "l.sqlite")) as ledger:
        [enrolled] = ledger.state().enrolled.values()
    assert (enrolled.name, enrolled.learner, enrolled.approved_by) == ("loans 2026", "The Institute", "A. Officer")
    assert (enrolled.asks, enrolled.public.rows, enrolled.public.source) == ("gradient", 400, "public.parquet")


def test_the_sheet_shows_learner_and_public_rows(copriv, home):
    shown = copriv("owner", "approve", "--yes").err
    for words in ("The Institute", "400 public rows of public.parquet"):
        assert words in shown
    status = copriv("owner", "status").out
    assert "The Institute" in status


def test_learner_and_public_rows_are_part_of_the_terms(home):
    text = (home.folder / "study.toml").read_text()
    digest = home.study.terms.digest()
    for old, new in (("The Institute", "An Institute"), ("public_rows = 400", "public_rows = 401"),
                     ('source = "public.parquet"', 'source = "other.parquet"')):  # fmt: skip
        assert old in text
        assert read_study(text.replace(old, new)).terms.digest() != digest
    with pytest.raises(BadInput, match="printable"):
        read_study(text.replace("The Institute", "The\\u001b[2JInstitute"))


def test_a_promise_that_means_little_is_called_that_where_it_is_approved(copriv, home, tmp_path):
    """δ = 0.006 is above 1/n for 200 records."""
    dataset = fingerprint_of_file(tmp_path / "east.parquet")
    for changes, words in (
        ({"nano_epsilon": 12 * 10**9}, "e^12"),
        ({"delta": 0.9}, "δ = 0.9"),
        ({"delta": 0.006}, "with 200 records"),
    ):
        (tmp_path / "l.sqlite").unlink()
        guarantee = msgspec.structs.replace(home.enrollment, **changes).guarantee
        SqliteLedger.create(tmp_path / "l.sqlite", begin("east", dataset, guarantee)).close()
        _change(home, **changes)
        approved = copriv("owner", "approve", "--yes", "--json")
        assert approved.code == 0, approved.err
        assert words in approved.err
        assert words in json.loads(approved.out)["weakness"]
        assert words in copriv("owner", "status").out
        assert words in json.loads(copriv("owner", "status", "--json").out)["weakness"]
