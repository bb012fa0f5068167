"""Kill broker, learner and owners at random during one study, over real processes, and see what is left.

`python tests/consortium/kills.py --kills 100 --horizon 1000` (about five minutes). Whoever is killed (SIGKILL) is
started again with the same command; the broker is started again by the learner. Afterwards:

- the study has finished, with every meeting in the log once;
- no ledger is broken, and none has spent more than its budget or answered more than its cap;
- every answer that an owner has given was absorbed, and absorbed once: nothing is lost or doubled;
- the answers in the ledgers, absorbed in one process in the order of the log, give the learner's model, bit for bit.

With `--menu` the learner chooses from a menu: unequal shares of the owners' budgets, two kinds of answers, and answers
that are made finer later. No owner tells a level that was not paid for.
"""

import argparse
import io
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import replay

from copriv.cli import main as command
from copriv.learner.checkpoint import Checkpoint
from copriv.owner.workspace import OwnerWorkspace
from copriv.runtime.rehearsal import free_port
from copriv.transport.broker import running

HERE = Path(__file__).resolve().parent
COPRIV = Path(sys.executable).parent / "copriv"
# A rule of another package, which chooses from a menu and makes answers finer; each owner answers it 36 times.
OUTSIDE, MENU_RULE, MENU_ANSWERS = HERE.parent / "outside", "nibbling", 36
OWNERS = 4
PATIENCE = 120.0


class World:
    """A study in a folder, and the processes that it takes."""

    def __init__(self, folder, horizon, owners=OWNERS, *, menu=False):
        self.folder, self.menu = folder, menu
        self.horizon = owners * MENU_ANSWERS if menu else horizon
        self.learner = folder / "learner"
        self.homes = {f"bank-{place}": folder / f"bank-{place}" for place in range(owners)}
        self.processes, self.killed = {}, dict.fromkeys(("broker", "learner", *self.homes), 0)

    def prepare(self):
        _copriv("generate", "lending", "--rows", 3000, "--seed", 0, "--out", self.folder / "public.parquet")
        study = self.folder / "study.toml"
        # Caps are wide, so that the study can finish whoever happens to be there.
        _copriv(
            *("learner", "draft", "--public", self.folder / "public.parquet", "--target", "int_rate", "--out", study),
            *("--owners", len(self.homes), "--records", 500, "--features", 10),
            *(("--rule", MENU_RULE) if self.menu else self._steps()),
        )
        _copriv("learner", "init", study, "--folder", self.learner, "--port", free_port())
        for seed, (name, home) in enumerate(self.homes.items(), start=1):
            data, invitation = self.folder / f"{name}.parquet", self.folder / f"{name}.invitation"
            _copriv("generate", "lending", "--rows", 500, "--seed", seed, "--out", data)
            _copriv("learner", "invite", name, "--folder", self.learner, "--out", invitation)
            _copriv("owner", "join", invitation, "--data", data, "--folder", home, "--yes")

    def _steps(self):
        """Algorithm 1."""
        return ("--horizon", self.horizon, "--answers", self.horizon, "--step", 0.1, "--clip", 1)

    def start(self, name):
        """Start the learner or an owner, as on the first day."""
        if name == "learner":
            command = [str(COPRIV), "learner", "run", "--folder", str(self.learner), "--deadline", "5"]
        else:
            command = [str(COPRIV), "owner", "serve", "--folder", str(self.homes[name])]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env=_with_outside())

    def kill(self, name):
        """SIGKILL, and a new start; the broker's is the learner's business."""
        if name == "broker":
            pid = running(self.learner / "broker.pid")
            if pid is None:
                return False
            os.kill(pid, signal.SIGKILL)
        else:
            process = self.processes[name]
            if process.poll() is not None:
                return False
            process.kill()
            process.wait()
            self.start(name)
        self.killed[name] += 1
        return True

    def meetings(self):
        """How far the learner's checkpoint is."""
        path = self.learner / "run" / "checkpoint.sqlite"
        if not path.is_file():
            return 0
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT coalesce(max(number), 0) FROM reply").fetchone()[0]
        return 0

    def forget_a_meeting(self):
        """Spoil the log, to see that the check notices."""
        with closing(sqlite3.connect(self.learner / "run" / "checkpoint.sqlite")) as connection, connection:
            connection.execute("DELETE FROM reply WHERE number = (SELECT max(number) FROM reply)")

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        pid = running(self.learner / "broker.pid")
        if pid is not None:
            os.kill(pid, signal.SIGKILL)


def _with_outside():
    """What processes find: also the rule of another package."""
    before = os.environ.get("PYTHONPATH", "")
    return os.environ | {"PYTHONPATH": f"{OUTSIDE}{os.pathsep}{before}" if before else str(OUTSIDE)}


