"""Many askers, one ledger: exactly the budgeted number of answers, and one answer to one id."""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import numpy as np
import pytest
import world

from copriv.losses.filled import filled_count
from copriv.owner.payload import unpack
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.protocol.messages import Answer
from copriv.protocol.wire import decode_reply

RACERS = 4
QUERIES = 12


@pytest.fixture
def path(tmp_path):
    return world.make_ledger(tmp_path / "ledger.sqlite")


@contextmanager
def _serving(fork_server, path, *, menu):
    lives = [fork_server.start("owner_life:serve", ledger=str(path), menu=menu) for _ in range(RACERS)]
    for life in lives:
        assert life.receive() == b"ready"
    yield lives
    for life in lives:
        life.kill()
        life.end()


@pytest.fixture
def processes(fork_server, path):
    """Owner processes over one ledger, ready to answer."""
    with _serving(fork_server, path, menu=False) as lives:
        yield lives


def _race(lives, queries):
    """All queries of each life at once, then all replies: by query, the set of what was said."""
    for life, asked in zip(lives, queries, strict=True):
        for query in asked:
            life.send(query)
    heard = defaultdict(set)
    for life, asked in zip(lives, queries, strict=True):
        for _ in asked:
            data = life.receive()
            heard[decode_reply(data).id].add(data)
    return heard


def _answered(heard):
    return {name for name, replies in heard.items() for data in replies if isinstance(decode_reply(data), Answer)}


def _require_spent(path, answers):
    with closing(SqliteLedger(path)) as ledger:
        ledger.verify()
        book = ledger.state()
    assert set(book.queries) == answers
    assert book.spent == len(answers) * world.commitment().calibration.charge.nano <= book.budget.nano


def test_four_processes_over_one_ledger_give_exactly_the_budgeted_answers(processes, path):
    heard = _race(processes, [[world.make_query(f"{r}:{n}") for n in range(QUERIES)] for r in range(RACERS)])
    assert len(heard) == RACERS * QUERIES
    assert len(_answered(heard)) == world.ANSWERS
    _require_spent(path, _answered(heard))


def test_four_processes_asked_the_same_say_the_same(processes, path):
    heard = _race(processes, [[world.make_query(f"q{n}") for n in range(QUERIES)]] * RACERS)
    assert {len(replies) for replies in heard.values()} == {1}
    assert len(_answered(heard)) == QUERIES
    _require_spent(path, _answered(heard))


def test_four_processes_that_make_one_answer_finer_never_tell_more_than_was_paid(fork_server, path):
    """One stack: whoever is first, and whatever is asked at once, each answer is a level of it at its own price."""
    first = world.make_query("first", choice=("gradient", 3, 0))
    steps = [(5, 3), (15, 3), (20, 3), (15, 5), (20, 5), (20, 15)]
    with _serving(fork_server, path, menu=True) as lives:
        assert len(_race(lives, [[first]] * RACERS)["first"]) == 1
        for round_ in range(2):
            asked = [
                [
                    world.make_query(f"{racer}:{round_}:{level}:{before}", choice=("gradient", level - before, before))
                    for level, before in steps[racer % 2 :: 2]
                ]
                for racer in range(RACERS)
            ]
            heard = _race(lives, asked)
    with closing(SqliteLedger(path)) as ledger:
        ledger.verify()
        sealed = {each.share: np.frombuffer(each.numbers).tolist() for each in unpack(ledger.answer_to("first")).finer}
        book, answered = ledger.state(), [name for name, asked in ledger.state().queries.items() if asked.answer]
        told = {name: unpack(ledger.answer_to(name)) for name in answered}
    assert _answered(heard) <= set(answered)
    assert {len(payload.values) for payload in told.values()} == {filled_count(world.MENU.parameters)}
    levels = {payload.share + payload.before for payload in told.values()}
    for name, payload in told.items():
        if name != "first":
            assert list(payload.values) == sealed[payload.share + payload.before]
            assert book.queries[name].price.nano == world.price(("gradient", payload.share, payload.before))
    assert world.price(("gradient", max(levels), 0)) <= book.spent <= book.budget.nano
    assert len(levels) > 1


def test_four_learners_of_one_owner_process_get_exactly_the_budgeted_answers(path):
    def learn(owner, learner):
        return [owner.handle(world.make_query(f"{learner}:{number}")) for number in range(QUERIES)]

    with closing(SqliteLedger(path)) as ledger, ThreadPoolExecutor(RACERS) as pool:
        owner = world.make_owner(ledger)
        replies = [decode_reply(data) for said in pool.map(lambda r: learn(owner, r), range(RACERS)) for data in said]
    answered = {reply.id for reply in replies if isinstance(reply, Answer)}
    assert len(answered) == world.ANSWERS
    assert {reply.reason for reply in replies if reply.id not in answered} == {"exhausted"}
    _require_spent(path, answered)
