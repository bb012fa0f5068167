"""Unsafe twins: each breaks one rule of the house, and the harness has to notice.

Owners: `late` sends first and charges afterwards; `forgetful` charges but keeps no answer; `tardy` charges, sends, and
only then keeps the answer; `adrift` leaves in the log what belongs into the main file; `cheap` charges the smallest
share of the menu, whatever is asked; `redrawing` makes answers finer with fresh noise, for the difference. Learners:
`hasty` saves its checkpoint before it applies an answer; `double` saves state and position in two steps; `fresh` asks
under a new id after every restart. Disks: `off` does not wait for them.
"""

from dataclasses import replace

import msgspec
import numpy as np
import world

from copriv.entropy import token
from copriv.owner.payload import pack, unpack
from copriv.privacy.exact import PrivateVector
from copriv.privacy.guarantee import Amount
from copriv.privacy.laplace import Laplace


class Twin:
    """A ledger that does as it is told, until a subclass puts things off until after the answer was sent."""

    def __init__(self, ledger):
        self.ledger, self.charge, self.put_off = ledger, None, []

    def reserve(self, *arguments):
        return self.ledger.reserve(*arguments)

    def settle(self):
        self.ledger.settle()

    def state(self):
        return self.ledger.state()

    def stored_answer(self, question):
        return self.ledger.stored_answer(question)

    def witnesses(self, receipt):
        return self.ledger.witnesses(receipt)

    def after_send(self):
        for call, *arguments in self.put_off:
            call(*arguments)
        self.charge, self.put_off = None, []

    def foresee(self):
        """The receipt that the ledger will give, before it is given."""
        receipt = token()
        self.ledger._draw = lambda: receipt
        return receipt


class Tardy(Twin):
    def store(self, query, payload):
        self.put_off.append((self.ledger.store, query, payload))
        return self.foresee()


class Late(Tardy):
    def reserve(self, query, *price):
        book = self.ledger.state()
        if query in book.queries:
            return self.ledger.reserve(query, *price)
        self.charge = book.charge(query, *price)
        self.put_off.append((self.ledger.reserve, query, *price))
        return None


class Forgetful(Twin):
    def store(self, _query, _payload):
        return token()


class Adrift(Twin):
    def __init__(self, ledger):
        super().__init__(ledger)
        ledger._settle_in_main_file = lambda: None

    def store(self, query, payload):
        return self.ledger.store(query, payload)


class Cheap(Twin):
    def reserve(self, query, question, amount, *account):
        cheapest = min(world.price(("gradient", share, 0)) for share in world.SHARES)
        return self.ledger.reserve(query, question, Amount(min(amount.nano, cheapest), amount.measure), *account)

    def store(self, query, payload):
        return self.ledger.store(query, payload)


class Redrawing(Twin):
    def store(self, query, payload):
        return self.ledger.store(query, payload)

    def stored_answer(self, question):
        stored = self.ledger.stored_answer(question)
        return stored and pack(msgspec.structs.replace(found := unpack(stored), finer=tuple(map(_drawn, found.finer))))


def _drawn(sealed):
    values = Laplace(sealed.scale).release(PrivateVector(np.frombuffer(sealed.numbers)))
    return msgspec.structs.replace(sealed, numbers=values.tobytes())


OWNERS = {
    "adrift": Adrift,
    "cheap": Cheap,
    "late": Late,
    "forgetful": Forgetful,
    "redrawing": Redrawing,
    "tardy": Tardy,
}
LEARNERS = ("hasty", "double", "fresh")
DISKS = ("off",)


def disguise(ledger, twin):
    """The ledger as the twin uses it, and what the twin does after it has sent an answer."""
    if twin is None:
        return ledger, lambda: None
    disguised = OWNERS[twin](ledger)
    return disguised, disguised.after_send


def save(checkpoint, rule, iteration, previous, twin):
    """How an honest learner saves, and how a hasty or a double one does."""
    if twin == "double":
        checkpoint._connection.execute("UPDATE position SET state = ?", (rule.pack(iteration.state),))
    checkpoint.save(rule, replace(iteration, state=previous) if twin == "hasty" else iteration)


def name_run(run, life, twin):
    """The name under which a life asks: the run's own, unless it is fresh after every restart."""
    return f"{run}/{life}" if twin == "fresh" else run
