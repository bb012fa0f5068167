"""Ways to a second budget that a mistake could take: copied run folders, moved or lost files, remedies that fail."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from tests.narrow_loans import narrow_loans

from copriv.errors import BadInput, LedgerFailure
from copriv.owner.dataset_ledger import Word, open_settled, settle
from copriv.owner.joining import require_registered
from copriv.owner.ledger_opening import begin, fingerprint_of_file
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee

LEARN = ("--target", "int_rate", "--features", "3", "--public-rows", 300, "--owners", 3)


@pytest.fixture
def loans(copriv, tmp_path):
    path = tmp_path / "loans.parquet"
    narrow_loans(900, 4).write_parquet(path)
    return path


@pytest.fixture
def train(copriv, loans):
    """A quick run; every call has a folder of its own."""
    numbers = iter(range(100))

    def call(*arguments, data=loans, rule=("--rule", "statistics")):
        return copriv("train", "--data", data, *LEARN, *rule, "--out", f"run{next(numbers)}", "--json", *arguments)

    return call


def _ledger_of(outcome):
    assert outcome.code == 0, outcome.err
    return Path(json.loads(outcome.out)["dataset"]["ledger"])


def _answers(folder):
    """Every answer that the owners of a run folder have given, by owner and query."""
    found = {}
    for path in sorted((folder / "ledgers").glob("*.sqlite")):
        with closing(sqlite3.connect(path)) as connection:
            found |= {(path.name, *row[:1]): row[1] for row in connection.execute("SELECT query, bytes FROM payload")}
    return found


@pytest.fixture
def cut(monkeypatch):
    """The power goes after so many meetings, once."""
    from copriv.runtime.local import Watch

    real, seen = Watch.see, []

    class Cut(Exception):
        """The power goes."""

    def see(watch, iteration, model):
        seen.append(iteration.number)
        if len(seen) == 10:
            raise Cut
        real(watch, iteration, model)

    monkeypatch.setattr(Watch, "see", see)


def test_a_copy_of_a_run_folder_answers_nothing_twice(train, copriv, cut, tmp_path):
    assert train(rule=("--rule", "paper", "--horizon", 40, "--seed", 1)).code == 70
    shutil.copytree(tmp_path / "run0", tmp_path / "backup")
    assert copriv("train", "--resume", "run0", "--json").code == 0
    refused = copriv("train", "--resume", "backup", "--json")
    one, other = _answers(tmp_path / "run0"), _answers(tmp_path / "backup")
    assert len(other) < len(one)
    assert all(one[asked] == answer for asked, answer in other.items())
    assert refused.code == 2
    assert "rolled back" in refused.err


def test_two_copies_of_a_run_folder_do_not_answer_at_once(train, cut, tmp_path):
    """Both are open before either answers; the second to answer is refused."""
    assert train(rule=("--rule", "paper", "--horizon", 40, "--seed", 1)).code == 70
    shutil.copytree(tmp_path / "run0", tmp_path / "backup")
    path = next((tmp_path / "run0" / "ledgers").glob("*.sqlite"))
    with closing(SqliteLedger(path)) as one, closing(SqliteLedger(tmp_path / "backup" / "ledgers" / path.name)) as two:
        one.open_version("0" * 64, "somebody")
        with pytest.raises(LedgerFailure, match="rolled back"):
            two.open_version("0" * 64, "somebody")


def test_nothing_that_depends_on_records_names_a_ledger(train, copriv, loans, tmp_path, registry_folder, monkeypatch):
    """The same registry and key before the same file: the name of the ledger is chance."""
    with Registry():
        pass
    shutil.copytree(registry_folder, tmp_path / "twin")
    first = _ledger_of(train())
    monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / "twin"))
    assert _ledger_of(train()).name != first.name
    monkeypatch.setenv("COPRIV_REGISTRY", str(registry_folder))
    renamed = first.rename(first.with_name("c0ffee.sqlite"))
    outcome = copriv("ledger", "statement", renamed, "--out", "stated", "--json")
    assert outcome.code == 0, outcome.err
    with closing(SqliteLedger(renamed)) as ledger:
        assert json.loads(outcome.out)["ledger"] == ledger.state().id
    for page in (outcome.out, *(path.read_text() for path in (tmp_path / "stated").iterdir())):
        assert "c0ffee" not in page


def test_a_registry_that_was_moved_finds_its_ledgers(train, tmp_path, registry_folder, monkeypatch):
    first = _ledger_of(train())
    moved = registry_folder.rename(tmp_path / "new-disk")
    monkeypatch.setenv("COPRIV_REGISTRY", str(moved))
    assert _ledger_of(train()) == moved / first.relative_to(registry_folder)


def test_a_ledger_that_was_moved_is_named_and_found(train, copriv, loans, tmp_path):
    """The remedy that is printed works; a stranger or an old copy is not taken for the ledger."""
    init = ("ledger", "init", "a.sqlite", "--owner", "x", "--data", loans, "--epsilon", "9")
    assert copriv(*init).code == 0
    shutil.copy("a.sqlite", "old.sqlite")
    assert _ledger_of(train()) == tmp_path / "a.sqlite"
    (tmp_path / "a.sqlite").rename(tmp_path / "b.sqlite")
    refused = train()
    assert refused.code == 2
    assert "copriv ledger moved LEDGER" in refused.err
    assert copriv("ledger", "moved", "old.sqlite").code == 2
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    SqliteLedger.create(tmp_path / "c.sqlite", begin("c", "0" * 64, Guarantee.of(1))).close()
    stranger = copriv("ledger", "moved", "c.sqlite")
    assert stranger.code == 2
    assert "does not know the ledger" in stranger.err
    assert train().code == 2
    told = copriv("ledger", "moved", "b.sqlite")
    assert told.code == 0, told.err
    assert str(tmp_path / "b.sqlite") in told.out
    assert _ledger_of(train()) == tmp_path / "b.sqlite"


@pytest.mark.parametrize("how", ["version", "--version-of"])
def test_naming_a_ledger_that_was_moved_notes_its_place(train, copriv, loans, tmp_path, how):
    assert copriv("ledger", "init", "a.sqlite", "--owner", "x", "--data", loans, "--epsilon", "9").code == 0
    (tmp_path / "a.sqlite").rename(tmp_path / "b.sqlite")
    if how == "version":
        version = ("ledger", "version", "b.sqlite", "--data", loans, "--signed-off-by", "an officer")
        assert copriv(*version).code == 0
    else:
        assert _ledger_of(train("--version-of", "b.sqlite")) == tmp_path / "b.sqlite"
    assert _ledger_of(train()) == tmp_path / "b.sqlite"


def test_a_lost_or_foreign_key_does_not_open_a_fresh_budget(train, registry_folder):
    _ledger_of(train("--budget", "1"))
    key = registry_folder / "key"
    right = key.read_bytes()
    key.unlink()
    lost = train()
    assert lost.code == 2
    assert "restore the key" in lost.err
    assert not key.exists()
    key.write_bytes(b"w" * 32)
    assert "that of another registry" in train().err
    key.write_bytes(right)
    assert "left, and this may take" in train().err


def test_a_registry_of_before_the_check_takes_its_key_over(train, registry_folder):
    _ledger_of(train())
    with closing(sqlite3.connect(registry_folder / "registry.sqlite")) as connection:
        connection.execute("DROP TABLE key_check")
    _ledger_of(train())
    (registry_folder / "key").write_bytes(b"w" * 32)
    assert train().code == 2


def test_an_empty_registry_without_a_key_gets_one(registry_folder):
    Registry().close()
    (registry_folder / "key").unlink()
    Registry().close()
    Registry().close()


def _killed(*_arguments):
    raise KeyboardInterrupt


def test_a_ledger_that_was_made_and_not_registered_is_taken_over(train, copriv, loans, tmp_path, monkeypatch):
    init = ("ledger", "init", "a.sqlite", "--owner", "x", "--data", loans, "--epsilon", "1")
    with monkeypatch.context() as patch:
        patch.setattr(Registry, "register", _killed)
        assert copriv(*init).code == 130
    assert (tmp_path / "a.sqlite").exists()
    again = copriv(*init)
    assert again.code == 0, again.err
    assert "taken over" in again.out
    assert _ledger_of(train()) == tmp_path / "a.sqlite"
    assert train().code == 2
    assert "already" in copriv(*init).err


def test_a_ledger_of_other_records_is_not_taken_over(copriv, loans, tmp_path):
    SqliteLedger.create(tmp_path / "a.sqlite", begin("a", "0" * 64, Guarantee.of(1))).close()
    init = ("ledger", "init", "a.sqlite", "--owner", "x", "--data", loans, "--epsilon", "1")
    refused = copriv(*init)
    assert refused.code == 2
    assert "for other records" in refused.err
    with Registry() as registry:
        assert registry.datasets() == []


@pytest.fixture
def others(copriv, loans, tmp_path):
    """A ledger of other records, beside that of the loans."""
    narrow_loans(300, 5).write_parquet(tmp_path / "others.parquet")
    for name, data in (("a", loans), ("b", "others.parquet")):
        assert copriv("ledger", "init", f"{name}.sqlite", "--owner", name, "--data", data, "--epsilon", "9").code == 0
    pl.read_parquet(loans).reverse().write_csv(tmp_path / "turned.csv")
    return tmp_path / "b.sqlite"


def test_a_version_that_looks_like_records_of_another_ledger_is_refused(copriv, others, tmp_path):
    version = ("ledger", "version", others, "--data", "turned.csv", "--signed-off-by", "an officer")
    refused = copriv(*version)
    assert refused.code == 2
    assert "looks like records of another ledger" in refused.err
    assert copriv("ledger", "verify", others, "--data", "turned.csv").code == 2
    assert copriv(*version, "--unrelated").code == 0
    assert copriv("ledger", "verify", others, "--data", "turned.csv").code == 0


def test_an_owner_does_not_serve_from_records_of_another_ledger(copriv, others, tmp_path):
    """Joined elsewhere, and unknown here, but for the records; the remedy that is named works."""
    data = tmp_path / "turned.csv"
    made = SqliteLedger.create(tmp_path / "c.sqlite", begin("c", fingerprint_of_file(data), Guarantee.of(1)))
    with Registry() as registry, closing(made) as ledger:
        with pytest.raises(BadInput, match="another ledger") as refused:
            require_registered(registry, data, ledger, tmp_path / "c.sqlite")
        assert registry.known_file(registry.fingerprint(data)) is None
    sign = refused.value.remedy.partition("copriv ")[2].replace("NAME", "somebody")
    assert copriv(*sign.split()).code == 0
    with Registry() as registry, closing(SqliteLedger(tmp_path / "c.sqlite")) as ledger:
        require_registered(registry, data, ledger, tmp_path / "c.sqlite")


def test_what_was_registered_since_is_compared(copriv, loans, tmp_path):
    """Two files of the same records, both looked up before either is registered."""
    turned = tmp_path / "turned.csv"
    pl.read_parquet(loans).reverse().write_csv(turned)
    with Registry() as registry:
        one, two = (settle(registry, registry.lookup(path), Word("x")) for path in (loans, turned))
        open_settled(registry, one, tmp_path / "1.sqlite", lambda: begin("x", "0" * 64, Guarantee.of(1))).close()
        with pytest.raises(BadInput, match="it looks like"):
            open_settled(registry, two, tmp_path / "2.sqlite", lambda: begin("x", "0" * 64, Guarantee.of(1)))
    assert not (tmp_path / "2.sqlite").exists()


def _epoch(copriv, ledger, *arguments):
    outcome = copriv("ledger", "epoch", ledger, *arguments, "--signed-off-by", "an officer", "--json")
    return json.loads(outcome.out) if outcome.code == 0 else outcome.err


def _budgets(told):
    return {account["currency"][5:]: account["budget"] for account in told["accounts"]}


def _spend(path, nano, measure, query):
    with closing(SqliteLedger(Path(path))) as ledger:
        ledger.reserve(query, "?", Amount(nano, measure), query, Amount(nano, measure))


def test_an_epoch_declares_a_budget_where_there_is_none(train, copriv):
    ledger = _ledger_of(train())
    assert _budgets(_epoch(copriv, ledger, "--epsilon", "3")) == {"epsilon": 3 * 10**9}
    assert "less than what is spent" in _epoch(copriv, ledger, "--epsilon", "0.9")
    _ledger_of(train("--epsilon", "2"))
    assert train("--epsilon", "0.1").code == 2


def test_an_epoch_keeps_both_kinds_of_noise_where_no_budget_was_declared(train, copriv):
    ledger = _ledger_of(train())
    _ledger_of(train("--delta", "1e-6", "--accountant", "zcdp", "--features", "10"))
    assert "--delta" in _epoch(copriv, ledger, "--epsilon", "9")
    told = _epoch(copriv, ledger, "--epsilon", "9", "--delta", "1e-6")
    assert told["delta"] == 1e-6
    assert _budgets(told)["epsilon"] == 10**9
    assert _budgets(told)["rho"] > 10**6
    refused = train("--epsilon", "0.5")
    assert "--pure" in refused.err
    told = _epoch(copriv, ledger, "--epsilon", "9", "--pure", "2")
    assert _budgets(told)["epsilon"] == 2 * 10**9
    _ledger_of(train("--epsilon", "0.5"))


@pytest.fixture
def made(copriv, loans):
    def call(*arguments):
        init = ("ledger", "init", "a.sqlite", "--owner", "x", "--data", loans, "--accountant", "zcdp")
        assert copriv(*init, *arguments).code == 0
        return "a.sqlite"

    return call


def test_an_epoch_keeps_an_account_that_is_all_pure(made, copriv):
    ledger = made("--epsilon", "1", "--delta", "1e-6", "--pure", "1")
    _spend(ledger, 10**8, "epsilon", "q")
    told = _epoch(copriv, ledger, "--epsilon", "2")
    assert _budgets(told)["epsilon"] == 10**9
    assert _budgets(told)["rho"] > 0


def test_an_epoch_changes_delta_and_the_pure_part(made, copriv):
    ledger = made("--epsilon", "1", "--delta", "1e-6", "--pure", "0.5")
    _spend(ledger, 4 * 10**8, "epsilon", "q")
    before = _budgets(_epoch(copriv, ledger, "--epsilon", "1"))
    assert before["epsilon"] == 5 * 10**8
    assert _budgets(_epoch(copriv, ledger, "--epsilon", "1", "--delta", "1e-5"))["rho"] > before["rho"]
    assert _budgets(_epoch(copriv, ledger, "--epsilon", "2", "--pure", "1.5", "--delta", "1e-6")) == {
        "epsilon": 15 * 10**8,
        "rho": before["rho"],
    }
    assert "--pure" in _epoch(copriv, ledger, "--epsilon", "1")
    assert "--pure" in _epoch(copriv, ledger, "--epsilon", "1", "--pure", "0.3")
    assert _budgets(_epoch(copriv, ledger, "--epsilon", "1", "--delta", "0")) == {"epsilon": 10**9}


def test_an_epoch_never_falls_below_what_gaussian_noise_has_spent(made, copriv):
    ledger = made("--epsilon", "1", "--delta", "1e-6")
    rho = _budgets(_epoch(copriv, ledger, "--epsilon", "1"))["rho"]
    _spend(ledger, rho, "rho", "q")
    assert "--delta" in _epoch(copriv, ledger, "--epsilon", "9", "--delta", "0")
    for less in (("--epsilon", "0.9"), ("--epsilon", "1", "--pure", "0.5"), ("--epsilon", "1", "--pure", "1")):
        assert "less than what is spent" in _epoch(copriv, ledger, *less)
    assert "less than what is spent" in _epoch(copriv, ledger, "--epsilon", "1", "--delta", "1e-9")
    assert _budgets(_epoch(copriv, ledger, "--epsilon", "3", "--pure", "1.5"))["rho"] > rho
    assert _budgets(_epoch(copriv, ledger, "--epsilon", "3", "--pure", "0"))["rho"] > rho
