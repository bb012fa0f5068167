"""A small study that the fault harness breaks again and again: three owners, four parameters, real noise."""

from functools import lru_cache

import numpy as np

from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin, fingerprint_of_sample
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Query
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.wire import encode
from copriv.rules.paper import PaperRule

NAMES = ("north", "south", "west")
RECORDS = 30
ANSWERS = 24
GUARANTEE = Guarantee.of(1)
TERMS = plain_terms(horizon=36)
RULE = PaperRule(TERMS.parameters, (RECORDS,) * 3, (1 / 3,) * 3, TERMS.step, TERMS.regularization, TERMS.limit)


@lru_cache
def sample_of(name):
    generator = np.random.default_rng(sum(name.encode()))
    rows = generator.normal(size=(RECORDS, TERMS.parameters))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, generator.uniform(-1, 1, size=RECORDS))


@lru_cache
def commitment(answers=ANSWERS):
    return make_commitment(TERMS, GUARANTEE, records=RECORDS, answers=answers)


def genesis_of(name, guarantee=GUARANTEE):
    return begin(name, fingerprint_of_sample(sample_of(name)), guarantee)


def make_ledger(path, name=NAMES[0]):
    """A new ledger on disk, closed again."""
    SqliteLedger.create(path, genesis_of(name)).close()
    return path


def make_owner(ledger, name=NAMES[0], answers=ANSWERS):
    """An owner over real records, real noise and the given ledger."""
    return Owner(name, TERMS, commitment(answers), PrivateResponder(sample_of(name), commitment(answers)), ledger)


def make_query(name, theta=(0.0,) * TERMS.parameters, receipt=None, owner=NAMES[0]):
    return encode(Query(name, TERMS.digest(), owner, tuple(map(float, theta)), receipt))


def warm():
    """Everything a life needs, loaded before the first fork."""
    for name in NAMES:
        PrivateResponder(sample_of(name), commitment()).respond(np.zeros(TERMS.parameters))
