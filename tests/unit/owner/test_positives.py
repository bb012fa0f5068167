"""An owner tells the share of its positive targets once for its price, at no model, and never makes it finer."""

import msgspec
import numpy as np
import pytest
from tests import menu_study as study
from tests.choosing_rule import KINDS, LOOK, REST, SQUARES

from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.messages import Answer, Query
from copriv.protocol.wire import encode

TERMS, SIZE = study.TERMS, study.SIZES[0]
ZERO = (0.0,) * TERMS.parameters


def ask(name="a", share=LOOK, theta=ZERO, before=0, terms=TERMS):
    return Query(name, terms.digest(), "east", theta, None, "positives", share, before)


def owner_of(positives=25, guarantee=study.GUARANTEE, terms=TERMS, responder=PrivateResponder):
    """An owner of so many positive targets, and its ledger."""
    targets = np.where(np.arange(SIZE) < positives, 0.5, -0.5)
    commitment = study.commitment_of(0, terms, guarantee)
    ledger = MemoryLedger(begin("east", "records", guarantee))
    sample = Sample.of_rows(np.full((SIZE, TERMS.parameters), 0.4), targets)
    return Owner("east", terms, commitment, responder(sample, commitment), ledger), ledger


def price(share=LOOK):
    return study.commitment_of(0).part("positives", share).calibration.charge.nano


@pytest.mark.parametrize("theta", [(0.1,) * 4, (0.0, 0.0, 0.0, 5e-324), (-1.0, 0.0, 0.0, 0.0)])
def test_at_a_model_that_is_not_0_it_is_refused_for_free_in_the_same_words_whatever_the_records(theta):
    found = []
    for positives in (0, SIZE):
        owner, ledger = owner_of(positives)
        found.append(owner.handle(encode(ask(theta=theta))))
        refusal = owner.answer(ask(theta=theta))
        assert (refusal.reason, refusal.text) == ("outside", "positives do not depend on a model: ask for them at 0")
        assert (ledger.state().spent, len(ledger.state().queries)) == (0, 0)
        assert isinstance(owner.answer(ask()), Answer)
    assert found[0] == found[1]


def test_the_same_question_gets_the_same_bytes_and_is_paid_for_once():
    """Under an id of its own it is a new question, with noise of its own, and paid for anew."""
    owner, ledger = owner_of()
    told = owner.handle(encode(ask()))
    assert owner.handle(encode(ask())) == told
    assert ledger.state().spent == price()
    again = owner.answer(ask("b"))
    assert isinstance(again, Answer)
    assert again.values != owner.answer(ask()).values
    assert ledger.state().spent == 2 * price()


@pytest.mark.parametrize("guarantee", [Guarantee.of(1), Guarantee.of(1, 1e-6)])
def test_it_is_one_number_around_the_share_with_the_noise_of_its_part(guarantee):
    """Fresh owners. An owner with half of the noise, or that leaves 10 of 40 records out, is seen.

    Unit noise has a kurtosis of at most 6: six deviations are exceeded less than once in a hundred thousand runs.
    """
    part, told = study.commitment_of(0, guarantee=guarantee).part("positives", REST), []
    for _ in range(1000):
        reply = owner_of(25, guarantee)[0].answer(ask(share=REST))
        assert reply.release.scale == part.calibration.mechanism.scale
        told.append(reply.values)

    def holds(told, share=25 / 40, noise_std=part.calibration.mechanism.noise_std):
        noise = (np.array(told) - share) / noise_std
        return abs(noise.mean()) < 6 / 1000**0.5 and abs(np.mean(noise**2) - 1) < 6 * (5 / 1000) ** 0.5

    assert np.array(told).shape == (1000, 1)
    assert holds(told)
    assert not holds(told, noise_std=2 * part.calibration.mechanism.noise_std)
    assert not holds(told, share=25 / 30)


@pytest.mark.parametrize("share", [SQUARES, LOOK])
def test_it_is_not_made_finer(share):
    owner, ledger = owner_of()
    owner.answer(ask(share=share))
    refusal = owner.answer(ask("b", REST - share, before=share))
    assert (refusal.reason, ledger.state().spent) == ("terms", price(share))


def test_terms_without_it_refuse_it_for_free():
    terms = msgspec.structs.replace(TERMS, kinds=KINDS[:2])
    owner, ledger = owner_of(terms=terms)
    refusal = owner.answer(ask(terms=terms))
    assert (refusal.reason, "'positives'" in refusal.text, ledger.state().spent) == ("terms", True, 0)


def test_it_is_paid_for_from_the_same_budget_before_a_record_is_touched():
    seen = []

    class Watched(PrivateResponder):
        def respond(self, theta, kind="gradient", share=0):
            seen.append(ledger.state().spent)
            return super().respond(theta, kind, share)

    owner, ledger = owner_of(responder=Watched)
    assert isinstance(owner.answer(ask("a", REST)), Answer)
    assert isinstance(owner.answer(ask("b", LOOK)), Answer)
    assert owner.answer(ask("c", LOOK)).reason == "exhausted"
    assert isinstance(owner.answer(ask("d", SQUARES)), Answer)
    assert seen == [price(REST), price(REST) + price(LOOK), price(REST) + price(LOOK) + price(SQUARES)]
    assert ledger.state().spent <= study.GUARANTEE.nano_epsilon
