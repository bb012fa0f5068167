"""One suite for every transport: owners in this process, and owners behind a real broker with mutual TLS."""

from contextlib import contextmanager

import msgspec
import numpy as np
import pytest
from tests.choosing_rule import KINDS, REFINING, SHARES

from copriv.learner.checkpoint import Checkpoint
from copriv.learner.learner import Session, train, train_live
from copriv.learner.roster import Roster, rule_of
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Answer, Query, Refusal
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, write_study
from copriv.rules.registry import resolve
from copriv.rules.setting import NoiseModel
from copriv.runtime import rehearsal
from copriv.runtime.simulated_responder import SilentResponder
from copriv.schedule.poisson import draw, in_rounds
from copriv.schedule.trace import Trace
from copriv.transport.in_process import InProcessTransport

NAMES = ("east", "north", "west")
SIZES = (40, 70, 55)
DICTIONARY = {"columns": []}
TERMS = plain_terms(
    parameters=5,
    horizon=60,
    dictionary=dictionary_digest(DICTIONARY),
    answers=200,
    evaluations=1,
    evaluation_share=0.25,
    loss_bound=1.0,
)


def sample_of(place):
    generator = np.random.default_rng(place)
    rows = generator.normal(size=(SIZES[place], TERMS.parameters))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, generator.uniform(-1, 1, size=SIZES[place]))


def make_owner(place, terms, answers=200):
    """An owner without noise, so that two runs can be compared number by number."""
    commitment = make_commitment(terms, Guarantee.of(1), records=SIZES[place], answers=answers)
    ledger = MemoryLedger(begin(NAMES[place], "simulated", Guarantee.of(1)))
    return Owner(NAMES[place], terms, commitment, SilentResponder(sample_of(place), commitment), ledger)


def roster_of(terms):
    hellos = (
        Hello(terms.digest(), name, "x", size, 10**9, 0.0, "pure", 200, 200.0)
        for name, size in zip(NAMES, SIZES, strict=True)
    )
    return Roster(tuple(hellos))


@contextmanager
def in_process(_folder, terms, answers):
    yield InProcessTransport([make_owner(place, terms, answers) for place in range(3)])


@contextmanager
def over_nats(folder, terms, answers):
    guests = [rehearsal.Guest(make_owner(place, terms, answers), SIZES[place], rate=200.0) for place in range(3)]
    quarters = rehearsal.make_quarters(folder / "hq", write_study(StudyFile(terms, DICTIONARY)), NAMES)
    with (
        quarters.start_broker(),
        rehearsal.attended(quarters, guests, terms),
        rehearsal.learner_of(quarters, terms) as learner,
    ):
        present = learner.gather(lambda present: len(present) == 3)
        learner.begin({name: present[name] for name in NAMES})
        yield learner
        learner.end((0.0,) * terms.parameters)


@pytest.fixture(params=[in_process, over_nats], ids=["in-process", "nats"])
def carry(request, tmp_path):
    """Opens a transport to three owners."""
    return lambda answers=200: request.param(tmp_path, TERMS, answers)


def learning_of(terms, run="run"):
    return Session(rule_of(terms, roster_of(terms)), NAMES, terms.digest(), run)


def replay(trace, terms):
    """The model of a schedule, in this process."""
    with in_process(None, terms, 200) as transport:
        return [iteration.state for iteration in train(learning_of(terms), trace.meetings, transport)][-1]


def ask(kind="gradient", owner="north", theta=(0.1,) * 5, terms=None, number=1):
    return Query(f"q:{number}", terms or TERMS.digest(), owner, theta, None, kind)


def test_the_same_schedule_gives_the_same_model_bit_for_bit(carry):
    trace = draw([1.0, 2.0, 1.0], 60, np.random.default_rng(7))
    expected = replay(trace, TERMS)
    with carry() as transport:
        *_, last = train(learning_of(TERMS), trace.meetings, transport)
    assert np.array_equal(last.state.central, expected.central)
    assert np.array_equal(last.state.copies, expected.copies)


