"""One set of records has one budget, whatever folder, partition, format or version it comes in."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.narrow_loans import narrow_loans

from copriv.cli import person
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount
from copriv.runtime.rehearsal import free_port

QUICK = ("--target", "int_rate", "--rule", "statistics", "--features", "3")


@pytest.fixture
def loans(copriv, tmp_path):
    path = tmp_path / "loans.parquet"
    frame = narrow_loans(900, 4).with_columns(pl.Series("bank", ["a", "b", "c"] * 300))
    frame.write_parquet(path)
    return path


@pytest.fixture
def train(copriv, loans):
    """A quick run; every call has a folder of its own."""
    numbers = iter(range(100))

    def call(*arguments, data=loans, owners=("--owners", 4), public=("--public-rows", 300)):
        out = ("--out", f"run{next(numbers)}")
        return copriv("train", "--data", data, *owners, *public, *QUICK, *out, "--json", *arguments)

    return call


@pytest.fixture
def invited(copriv, loans):
    """Invitations to three studies on such loans."""
    narrow_loans(900, 0).write_parquet("public.parquet")
    for name in ("one", "two", "three"):
        draft = ("--public", "public.parquet", "--owners", 2, "--records", 350, "--rule", "statistics", "--epsilon", 1)
        outcome = copriv("learner", "draft", *draft, "--target", "int_rate", "--name", name, "--out", f"{name}.toml")
        assert outcome.code == 0, outcome.err
        copriv("learner", "init", f"{name}.toml", "--folder", f"hq-{name}", "--port", free_port())
        copriv("learner", "invite", "bank", "--folder", f"hq-{name}", "--out", f"{name}.invitation")


@pytest.fixture
def join(copriv, invited, loans):
    def call(name, *arguments, data=loans, epsilon="1"):
        folder = ("--folder", f"home-{name}")
        return copriv(
            *("owner", "join", f"{name}.invitation", "--data", data, "--epsilon", epsilon, *folder, "--yes", "--json"),
            *arguments,
        )

    return call


def _dataset(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)["dataset"]


def _spent(path):
    ledger = SqliteLedger(Path(path))
    try:
        return {measure: account.spent for measure, account in ledger.state().accounts.items() if account.spent}
    finally:
        ledger.close()


def test_another_partition_pays_from_the_same_budget(train):
    first = _dataset(train("--budget", "2.5"))
    assert (first["epsilon"], first["delta"], first["budget"], first["studies"]) == (1, 0, 2.5, 1)
    assert (first["unit"], first["adjacency"]) == ("record", "replace-one")
    second = _dataset(train(owners=("--owners", 6)))
    assert (second["ledger"], second["epsilon"], second["studies"]) == (first["ledger"], 2, 2)
    for owners in (("--owners", 3), ("--owner-column", "bank"), ("--owners", 4, "--records-per-owner", 50)):
        refused = train(owners=owners)
        assert refused.code == 2
        assert "0.5 epsilon left, and this may take 1" in refused.err
    assert _dataset(train("--epsilon", "0.5", owners=("--owner-column", "bank")))["epsilon"] == 2.5


def test_ledgers_that_are_shared_mean_one_budget_for_every_partition(train, tmp_path):
    """Finding 5: `--ledgers DIR` was bypassed by another number of owners."""
    assert _dataset(train("--ledgers", "shared"))["budget"] == 1
    refused = train("--ledgers", "shared", owners=("--owners", 10))
    assert refused.code == 2
    assert "left, and this may take" in refused.err
    assert not (tmp_path / "run1").exists()


def test_without_a_budget_spending_is_noted_and_a_budget_counts_it(train):
    assert _dataset(train())["budget"] is None
    assert _dataset(train("--epsilon", "3"))["epsilon"] == 4
    refused = train("--budget", "4.5")
    assert refused.code == 2
    assert "lost epsilon = 5 in all (delta = 0), and the budget is 4.5" in refused.err
    assert _dataset(train("--budget", "5"))["budget"] == 5
    assert train("--epsilon", "0.1", "--budget", "9").code == 2


def test_both_kinds_of_noise_add_up(train):
    gaussian = ("--delta", "1e-6", "--accountant", "zcdp", "--features", "10")  # so many that δ pays
    assert _dataset(train())["delta"] == 0
    both = _dataset(train(*gaussian))
    assert both["delta"] == 1e-6
    assert 1.9 < both["epsilon"] <= 2
    assert "and the budget is 2.5" in train("--budget", "2.5").err
    assert _dataset(train("--budget", "3"))["epsilon"] <= 3
    assert train("--epsilon", "0.1", *gaussian).code == 2


def test_owners_with_budgets_of_their_own_cost_the_largest(train, tmp_path):
    (tmp_path / "eps.csv").write_text("owner,epsilon\na,0.5\nb,2\nc,1\n")
    assert _dataset(train("--epsilons", "eps.csv", owners=("--owner-column", "bank")))["epsilon"] == 2


def test_a_resumed_run_pays_once(train, copriv, tmp_path, monkeypatch):
    from copriv.runtime import local_run

    def fail(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(local_run, "_train", fail)
        assert train("--budget", "1").code == 130
    outcome = copriv("train", "--resume", "run0", "--json")
    assert _dataset(outcome)["epsilon"] == 1
    assert train().code == 2


def test_simulations_and_generated_records_touch_no_registry(train, copriv, registry_folder):
    assert train("--simulate").code == 0
    made = ("--owners", 2, "--records-per-owner", 300, "--public-rows", 300, "--features", 3, "--rule", "statistics")
    assert copriv("train", *made, "--out", "made", "--json").code == 0
    assert not registry_folder.exists()


def test_rows_once_public_stay_public(train, loans, tmp_path):
    assert train().code == 0
    for public in (("--public-rows", 200), ("--public-rows", 400), ("--public-rows", 300, "--shuffle", "--seed", "1")):
        refused = train(public=public)
        assert refused.code == 2
        assert "divide the file as before: --public-rows 300" in refused.err
    pl.read_parquet(loans).head(500).write_csv(tmp_path / "offered.csv")
    pl.read_parquet(loans).tail(250).write_csv(tmp_path / "the public ones.csv")
    others = narrow_loans(900, 8).with_columns(pl.lit("a").alias("bank"))
    others.write_parquet(tmp_path / "others.parquet")
    refused = train(data="others.parquet", public=("--public", "offered.csv"))
    assert refused.code == 2
    assert "private there and would be public here" in refused.err
    assert train(data="others.parquet", public=("--public", loans)).code == 2
    assert train(data="others.parquet", public=("--public", "the public ones.csv")).code == 0
    refused = train(data="the public ones.csv", public=("--public-rows", 100))
    assert refused.code == 2
    assert "declared public before" in refused.err


def test_a_file_does_not_hold_its_own_public_rows(train, loans, tmp_path):
    pl.read_parquet(loans).head(400).write_csv(tmp_path / "part.csv")
    refused = train(public=("--public", "part.csv"))
    assert refused.code == 2
    assert "private there and would be public here" in refused.err
    assert train(public=("--public", loans)).code == 2


def test_a_shuffle_is_repeated(train):
    first = json.loads(train(public=("--public-rows", 300, "--shuffle")).out)
    again = train(public=("--public-rows", 300, "--shuffle"))
    assert f"--seed {first['seed']}" in again.err
    assert json.loads(again.out)["seed"] == first["seed"]
    refused = train(public=("--public-rows", 300, "--shuffle", "--seed", "5"))
    assert refused.code == 2
    assert f"--shuffle --seed {first['seed']}" in refused.err


def test_another_folder_does_not_open_another_budget(join, copriv, tmp_path):
    """Finding 4: one file joined three times spent 3ε."""
    ledger = tmp_path / "home-one" / "ledger.sqlite"
    assert json.loads(join("one").out)["ledger"] == str(ledger)
    taken = SqliteLedger(ledger)
    one = Amount(10**9, "epsilon")
    taken.reserve("q", "?", one, "one", one)
    taken.close()
    refused = join("two")
    assert refused.code == 2
    assert "0 epsilon left, and this may take 1" in refused.err
    assert not (tmp_path / "home-two").exists()
    copriv("ledger", "epoch", ledger, "--epsilon", "2", "--signed-off-by", "an officer")
    second = join("two")
    assert json.loads(second.out)["ledger"] == str(ledger)
    assert "these records have spent ε = 1, δ = 0 for any one record (replace-one) in all before" in second.err
    assert join("three", epsilon="1.5").code == 2
    refused = join("three", "--ledger", "another.sqlite", epsilon="0.1")
    assert refused.code == 2
    copriv("ledger", "init", "x.sqlite", "--owner", "x", "--data", "public.parquet", "--epsilon", "1")
    refused = join("three", "--ledger", "x.sqlite", epsilon="0.1")
    assert refused.code == 2
    assert str(ledger) in refused.err


def test_init_names_the_ledger_that_there_is(copriv, loans, tmp_path):
    init = ("ledger", "init", "--owner", "x", "--data")
    assert copriv(*init, loans, "a.sqlite", "--epsilon", "1").code == 0
    refused = copriv(*init, loans, "b.sqlite", "--epsilon", "1")
    assert refused.code == 2
    assert str(tmp_path / "a.sqlite") in refused.err
    pl.read_parquet(loans).tail(600).reverse().write_csv(tmp_path / "later.csv")
    refused = copriv(*init, "later.csv", "b.sqlite", "--epsilon", "1")
    assert refused.code == 2
    assert "it looks like" in refused.err
    assert "ledger version" in refused.err
    assert not (tmp_path / "b.sqlite").exists()
    version = ("ledger", "version", "a.sqlite", "--data", "later.csv", "--signed-off-by", "an officer")
    assert copriv(*version).code == 0
    assert str(tmp_path / "a.sqlite") in copriv(*init, "later.csv", "b.sqlite", "--epsilon", "1").err
    assert copriv(*init, loans, "b.sqlite", "--epsilon", "1", "--unrelated").code == 2
    pl.read_parquet(loans).head(600).write_csv(tmp_path / "twins.csv")
    assert copriv(*init, "twins.csv", "b.sqlite", "--epsilon", "1", "--unrelated").code == 0


def test_a_later_version_inherits_what_was_spent(train, loans, tmp_path):
    ledger = _dataset(train("--budget", "2"))["ledger"]
    frame = pl.read_parquet(loans)
    later = pl.concat([frame.head(600).sample(fraction=1, shuffle=True, seed=2), frame.tail(300)])
    later.write_csv(tmp_path / "later.csv")
    refused = train(data="later.csv")
    assert refused.code == 2
    assert f"--version-of {ledger}" in refused.err
    assert _dataset(train("--version-of", ledger, data="later.csv"))["epsilon"] == 2
    assert train(data="later.csv").code == 2
    assert train().code == 2
    frame.head(300).write_csv(tmp_path / "part.csv")
    narrow_loans(400, 77).write_parquet(tmp_path / "public.parquet")
    public = ("--public", "public.parquet")
    assert train("--version-of", ledger, data="part.csv", public=public, owners=("--owners", 2)).code == 2
    alone = _dataset(train("--unrelated", data="part.csv", public=public, owners=("--owners", 2)))
    assert alone["epsilon"] == 1


def test_a_person_is_asked(train, copriv, loans, tmp_path, monkeypatch):
    ledger = _dataset(train())["ledger"]
    pl.read_parquet(loans).sample(fraction=1, shuffle=True, seed=3).write_csv(tmp_path / "shuffled.csv")
    asked, words = [], iter([False, False, True])

    def ask(question):
        asked.append(question)
        return next(words)

    monkeypatch.setattr(person, "asker", lambda _console: ask)
    narrow_loans(400, 77).write_parquet(tmp_path / "public.parquet")
    refused = train(data="shuffled.csv", public=("--public", "public.parquet"))
    assert refused.code == 2
    assert len(asked) == 2
    assert "loans.parquet" in asked[0]
    refused = train(data="shuffled.csv", public=("--public", "public.parquet"))
    assert "public there and would be private here" in refused.err
    with Registry() as registry:
        assert len(registry.datasets()) == 1
    assert _spent(ledger) == {"epsilon": 10**9}


def test_nobody_is_asked_where_nobody_is(monkeypatch):
    from rich.console import Console

    assert person.asker(Console(force_terminal=False)) is None


def test_joining_declares_a_budget_where_there_was_none(train, join, copriv, loans, tmp_path):
    pl.read_parquet(loans).head(600).write_parquet(tmp_path / "private.parquet")
    narrow_loans(400, 77).write_parquet(tmp_path / "rows.parquet")
    run = {"data": "private.parquet", "public": ("--public", "rows.parquet")}
    ledger = _dataset(train("--epsilon", "2", **run))["ledger"]
    joined = join("one", data="private.parquet")
    assert joined.code == 0, joined.err
    assert "these records have spent ε = 2, δ = 0" in joined.err
    assert json.loads(joined.out)["ledger"] == ledger
    told = json.loads(copriv("ledger", "show", ledger, "--json").out)
    assert (told["epsilon"], told["accounts"]) == (
        3,
        [{"currency": "nano-epsilon", "budget": 3 * 10**9, "spent": 2 * 10**9}],
    )
    assert _dataset(train(**run))["epsilon"] == 3
    assert train("--epsilon", "0.01", **run).code == 2
    assert join("two", data="private.parquet", epsilon="0.01").code == 2


def test_a_version_joins_with_the_ledger_that_it_has(join, copriv, loans, tmp_path):
    assert join("one").code == 0
    ledger = tmp_path / "home-one" / "ledger.sqlite"
    pl.read_parquet(loans).head(700).write_csv(tmp_path / "later.csv")
    refused = join("two", data="later.csv")
    assert refused.code == 2
    assert not (tmp_path / "home-two").exists()
    copriv("ledger", "epoch", ledger, "--epsilon", "2", "--signed-off-by", "an officer")
    second = join("two", "--version-of", ledger, data="later.csv")
    assert json.loads(second.out)["ledger"] == str(ledger)
    assert copriv("ledger", "verify", ledger, "--data", "later.csv").code == 0
    other = join("three", "--unrelated", data="later.csv", epsilon="0.1")
    assert json.loads(other.out)["ledger"] == str(ledger)


def test_a_ledger_that_was_made_and_not_registered_joins(join, tmp_path, monkeypatch):
    def killed(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Registry, "register", killed)
        assert join("one", "--ledger", "a.sqlite").code == 130
    assert (tmp_path / "a.sqlite").exists()
    joined = join("two", "--ledger", "a.sqlite")
    assert joined.code == 0, joined.err
    assert "never registered: it is taken over" in joined.err
    with Registry() as registry:
        assert [dataset.ledger for dataset in registry.datasets()] == [tmp_path / "a.sqlite"]


def test_a_ledger_that_was_moved_is_found_and_one_that_is_gone_is_not_replaced(join, copriv, tmp_path):
    assert join("one", epsilon="0.5").code == 0
    ledger = tmp_path / "home-one" / "ledger.sqlite"
    ledger.rename(tmp_path / "moved.sqlite")
    refused = join("two", epsilon="0.1")
    assert refused.code == 2
    assert "is missing" in refused.err
    assert json.loads(join("two", "--ledger", "moved.sqlite", epsilon="0.1").out)["ledger"] == str(
        tmp_path / "moved.sqlite"
    )
    assert json.loads(join("three", epsilon="0.1").out)["ledger"] == str(tmp_path / "moved.sqlite")
