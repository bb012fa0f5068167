"""Kill an owner, start it again on the same ledger, and compare what the world outside heard with what the ledger says.

The outside repeats whatever was not answered under its id, and now and then something that was. Every other owner has a
menu: it is asked for unequal shares of its budget, for every kind of answer, and to make answers finer that it gave in
an earlier life. Whatever the moment of death: no answer without a charge, none at another price than its own, no two
answers to one id, no more spending than budget, no damage; and a finer answer is the one sealed with the first.
"""

import shutil
import time
from collections import defaultdict
from contextlib import closing
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import world
from fork_server import KILLED
from owner_life import PLACES
from toll import Toll

from copriv.errors import CoprivError, LedgerFailure
from copriv.owner.entries import Charge
from copriv.owner.payload import unpack
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.protocol.messages import Answer
from copriv.protocol.wire import decode_reply

ANY_MOMENT = "any moment"
LIVES_AFTER_THE_END = 4
MOST_QUERIES_A_LIFE = 6
# Twins that only a menu brings out.
WITH_MENU = ("cheap", "redrawing")


class Outside:
    """The world outside one owner: everything it asked, and every answer it ever heard, byte for byte."""

    def __init__(self, generator, menu=False):
        self.generator, self.menu, self.choices = generator, menu, {}
        self.models, self.open, self.heard = {}, [], defaultdict(set)
        self.receipt, self.exhausted, self.odd, self.messages, self.repeats = None, False, [], 0, 0
        self.pace = 0.004
        self.shown_alone = self.refused_alone = 0

    def query(self):
        """What is still unanswered; else something old, for free; else something new."""
        chance = self.generator.random()
        if self.open and chance < 0.7:
            name = self.open[0]
        elif self.heard and chance > 0.75:
            name = sorted(self.heard)[self.generator.integers(len(self.heard))]
            self.repeats += 1
        else:
            name = f"q{len(self.models)}"
            self.models[name], self.choices[name] = self._finer() or self._new()
            self.open.append(name)
        self.messages += 1
        return world.make_query(name, self.models[name], self.receipt, choice=self.choices[name])

    def _new(self):
        model = self.generator.uniform(-1, 1, size=world.TERMS.parameters).tolist()
        return model, world.any_choice(self.generator, self.menu)

    def _finer(self):
        """Half of the time, a question that was answered before, at a finer level; not all have one."""
        told = [name for name in sorted(self.heard) if self.menu and self.choices[name][0] == "gradient"]
        if not told or self.generator.random() < 0.5:
            return None
        name = told[self.generator.integers(len(told))]
        choice = world.finer_choice(self.generator, self.choices[name])
        return choice and (self.models[name], choice)

    def hear(self, data):
        reply = decode_reply(data)
        if reply.id in self.open:
            self.open.remove(reply.id)
        if isinstance(reply, Answer):
            self.heard[reply.id].add(data)
            self.receipt = reply.receipt
        elif reply.reason == "exhausted":
            self.exhausted = True
        else:
            self.odd.append(f"{reply.id} was refused: {reply.reason}")


def torment(fork_server, folder, generator, kills, *, twin=None, tell=lambda: None):
    """Kill owners that many times, ledger after ledger; stop at the first broken promise."""
    toll, places = Toll(), cycle((*PLACES, *(ANY_MOMENT,) * len(PLACES)))
    for number in range(kills):
        ledger = folder / f"owner-{number}.sqlite"
        world.make_ledger(ledger)
        menu = number % 2 == 1 or twin in WITH_MENU
        _torment_one(fork_server, ledger, Outside(generator, menu), places, kills, twin, toll, tell)
        if toll.faults >= kills or toll.violations:
            return toll
    return toll


