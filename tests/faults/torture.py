"""The long version of the fault tests: `python tests/faults/torture.py --kills 1000 --cuts 200`.

Real processes are killed with SIGKILL on real ledgers, the power of a recorded disk is cut, and the unsafe twins have
to be caught by the very same harness. Ends with an error if a promise was broken or a twin got away.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import creation_kills
import learner_kills
import numpy as np
import owner_kills
import power_cuts
import twins
from fork_server import Nursery
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

MOST_FOR_A_TWIN = 100


def plan(fork_server, kills, cuts):
    """Name, faults, twin, and how to torment: honest ones first, then the twins."""
    owners, learners = partial(owner_kills.torment, fork_server), partial(learner_kills.torment, fork_server)
    yield "owner killed", kills, None, owners
    yield "creation killed", kills // 10, None, partial(creation_kills.torment, fork_server)
    yield "learner killed", kills, None, learners
    yield "power cut", cuts, None, power_cuts.torment
    for kind, names, torment in (
        ("owner", twins.OWNERS, owners),
        ("learner", twins.LEARNERS, learners),
        ("disk", twins.DISKS, power_cuts.torment),
    ):
        for name in names:
            yield f"unsafe {kind}: {name}", MOST_FOR_A_TWIN, name, partial(torment, twin=name)


def run(kills, cuts, seed):
    """Every row of the table, and whether all of it went as it should."""
    table = Table("what", "faults", "seconds", "seen", "outcome", title=f"faults, seed {seed}")
    good = True
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Nursery() as fork_server, Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for number, (name, faults, twin, torment) in enumerate(plan(fork_server, kills, cuts)):
            task = progress.add_task(name, total=faults)
            started = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                toll = torment(
                    Path(folder), _chance(seed, number), faults, tell=lambda task=task: progress.advance(task)
                )
            progress.remove_task(task)
            good &= toll.clean if twin is None else not toll.clean
            table.add_row(
                name, str(toll.faults), f"{time.perf_counter() - started:.1f}", _seen(toll), _tell(toll, twin)
            )
    Console().print(table)
    return good


def _chance(seed, number):
    return np.random.default_rng([seed, number])


def _seen(toll):
    return ", ".join(f"{count} {what}" for what, count in toll.counts.items())


def _tell(toll, twin):
    if twin is not None:
        return f"caught: {toll.violations[0]}" if toll.violations else "[red]NOT CAUGHT"
    return f"[red]BROKEN: {toll.violations[0]}" if toll.violations else "every promise kept"


def main():
    parser = argparse.ArgumentParser(description="Kill owners and learners, cut the power, and count broken promises.")
    parser.add_argument("--kills", type=int, default=1000, help="kills of an owner, and as many of a learner")
    parser.add_argument("--cuts", type=int, default=200, help="power cuts")
    parser.add_argument("--seed", type=int, default=0, help="for the queries and the moments of death")
    options = parser.parse_args()
    return 0 if run(options.kills, options.cuts, options.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