def test_a_query_reaches_its_owner_and_no_other(carry):
    with carry() as transport:
        for place, name in enumerate(NAMES):
            reply = transport.ask(ask(owner=name))
            exact = make_owner(place, TERMS).commitment.exact_answer(sample_of(place), np.full(5, 0.1))
            assert reply.owner == name
            assert reply.values == tuple(exact.tolist())


def test_the_same_query_has_the_same_answer(carry):
    with carry() as transport:
        first, second = transport.ask(ask()), transport.ask(ask())
    assert isinstance(first, Answer)
    assert first == second


def test_refusals_travel(carry):
    with carry(answers=1) as transport:
        assert transport.ask(ask(terms="other")).reason == "terms"
        assert transport.ask(ask(theta=(5.0,) * 5)).reason == "outside"
        assert isinstance(transport.ask(ask()), Answer)
        assert transport.ask(ask(theta=(0.2,) * 5)).reason == "conflict"
        spent = transport.ask(ask(number=2))
        assert isinstance(spent, Refusal)
        assert spent.reason == "exhausted"


def test_a_loss_is_a_paid_query_of_its_own(carry):
    with carry(answers=1) as transport:
        assert len(transport.ask(ask("loss")).values) == 1
        assert transport.ask(ask("loss", number=2)).reason == "exhausted"
        assert len(transport.ask(ask(number=3)).values) == 5


@pytest.fixture(params=[in_process, over_nats], ids=["in-process", "nats"])
def carry_menu(request, tmp_path):
    """Opens a transport to three owners whose terms have a menu."""
    terms = msgspec.structs.replace(TERMS, rule="refining", answers=4, shares=SHARES, kinds=KINDS, clip=10.0)
    return terms, lambda: request.param(tmp_path, terms, 4)


def test_a_menu_travels(carry_menu):
    resolve(REFINING)
    terms, carry = carry_menu
    commitments = [make_owner(place, terms, 4).commitment for place in range(3)]
    rule = rule_of(terms, roster_of(terms), NoiseModel.of(commitments, None))
    with carry() as transport:
        meetings = in_rounds((5, 5, 5), np.random.default_rng(2)).meetings
        *_, last = train(Session(rule, NAMES, terms.digest(), "run"), meetings, transport)
        wrong = Query("other", terms.digest(), "north", (0.0,) * 5, None, "gradient", 16)
        assert transport.ask(wrong).reason == "terms"
        assert transport.ask(msgspec.structs.replace(wrong, share=15)).reason == "exhausted"
    best = minimise(terms.objective(), Sample.join([sample_of(place) for place in range(3)]))
    assert np.allclose(rule.model(last.state), best, atol=1e-6)


@pytest.mark.parametrize("meeting", ["request", "broadcast"])
@pytest.mark.parametrize("clock", ["always", "poisson"])
def test_whoever_comes_the_run_can_be_replayed_in_one_process(tmp_path, meeting, clock):
    """Both ways of meeting, both kinds of clocks: the recorded schedule gives the same model, bit for bit."""
    terms = msgspec.structs.replace(TERMS, meeting=meeting, clock=clock)
    learning = learning_of(terms)
    checkpoint = Checkpoint.create(tmp_path / "c.sqlite", run="run", terms="t", schedule="s")
    with over_nats(tmp_path, terms, 200) as company:
        for iteration in train_live(learning, company, company, checkpoint, horizon=40):
            checkpoint.hold(learning.rule, iteration)
        checkpoint.flush()
    log, position = checkpoint.log(), checkpoint.position(learning.rule)
    checkpoint.close()
    assert {entry.outcome for entry in log} == {"answer"}
    trace = Trace.of([entry.time for entry in log], [NAMES.index(entry.owner) for entry in log], owners=3)
    with in_process(None, terms, 200) as transport:
        *_, last = train(learning, trace.meetings, transport)
    assert np.array_equal(position.state.central, last.state.central)
    assert np.array_equal(position.state.copies, last.state.copies)