def _torment_one(fork_server, ledger, outside, places, kills, twin, toll, tell):
    """One ledger, from its first answer until a few lives after its last.

    It has at most half of the kills: where most come before an answer, as on a slow machine, the next still has a turn.
    """
    lives_left, most = LIVES_AFTER_THE_END, min(kills, toll.faults + (kills + 1) // 2)
    while lives_left and toll.faults < most and not toll.violations:
        toll.violations += _live_and_die(fork_server, ledger, outside, next(places), twin)
        toll.violations += outside.odd + inspect(ledger, outside)
        toll.faults += 1
        lives_left -= outside.exhausted
        tell()
    toll.counts.update(
        ledgers=1,
        menus=int(outside.menu),
        messages=outside.messages,
        repeats=outside.repeats,
        answers=sum(map(len, outside.heard.values())),
        finer=sum(outside.choices[name][2] > 0 for name in outside.heard),
        shown_alone=outside.shown_alone,
        refused_alone=outside.refused_alone,
    )


def _live_and_die(fork_server, ledger, outside, place, twin):
    countdown = int(outside.generator.integers(1, 4))
    options = {"place": place, "countdown": countdown, "twin": twin, "menu": outside.menu}
    life = fork_server.start("owner_life:serve", ledger=str(ledger), **options)
    if place == ANY_MOMENT:
        _kill_at_any_moment(life, outside)
    else:
        _ask_until_dead(life, outside)
    words, code = life.end()
    for data in words:
        if data != b"ready":
            outside.hear(data)
    return [] if code == KILLED else [f"the owner ended by itself with code {code}"]


def _kill_at_any_moment(life, outside):
    """Within the time that two answers take after sending, or while it is still starting."""
    if outside.generator.random() < 0.8:
        life.receive()
    for _ in range(outside.generator.integers(1, 4)):
        life.send(outside.query())
    time.sleep(outside.generator.uniform(0, 2 * outside.pace))
    life.kill()


def _ask_until_dead(life, outside):
    """The fuse burns in the end; if not at this place, the outside kills."""
    life.receive()
    for _ in range(MOST_QUERIES_A_LIFE):
        started = time.perf_counter()
        life.send(outside.query())
        data = life.receive()
        if data is None:
            break
        outside.pace = time.perf_counter() - started
        outside.hear(data)
    life.kill()


def inspect(path, outside):
    """Every promise that is broken; looks at a copy, so that the next life finds the files as the kill left them."""
    with TemporaryDirectory() as folder:
        try:
            with closing(SqliteLedger(copy_as_it_lies(path, Path(folder)))) as ledger:
                ledger.verify()
                return [*_compare(ledger, outside), *inspect_main_file(path, outside)]
        except CoprivError as problem:
            return [f"the ledger cannot be read: {problem}"]


def inspect_main_file(path, outside):
    """Copied alone, the main file shows all that was answered, or it refuses as damaged."""
    with TemporaryDirectory() as folder:
        alone = Path(shutil.copy(path, folder))
        try:
            with closing(SqliteLedger(alone)) as ledger:
                ledger.verify()
                answered = {name for name, asked in ledger.state().queries.items() if asked.answer is not None}
        except LedgerFailure:
            outside.refused_alone += 1
            return []
        outside.shown_alone += 1
        missing = sorted(set(outside.heard) - answered)
        return [f"the main file alone has forgotten {missing[0]}"] if missing else []


def copy_as_it_lies(path, folder):
    """The database and its log as a dead process left them, without the shared memory."""
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copy(source, folder / source.name)
    return folder / path.name


def _compare(ledger, outside):
    book = ledger.state()
    charges = {entry.body.query: entry.body.nano for entry in ledger.entries() if isinstance(entry.body, Charge)}
    for name, replies in outside.heard.items():
        if name not in charges:
            yield f"{name} was answered without a charge"
        if len(replies) > 1:
            yield f"{name} has {len(replies)} different answers"
        if name in charges and {decode_reply(data).receipt for data in replies} != {book.queries[name].answer}:
            yield f"{name} was answered, and the ledger does not have that answer"
    if book.spent != sum(charges.values()) or book.spent > book.budget.nano:
        yield f"{book.spent} spent, {sum(charges.values())} charged, {book.budget.nano} budgeted"
    if not set(outside.heard) <= set(charges) <= set(outside.models):
        yield "charges for what was never asked, or none for what was answered"
    yield from _compare_prices(charges, outside)
    if set(charges) - set(outside.heard) - set(outside.open):
        yield "a charge for what was refused"
    yield from _compare_levels(ledger, outside)
    if not outside.menu and len(outside.heard) > world.ANSWERS:
        yield f"{len(outside.heard)} answers from a budget of {world.ANSWERS}"


def _compare_levels(ledger, outside):
    """Every finer answer was sealed with a coarser one to the same question."""
    for name, replies in outside.heard.items():
        _, share, before = outside.choices[name]
        if before == 0:
            continue
        formers = [other for other in outside.heard if outside.models[other] == outside.models[name]]
        sealed = [each for former in formers for each in unpack(ledger.answer_to(former)).finer]
        values = [each.numbers for each in sealed if each.share == before + share]
        if any(np.array(decode_reply(data).values).tobytes() not in values for data in replies):
            yield f"{name} is finer than what was answered before, and was not sealed with it"


def _compare_prices(charges, outside):
    """Every charge is the price of what was asked."""
    for name, nano in charges.items():
        if nano != world.price(outside.choices[name]):
            yield f"{name} was charged {nano}, and its price is {world.price(outside.choices[name])}"
    if sum(outside.choices[name][1] for name in outside.heard) > 100:
        yield "the shares that were answered add up to more than the whole"
