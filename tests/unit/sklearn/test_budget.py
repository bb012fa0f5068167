"""One budget, however many copies of an estimator: clones, pickles, and fits in several processes at once."""

import os
import pickle
from contextlib import closing
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from copriv.errors import LedgerRefusal
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.sklearn import ConsortiumRegressor, Refusal, open_budget

BOUNDS = ((np.array([-4, 10, 0.6]), np.array([4, 90, 1.4])), (-25, 25))
WORKERS = 2
COPIES = 9
ROOM = 3


class InMemory(ConsortiumRegressor):
    """The broken twin: it carries its budget with it, so that every copy has one of its own."""

    def fit(self, X, y, owner=None):
        one = Amount(10**9, "epsilon")
        if not hasattr(self, "held"):
            self.held = MemoryLedger(begin("twin", "none", Guarantee.of(ROOM)))
        try:
            self.held.reserve(f"fit {id(object())}", "question", one, "study", Amount(ROOM * 10**9, "epsilon"))
        except LedgerRefusal as problem:
            raise Refusal(problem.problem, remedy=problem.remedy) from problem
        return self.set_params(simulate=True)


def _fit_a_copy(content, rows, targets, registry):
    """In a worker: a fit of a clone of what was pickled."""
    os.environ["COPRIV_REGISTRY"] = registry
    try:
        clone(pickle.loads(content)).fit(rows, targets)  # noqa: S301 - made here
    except Refusal:
        return False
    return True


def _fit_in_parallel(estimator, rows, targets, registry):
    """How many of many copies were fitted."""
    content = pickle.dumps(estimator)
    work = (joblib.delayed(_fit_a_copy)(content, rows, targets, str(registry)) for _ in range(COPIES))
    return sum(joblib.Parallel(n_jobs=WORKERS)(work))


def _book(ledger):
    with closing(SqliteLedger(Path(ledger))) as opened:
        return opened.state()


@pytest.fixture
def ledger(tmp_path):
    return open_budget(tmp_path / "budget.sqlite", epsilon=ROOM)


def test_parallel_copies_spend_what_the_ledger_holds_and_no_more(banks, ledger, registry_folder):
    estimator = ConsortiumRegressor(bounds=BOUNDS, ledger=ledger)
    assert _fit_in_parallel(estimator, *banks[:2], registry_folder) == ROOM
    book = _book(ledger)
    assert book.spent == book.budget.nano == ROOM * 10**9
    assert len(book.queries) == ROOM
    with pytest.raises(Refusal, match="the budget of these records has 0 epsilon left"):
        estimator.fit(*banks[:2])


def test_a_budget_in_memory_is_caught_by_that_test(banks, registry_folder):
    assert _fit_in_parallel(InMemory(), *banks[:2], registry_folder) > ROOM


def test_parallel_copies_without_a_ledger_share_that_of_their_records(banks, registry_folder):
    estimator = ConsortiumRegressor(epsilon=1, bounds=BOUNDS, settings={"budget": ROOM})
    assert _fit_in_parallel(estimator, *banks[:2], registry_folder) == ROOM
    with Registry() as registry:
        (dataset,) = registry.datasets()
    assert _book(dataset.ledger).spent == ROOM * 10**9


def test_a_parallel_search_is_refused_with_the_remedy_and_nothing_is_spent(banks, ledger):
    search = GridSearchCV(
        ConsortiumRegressor(bounds=BOUNDS, ledger=ledger), {"epsilon": [0.5, 1]}, n_jobs=WORKERS, error_score="raise"
    )
    with pytest.raises(Refusal, match="search with simulate=True"):
        search.fit(*banks[:2])
    assert _book(ledger).spent == 0


def test_a_fit_that_is_refused_leaves_no_trace(banks, ledger):
    before = _book(ledger).sequence
    with pytest.raises(Refusal, match="3 epsilon left, and this may take 5"):
        ConsortiumRegressor(epsilon=5, bounds=BOUNDS, ledger=ledger).fit(*banks[:2])
    with pytest.raises(Refusal, match="lost epsilon = 2 in all"):
        ConsortiumRegressor(epsilon=2, bounds=BOUNDS, settings={"budget": 1}).fit(*banks[:2])
    assert _book(ledger).sequence == before
    with Registry() as registry:
        assert registry.datasets() == []


def test_the_same_records_have_one_ledger(banks, ledger, tmp_path):
    rows, targets = banks[:2]
    ConsortiumRegressor(bounds=BOUNDS, ledger=ledger).fit(rows, targets)
    other = open_budget(tmp_path / "other.sqlite", epsilon=3)
    with pytest.raises(Refusal, match="has a ledger already"):
        ConsortiumRegressor(bounds=BOUNDS, ledger=other).fit(rows, -targets)
    with pytest.raises(Refusal, match="looks like records of another ledger"):
        ConsortiumRegressor(bounds=BOUNDS, ledger=other).fit(rows[:400], targets[:400])
    with pytest.raises(Refusal, match=r"looks like a part of .*ledger=.*settings=.'unrelated': True"):
        ConsortiumRegressor(bounds=BOUNDS).fit(rows[:400], targets[:400])
    assert ConsortiumRegressor(bounds=BOUNDS).fit(rows, targets).spent_.epsilon_in_all == 2
    part = ConsortiumRegressor(bounds=BOUNDS, ledger=ledger).fit(rows[:400], targets[:400])
    assert (part.spent_.ledger, part.spent_.epsilon_in_all) == (ledger, 3)
    assert _book(other).spent == 0
    apart = ConsortiumRegressor(bounds=BOUNDS, ledger=other, settings={"unrelated": True}).fit(
        rows[:300], targets[:300]
    )
    assert apart.spent_.ledger == other


def test_without_a_budget_spending_is_noted_as_in_train(banks):
    model = ConsortiumRegressor(epsilon=4, bounds=BOUNDS)
    assert model.fit(*banks[:2]).spent_.epsilon_in_all == 4
    assert clone(model).fit(*banks[:2], owner=banks[2]).spent_.epsilon_in_all == 8


def test_rows_stay_private_or_public(banks, ledger):
    rows, targets, _, public = banks
    model = ConsortiumRegressor(public=(rows, targets), rule="newton", ledger=ledger)
    with pytest.raises(Refusal, match="the public rows are private records"):
        model.fit(rows, targets)
    with pytest.raises(Refusal, match="private there and would be public here"):
        model.set_params(public=(rows[:100], targets[:100])).fit(rows, targets)
    model.set_params(public=public).fit(rows, targets)
    with pytest.raises(Refusal, match="was declared public before"):
        ConsortiumRegressor(bounds=BOUNDS).fit(*public)
    assert _book(ledger).spent == 10**9


def test_a_budget_is_made_once(ledger):
    with pytest.raises(Refusal, match="there is a ledger"):
        open_budget(ledger, epsilon=10)
    with pytest.raises(Refusal, match="epsilon is 0"):
        open_budget(Path(ledger).with_name("new.sqlite"), epsilon=0)
    with pytest.raises(Refusal, match="a ledger has its own budget"):
        ConsortiumRegressor(bounds=BOUNDS, ledger=ledger, settings={"budget": 3}).fit([[1, 2, 3]], [1])
