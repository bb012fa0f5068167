"""One file of records through anything that may happen to it on one machine, and what its records have lost by then.

Folders, studies, partitions, formats, confirmed versions, copies of the ledger, old backups put back: the records lose
what was answered, whatever a ledger remembers. Twins leave out one of the things that hold this together.
"""

import shutil
from contextlib import closing, suppress
from types import SimpleNamespace

import numpy as np
import polars as pl

from copriv.errors import CoprivError
from copriv.owner.dataset_ledger import Word, open_settled, require_unknown, settle, take_version
from copriv.owner.joining import require_registered, settle_joining
from copriv.owner.ledger_opening import begin, fingerprint_of_file
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.public_rows import PublicRows
from copriv.runtime.events import silent
from copriv.runtime.local_dataset import charge, check_payment
from copriv.runtime.local_load import Sources
from copriv.runtime.local_origin import Origin
from copriv.runtime.local_request import Person, TrainRequest

TWINS = ("no registry", "no watermark", "a ledger for each partition")
_SUFFIXES = ("", "-wal", "-shm")


class OneFile:
    """A machine with one set of records, in several files.

    Args:
        folder: an empty place.
        seed: decides everything.
        twin: what is left out; None for the real thing.
    """

    def __init__(self, folder, seed, twin=None):
        self.folder, self.twin = folder, twin
        self.chance = np.random.default_rng(seed)
        self.lost, self.budget, self.number, self.denied = 0, None, 0, 0
        self.homes, self.ledgers, self.backups, self.displaced = [], [], [], []
        self.files = self._write_files()

    def step(self):
        """One thing that happens; what is refused changes nothing."""
        what = self.chance.choice(
            ["join", "init", "train", "answer", "backup", "restore", "put back", "fork", "epoch", "version"],
            p=[0.15, 0.05, 0.12, 0.27, 0.1, 0.08, 0.07, 0.05, 0.08, 0.03],
        )
        self.number += 1
        try:
            getattr(self, what.replace(" ", "_"))()
        except CoprivError:
            self.denied += 1

    @property
    def overspent(self):
        """Whether the records have lost more than was ever promised."""
        return self.budget is not None and self.lost > self.budget

    def join(self):
        data, epsilon, place = self._any(self.files), self._epsilon(), self.folder / f"{self.number}.sqlite"
        if self.twin == "no registry":
            opening = begin("bank", fingerprint_of_file(data), Guarantee(epsilon))
            SqliteLedger.create(place, opening).close()
        else:
            with Registry() as registry:
                joining = settle_joining(registry, registry.lookup(data), self._word(registry), None, place)
            joining.choose_reading(Guarantee(epsilon), "pld", plain_terms())
            joining.take("bank", Guarantee(epsilon), "pld")
            place = joining.ledger
        self.homes.append((data, place))
        self._promised(place, epsilon)

    def init(self):
        data, epsilon, place = self._any(self.files), self._epsilon(), self.folder / f"{self.number}.sqlite"
        with Registry() as registry:
            found = registry.lookup(data)
            require_unknown(found)
            settled = settle(registry, found, Word("an officer"))
            open_settled(
                registry, settled, place, lambda: begin("bank", fingerprint_of_file(data), Guarantee(epsilon))
            ).close()
        self._promised(place, epsilon)

    def train(self):
        """A run with as many owners as it happens; with `--ledgers` it declares a budget if there is none."""
        shared = bool(self.chance.random() < 0.5) or self.twin is not None
        owners, price = int(self.chance.integers(1, 9)), Amount(self._epsilon(), "epsilon")
        if self.twin == "a ledger for each partition":
            self._train_as_before(owners, price)
        else:
            self._train(price, shared=shared)
        self.lost += price.nano
        if shared and self.budget is None:
            self.budget = self.lost

    def answer(self):
        if not self.homes:
            return
        data, place = self._any(self.homes)
        amount = Amount(int(self.chance.integers(10**8, 4 * 10**8)), "epsilon")
        with closing(SqliteLedger(place)) as ledger:
            if self.twin != "no registry":
                ledger.state().require_dataset(fingerprint_of_file(data))
                with Registry() as registry:
                    require_registered(registry, data, ledger, place)
            ledger.reserve(f"q{self.number}", "?", amount, f"s{self.number}", amount)
            self.lost += amount.nano

    def backup(self):
        """The main file alone, or with what lies beside it, while the ledger is open."""
        if not self.ledgers:
            return
        place, copy = self._any(self.ledgers), self.folder / f"backup-{self.number}"
        with closing(SqliteLedger(place)):
            _copy(place, copy, _SUFFIXES if self.chance.random() < 0.5 else ("",))
        self.backups.append((place, copy))

    def restore(self):
        if not self.backups:
            return
        place, copy = self._any(self.backups)
        newest = self.folder / f"newest-{self.number}"
        _copy(place, newest, _SUFFIXES)
        self.displaced.append((place, newest))
        _copy(copy, place, _SUFFIXES)

    def put_back(self):
        """Somebody finds out, and puts back what was there."""
        if self.displaced:
            place, newest = self.displaced.pop()
            _copy(newest, place, _SUFFIXES)

    def fork(self):
        """A copy of a ledger is used as if it were the ledger."""
        if not self.homes:
            return
        data, place = self._any(self.homes)
        copy = self.folder / f"fork-{self.number}.sqlite"
        _copy(place, copy, _SUFFIXES)
        self.homes.append((data, copy))

    def epoch(self):
        if self.budget is None or not self.ledgers or self.twin == "no registry":
            return
        more = self.budget + 5 * 10**8
        with closing(SqliteLedger(self.ledgers[0])) as ledger:
            ledger.open_epoch(Guarantee(more), {"epsilon": more}, "an officer")
        self.budget = more

    def version(self):
        """A changed file, confirmed."""
        if not self.ledgers:
            return
        with Registry() as registry, closing(SqliteLedger(self.ledgers[0])) as ledger:
            take_version(registry, ledger, self.ledgers[0], self._any(self.files), Word("an officer"))

    def _train(self, price, *, shared):
        with Registry() as registry:
            request = TrainRequest(
                data=self._any(self.files),
                public_rows=0,
                ledgers="shared" if shared else None,
                version_of=self._word(registry).version_of,
                features=10,
            )
            study = SimpleNamespace(
                commitments=[SimpleNamespace(budget=price)],
                terms=SimpleNamespace(
                    name="s", rule="averaged", kind="gradient", unit="record", person="", axes=(), digest=lambda: "d"
                ),
            )
            payment = check_payment(registry, request, Sources(), study, Person("an officer"), None, silent)
            charge(payment, f"r{self.number}", study, Origin("s", "", PublicRows()))
            self._known(payment.ledger)

    def _train_as_before(self, owners, price):
        place = self.folder / f"partition-{owners}.sqlite"
        if not place.exists():
            SqliteLedger.create(place, begin("bank", "part", Guarantee(price.nano))).close()
        with closing(SqliteLedger(place)) as ledger:
            ledger.reserve(f"r{self.number}", "?", price, f"r{self.number}", price)

    def _word(self, registry):
        """A person confirms that a file that looks like the records is a version of them."""
        known = registry.datasets()
        return Word("an officer", version_of=known[0].ledger if known else None)

    def _promised(self, place, epsilon):
        self.budget = self.lost + epsilon if self.budget is None else self.budget
        self._known(place)

    def _known(self, place):
        if place not in self.ledgers:
            self.ledgers.append(place)

    def _epsilon(self):
        return int(self.chance.integers(2, 10)) * 10**8

    def _any(self, things):
        return things[int(self.chance.integers(len(things)))]

    def _write_files(self):
        """The same records as CSV and Parquet, copied, in another order, and with rows appended."""
        values = self.chance.normal(size=(80, 3))
        frame = pl.DataFrame(values, schema=["x", "y", "z"]).head(60)
        more = pl.DataFrame(values, schema=["x", "y", "z"])
        files = [self.folder / name for name in ("a.csv", "copy.csv", "a.parquet", "order.csv", "more.parquet")]
        frame.write_csv(files[0])
        shutil.copy(files[0], files[1])
        frame.write_parquet(files[2])
        frame.reverse().write_csv(files[3])
        more.write_parquet(files[4])
        return files


def _copy(source, target, suffixes):
    """A ledger as it lies, over whatever lies there."""
    for suffix in _SUFFIXES:
        beside = target.with_name(target.name + suffix)
        beside.unlink(missing_ok=True)
        if suffix in suffixes:
            with suppress(FileNotFoundError):
                shutil.copy(source.with_name(source.name + suffix), beside)


def live(folder, seed, steps, twin=None):
    """So many things that happen; the machine afterwards, or as it was when too much was lost."""
    folder.mkdir()
    world = OneFile(folder, seed, twin)
    for _ in range(steps):
        world.step()
        if world.overspent:
            return world
    return world
