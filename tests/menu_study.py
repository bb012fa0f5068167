"""A small study with a menu: three owners, in this process."""

import msgspec
import numpy as np
from tests.choosing_rule import ENTRY, KINDS, REFINING, SHARES

from copriv.learner.roster import Roster, rule_of
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.meeting import Hello
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import dictionary_digest
from copriv.rules.registry import resolve
from copriv.rules.setting import NoiseModel

NAMES = ("east", "north", "west")
SIZES = (40, 70, 55)
DICTIONARY = {"columns": []}
TERMS = plain_terms(
    rule="choosing", answers=3, shares=SHARES, kinds=KINDS, horizon=9, dictionary=dictionary_digest(DICTIONARY)
)
REFINED = msgspec.structs.replace(TERMS, rule="refining", answers=4, horizon=12)
GUARANTEE = Guarantee.of(1)


def sample_of(place, parameters=TERMS.parameters):
    generator = np.random.default_rng(place)
    rows = generator.normal(size=(SIZES[place], parameters))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, generator.uniform(-1, 1, size=SIZES[place]))


def commitment_of(place, terms=TERMS, guarantee=GUARANTEE):
    return make_commitment(terms, guarantee, records=SIZES[place], answers=3)


def make_owner(place, terms=TERMS, guarantee=GUARANTEE, responder=PrivateResponder):
    """An owner and its ledger."""
    commitment = commitment_of(place, terms, guarantee)
    ledger = MemoryLedger(begin(NAMES[place], "simulated", guarantee))
    return Owner(NAMES[place], terms, commitment, responder(sample_of(place), commitment), ledger), ledger


def rule(terms=TERMS, guarantee=GUARANTEE):
    """The choosing rule of these owners, as a learner sets it up; or the one that makes its first answer finer."""
    for entry in (ENTRY, REFINING):
        resolve(entry)
    hellos = (
        Hello(terms.digest(), name, "x", size, guarantee.nano_epsilon, guarantee.delta, "pure", 3)
        for name, size in zip(NAMES, SIZES, strict=True)
    )
    noise = NoiseModel.of([commitment_of(place, terms, guarantee) for place in range(3)], None)
    return rule_of(terms, Roster(tuple(hellos)), noise)
