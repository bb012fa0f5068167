"""copriv end to end against Flower, both run here: `python -m benchmarks flower`, only when named.

Flower goes into an environment of its own in the user's cache, never into the project's. What runs there is in
`flower_app`: a server that asks one client after the other, and clients that echo. If a part of it cannot run, the table
says so and quotes the figure of a run elsewhere instead.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.consortium import (
    BATCH,
    FLOWER_SIMULATION,
    FLOWER_SUPERLINK,
    ROUNDS,
    _advance,
    _consortium,
    _iterations,
)
from benchmarks.side_by_side import take_turns, tell

FLOWER = "1.41.0"
CLIENTS, SIMULATED_ROUNDS, DEPLOYED_ROUNDS = 3, 100, 12
INSTALL_LIMIT, START_LIMIT, RUN_LIMIT, FAREWELL = 600.0, 60.0, 240.0, 5.0
APP = Path(__file__).parent / "flower_app"
QUOTED = {"simulation engine": FLOWER_SIMULATION, "SuperLink and SuperNodes": FLOWER_SUPERLINK}
# No reports home, no looking for updates, and no proxy between two processes of this machine.
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}


class DidNotRunError(Exception):
    """A part of Flower that cannot run here, and why."""


@dataclass(frozen=True)
class Workshop:
    """Where Flower runs: its environment, a folder for one run, and the variables its processes see."""

    environment: Path
    folder: Path

    def program(self, name: str) -> str:
        """A program of the environment."""
        return str(self.environment / "bin" / name)

    def variables(self) -> dict[str, str]:
        """This process's, without its Python environment."""
        kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
        path = f"{self.environment / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        return {**kept, **QUIET, "PATH": path, "FLWR_HOME": str(self.folder / "home")}

    @contextmanager
    def start(self, log: str, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A process with a group of its own, and the end of that group."""
        with (self.folder / f"{log}.log").open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - programs of the environment
                command,
                cwd=self.folder / "app",
                env=self.variables(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            _end(process)

    def last_words(self, log: str) -> str:
        """The last line a process wrote, without the places of this machine."""
        lines = (self.folder / f"{log}.log").read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing was said")
        return last.replace(str(self.folder), "…").replace(str(Path.home()), "~")[:100]


def main() -> None:
    """Print the table."""
    print(f"copriv: {ROUNDS + 1} batches of {BATCH} iterations …", flush=True)
    ours = measure_copriv()
    with tempfile.TemporaryDirectory() as folder:
        rows = compare(ours, Path(folder))
    tell(
        "flower",
        f"copriv {version('copriv')} and Flower {FLOWER}, one after the other in one run: three owners or clients on "
        "loopback, one asked at a time, ten numbers each way. copriv: median of "
        f"{ROUNDS} batches of {BATCH} with 10,000 × 10 records an owner, mutual TLS, secure Laplace noise, durable "
        f"ledgers and checkpoint. Flower: mean of {SIMULATED_ROUNDS} rounds simulated (virtual clients, no network) and "
        f"of {DEPLOYED_ROUNDS} deployed (--insecure: no TLS), clients that echo: no records, no noise, no ledger. As "
        "offered: send_and_receive, which looks for the answer every 0.1 s simulated and every 3 s deployed; at once: "
        "looking every ms, while Flower's own loops still wait as long. Starting up is not counted",
        ["one query at a time", "per second", "copriv is times as fast", "figure"],
        [("copriv, end to end", ours, 1.0, "measured"), *rows],
    )


def measure_copriv() -> float:
    """Iterations a second, end to end, with three owner processes."""
    with tempfile.TemporaryDirectory() as folder, _consortium(Path(folder), CLIENTS, CLIENTS, 10_000) as (learner, _, _):
        iterations = _iterations(learner, Path(folder))
        return BATCH / take_turns({"copriv": lambda: _advance(iterations, BATCH)}, ROUNDS)["copriv"]


def compare(ours: float, folder: Path) -> Iterator[tuple[str, float, float, str]]:
    """Rows of the table: each of Flower's engines as measured, or as quoted and why."""
    return iter([row for engine in QUOTED for row in _rows(engine, ours, folder)])


def _rows(engine: str, ours: float, folder: Path) -> Iterator[tuple[str, float, float, str]]:
    """As measured, or as quoted."""
    try:
        times = _run(engine, folder)
    except DidNotRunError as reason:
        print(f"Flower's {engine} did not run: {reason}", flush=True)
        yield _row(f"Flower 1.41, {engine}", QUOTED[engine], ours, f"quoted; did not run: {reason}")
        return
    for way, title in (("ask_as_offered", "as offered"), ("ask_at_once", "at once")):
        rate = len(times[way]) / sum(times[way])
        yield _row(f"Flower {FLOWER}, {engine}, {title}", rate, ours, "measured")