def torture(world, kills, seed, tell=lambda _words: None):
    """Run the study and kill along its way: the j-th kill comes when about j/kills of the meetings are over."""
    chance = random.Random(seed)  # noqa: S311 - for the order of kills
    victims = [("broker", "learner", *world.homes)[place % (2 + len(world.homes))] for place in range(kills)]
    chance.shuffle(victims)
    for name in ("learner", *world.homes):
        world.start(name)
    for number, victim in enumerate(victims, start=1):
        _await(world, lambda number=number: world.meetings() >= (number - 0.5) * world.horizon / (kills + 1))
        time.sleep(chance.uniform(0, 0.03))
        while not world.kill(victim):
            time.sleep(0.05)
            if world.processes["learner"].poll() is not None:
                break
        tell(f"{number:4d} of {kills}: {victim} killed at meeting {world.meetings()}")
    world.processes["learner"].wait(PATIENCE)
    for name in world.homes:
        with suppress(subprocess.TimeoutExpired):
            world.processes[name].wait(20)


def _await(world, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if world.processes["learner"].poll() is not None:
            sys.exit(f"the learner ended: {(world.folder / 'learner.log').read_text()[-600:]}")
        if time.monotonic() > deadline:
            sys.exit("nothing moves any more")
        time.sleep(0.005)


def findings(world):
    """Everything that is wrong; an empty list if nothing is."""
    wrong = []
    with closing(Checkpoint(world.learner / "run" / "checkpoint.sqlite")) as checkpoint:
        log = checkpoint.log()
    if [entry.number for entry in log] != list(range(1, world.horizon + 1)):
        wrong.append(f"the log has {len(log)} meetings of {world.horizon}")
    wrong += [f"{entry.owner} refused: {entry.outcome}" for entry in log if entry.outcome != "answer"]
    model, used, answers = replay.from_ledgers(world.learner, world.homes)
    if len(used) != len(set(used)):
        wrong.append("an answer was absorbed twice")
    given = {(name, query) for name, found in answers.items() for query in found}
    wrong += [f"the answer of {name} to {query} was paid for and lost" for name, query in sorted(given - set(used))]
    wrong += [f"{name} made {query} finer, and not from what was sealed" for name, query in _unsealed(world, log)]
    for name, home in world.homes.items():
        charged, budget = replay.charges_of(home)
        cap = OwnerWorkspace(home).enrollment.answers
        if sum(nano for _, nano in charged) > budget or len(charged) > cap:
            wrong.append(f"{name} has spent more than it promised")
        if len({query for query, _ in charged}) != len(charged):
            wrong.append(f"{name} has charged a query twice")
    if (world.learner / "run" / "model.json").is_file():
        if not np.array_equal(model, replay.model_of(world.learner)):
            wrong.append("the ledgers' answers give another model")
    else:
        wrong.append("there is no model")
    return wrong


def _unsealed(world, log):
    """Finer answers that were not sealed with the answer before, to the same question."""
    for name, home in world.homes.items():
        stored = replay.stored_in(home)
        asked = [entry for entry in log if (entry.owner, entry.outcome, entry.kind) == (name, "answer", "gradient")]
        for former, entry in pairwise(asked):
            sealed = [each.numbers for each in stored[former.query].finer if each.share == entry.level]
            if entry.before and np.asarray(stored[entry.query].values).tobytes() not in sealed:
                yield name, entry.query


def _copriv(*words):
    """A command that succeeds; in this process, because that is quicker."""
    before, sys.argv = sys.argv, ["copriv", *map(str, words)]
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            command.main()
    except SystemExit as stopped:
        if stopped.code:
            sys.exit(f"{' '.join(sys.argv)} failed: {said.getvalue()[-600:]}")
    finally:
        sys.argv = before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--horizon", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--menu", action="store_true", help="a study with a menu; it has its own number of meetings")
    options = parser.parse_args()
    sys.path.append(str(OUTSIDE))
    with tempfile.TemporaryDirectory(prefix="copriv-kills-") as folder:
        os.environ["COPRIV_REGISTRY"] = str(Path(folder) / "registry")
        world = World(Path(folder), options.horizon, menu=options.menu)
        world.prepare()
        began = time.monotonic()
        try:
            torture(world, options.kills, options.seed, lambda words: sys.stdout.write(words + "\n"))
        finally:
            world.close()
        wrong = findings(world)
    told = ", ".join(f"{name} {times}" for name, times in world.killed.items())
    sys.stdout.write(f"killed: {told}; {world.horizon} meetings in {time.monotonic() - began:.0f} s\n")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
