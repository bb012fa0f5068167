"""A small study that the fault harness breaks again and again: three owners, four parameters, real noise.

And the same with a menu: answers of unequal price and kind, which the learner chooses and makes finer later. Gradients
are filled with second moments there.
"""

import sys
from functools import lru_cache
from pathlib import Path

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
from copriv.vectors import Norm

sys.path.append(str(Path(__file__).resolve().parents[2]))
from tests.choosing_rule import KINDS, LOOK, REST, SQUARES, RefiningRule

NAMES = ("north", "south", "west")
RECORDS = 30
ANSWERS = 24
GUARANTEE = Guarantee.of(1)
TERMS = plain_terms(horizon=36)
RULE = PaperRule(TERMS.parameters, (RECORDS,) * 3, (1 / 3,) * 3, TERMS.step, TERMS.regularization, TERMS.limit)
SHARES = (3, 5, SQUARES, LOOK, REST)
MENU = plain_terms(rule="refining", answers=4, shares=SHARES, kinds=KINDS, fill=0.05)


class FilledRule(RefiningRule):
    """Reads the gradient of a filled one, and leaves the second moments behind it."""

    def learn(self, state, owner, answer, ask):
        return super().learn(state, owner, answer[: self.parameters] if ask.kind == "gradient" else answer, ask)


REFINING = FilledRule(MENU.parameters, (RECORDS,) * 3, Norm.L1, MENU.regularization, MENU.limit)
NO_CHOICE = ("gradient", 0, 0)
OF_NO_MODEL = ("second_moments", "positives")


@lru_cache
def sample_of(name):
    generator = np.random.default_rng(sum(name.encode()))
    rows = generator.normal(size=(RECORDS, TERMS.parameters))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, generator.uniform(-1, 1, size=RECORDS))


@lru_cache
def commitment(answers=ANSWERS, menu=False):
    return make_commitment(MENU if menu else TERMS, GUARANTEE, records=RECORDS, answers=answers)


def price(choice):
    """What an answer costs: by its kind, share and level before, or without a menu always the same."""
    return commitment(menu=choice != NO_CHOICE).part(*choice).calibration.charge.nano


def any_choice(generator, menu):
    """What a learner may ask for; with a menu rather little than much, so that something is left for the next."""
    if not menu:
        return NO_CHOICE
    return KINDS[generator.integers(len(KINDS))], SHARES[generator.integers(len(SHARES), size=3).min()], 0


def finer_choice(generator, choice):
    """What makes an answer finer, by a level or two; None if nothing does."""
    kind, share, before = choice
    finer = [level for level in SHARES if level > before + share][:2]
    return (kind, int(generator.choice(finer)) - before - share, before + share) if finer else None


def genesis_of(name, guarantee=GUARANTEE):
    return begin(name, fingerprint_of_sample(sample_of(name)), guarantee)


def make_ledger(path, name=NAMES[0]):
    """A new ledger on disk, closed again."""
    SqliteLedger.create(path, genesis_of(name)).close()
    return path


def make_owner(ledger, name=NAMES[0], answers=ANSWERS, menu=False):
    """An owner over real records, real noise and the given ledger."""
    terms, promised = MENU if menu else TERMS, commitment(answers, menu)
    return Owner(name, terms, promised, PrivateResponder(sample_of(name), promised), ledger)


def make_query(name, theta=(0.0,) * TERMS.parameters, receipt=None, owner=NAMES[0], choice=NO_CHOICE):
    kind, share, before = choice
    terms, asked = MENU if share else TERMS, (0.0,) * len(theta) if kind in OF_NO_MODEL else theta
    return encode(Query(name, terms.digest(), owner, tuple(map(float, asked)), receipt, kind, share, before))


def warm():
    """Everything a life needs, loaded before the first fork."""
    for name in NAMES:
        PrivateResponder(sample_of(name), commitment()).respond(np.zeros(TERMS.parameters))
        with_menu = PrivateResponder(sample_of(name), commitment(menu=True))
        for kind in OF_NO_MODEL:
            with_menu.respond(np.zeros(4), kind, SQUARES)
        with_menu.respond_levels(np.zeros(4), commitment(menu=True).levels("gradient", SHARES[0]))
