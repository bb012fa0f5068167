"""An owner's log: every query with its price, which adds up to what the ledger says, and nothing of a record."""

from types import SimpleNamespace

import numpy as np
import pytest

from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Query
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.wire import encode
from copriv.runtime.network_events import Replied
from copriv.runtime.owner_log import OwnerLog

TERMS = plain_terms(horizon=10, answers=4, evaluations=1, evaluation_share=0.25, loss_bound=1.0)
RECORDS = 30


@pytest.fixture(params=[0.0, 1e-6])
def scene(request, tmp_path):
    """An owner with Laplace or Gaussian noise, its log, and what was told."""
    guarantee = Guarantee.of("2", request.param)
    commitment = make_commitment(TERMS, guarantee, records=RECORDS, answers=4)
    rows = np.random.default_rng(1).normal(size=(RECORDS, TERMS.parameters)) / 20
    ledger = SqliteLedger.create(tmp_path / "l.sqlite", begin("east", "records", guarantee))
    responder = PrivateResponder(Sample.of_rows(rows, np.zeros(RECORDS)), commitment)
    told, noted = [], []
    home = SimpleNamespace(
        study=SimpleNamespace(terms=TERMS),
        enrollment=SimpleNamespace(guarantee=guarantee),
        note_contact=noted.append,
        note_vitals=noted.append,
    )
    owner = Owner("east", TERMS, commitment, responder, ledger)
    yield SimpleNamespace(owner=owner, ledger=ledger, log=OwnerLog(home, ledger, told.append), told=told)
    ledger.close()


def _ask(scene, *queries):
    for query, kind in queries:
        theta = (0.0,) * TERMS.parameters
        reply = scene.owner.handle(encode(Query(query, TERMS.digest(), "east", theta, None, kind)))
        scene.log.contact(reply)


def test_prices_add_up_to_what_the_ledger_says(scene):
    _ask(scene, ("a", "gradient"), ("b", "gradient"), ("a", "gradient"), ("c", "loss"), ("d", "moments"))
    replies = [event for event in scene.told if isinstance(event, Replied)]
    assert [reply.query for reply in replies] == [1, 2, 3, 4, 5]
    first, second, again, loss, refused = (reply.price for reply in replies)
    assert first == second > 0
    assert (again, refused) == (0, 0)
    assert [reply.outcome for reply in replies] == ["answer"] * 4 + ["terms"]
    counted = scene.log.vitals()
    assert (counted.answers, counted.refusals) == (4, {"terms": 1})
    assert loss > 0
    [(measure, account)] = scene.ledger.state().accounts.items()
    assert {reply.measure for reply in replies} == {measure}
    assert sum(reply.price for reply in replies) == pytest.approx(account.spent / 1e9)
    assert (replies[-1].spent, replies[-1].left) == (account.spent / 1e9, account.left / 1e9)


def test_what_other_studies_spend_is_no_price_of_this_one(scene):
    _ask(scene, ("a", "gradient"))
    [measure] = scene.ledger.state().accounts
    other = Amount(1000, measure)
    scene.ledger.reserve("q", "?", other, "another study", other)
    before = scene.told[-1]
    _ask(scene, ("a", "gradient"))
    after = scene.told[-1]
    assert (after.price, after.spent) == (0, before.spent)
    assert before.left - after.left == pytest.approx(1e-6)


def test_the_same_words_are_told_once_in_a_row(scene):
    for words in ("connected", "connected", "lost\x1b[2J", "connected"):
        scene.log.tell(words)
    assert [event.words for event in scene.told] == ["connected", "lost\\x1b[2J", "connected"]
