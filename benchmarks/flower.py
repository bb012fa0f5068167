"""copriv end to end against Flower, both run here: `python -m benchmarks flower`, only when named.

Flower goes into an environment of its own in the user's cache, never into the project's. What runs there is in
`flower_app`: a server that asks one client after the other, and clients that echo. A part that cannot run is a row that
says so and quotes the figure of a run elsewhere.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks import consortium
from benchmarks.consortium import _advance, _consortium, _iterations
from benchmarks.side_by_side import take_turns, tell

FLOWER = "1.41.0"
CLIENTS, SIMULATED, DEPLOYED = 3, 100, 10
START_LIMIT, RUN_LIMIT, FAREWELL = 60.0, 200.0, 10.0
WAYS = {"ask_as_offered": "as offered", "ask_at_once": "at once"}
# No reports home, no looking for updates, no proxy between two processes of one machine.
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}
COMPARED = (
    f"copriv {version('copriv')} and Flower {FLOWER} in one run, one after the other: three owners or clients on this "
    "machine, one asked at a time, ten numbers each way; starting up is not counted. copriv: owners in processes of "
    "their own with 10,000 × 10 records, mutual TLS, secure Laplace noise, durable ledgers and checkpoint; median of "
    f"{consortium.ROUNDS} batches of {consortium.BATCH}. Flower: clients that only echo, so no records, no noise, no "
    f"ledger; state in memory, no TLS (--insecure); mean of {SIMULATED} rounds simulated (virtual clients of Ray, no "
    f"network) and {DEPLOYED} deployed. As offered: send_and_receive, which looks for the answer every "
    "0.1 s simulated and every 3 s deployed; at once: looking every 10 ms, while the engine's own loop still "
    "waits 0.1 s and an idle SuperNode 3 s. copriv is measured again at the end, to show how steady the machine was"
)

Times = Mapping[str, Sequence[float]]
Row = tuple[str, float, float, str]


class DidNotRunError(Exception):
    """Why a part of Flower could not run here."""


@dataclass(frozen=True)
class Workshop:
    """Flower's environment and a folder for one run."""

    environment: Path
    folder: Path

    @property
    def app(self) -> Path:
        """A copy of the app: Flower may rewrite what it is given."""
        return self.folder / "app"

    @property
    def report(self) -> Path:
        """Where the app writes its times."""
        return self.folder / "times.json"

    def run(self, name: str, *words: str) -> None:
        """Run a program to its end."""
        with self.start(name, *words) as process:
            try:
                code = process.wait(RUN_LIMIT)
            except subprocess.TimeoutExpired:
                raise DidNotRunError(f"{name} took longer than {RUN_LIMIT:.0f} s{self._complaint(name)}") from None
        if code:
            raise DidNotRunError(f"{name} ended with code {code}{self._complaint(name)}")

    @contextmanager
    def start(self, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start a program of the environment in a group of its own, and end the group."""
        with self._log(name).open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - a program of the environment
                [str(self.environment / "bin" / name), *words],
                cwd=self.app,
                env=self._variables(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            _end(process)

    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
        path = f"{self.environment / 'bin'}{os.pathsep}{kept.get('PATH', '')}"
        return {**kept, **QUIET, "PATH": path, "FLWR_HOME": str(self.folder / "home")}

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _complaint(self, name: str) -> str:
        """Show the end of the log; name the last exception in it, for a table that tells nothing of this machine."""
        text = self._log(name).read_text(encoding="utf-8", errors="replace")
        print(text[-2000:], file=sys.stderr)
        errors = re.findall(r"^(?:\w+\.)*(\w+(?:Error|Exception))\b", text, re.MULTILINE)
        return f" ({errors[-1]})" if errors else ""


def main() -> None:
    """Print the table."""
    ours = measure_copriv()
    rows = [
        ("copriv, end to end", ours, 1.0, "measured"),
        *compare("simulation engine", simulate, ours, consortium.FLOWER_SIMULATION),
        *compare("SuperLink and SuperNodes", deploy, ours, consortium.FLOWER_SUPERLINK),
    ]
    again = measure_copriv()
    rows.append(("copriv, end to end, again", again, ours / again, "measured"))
    tell("flower", COMPARED, ["one query at a time", "per second", "times copriv's time", "figure"], rows)


def measure_copriv() -> float:
    """Iterations a second, end to end, with three owner processes."""
    with ExitStack() as stack:
        stack.enter_context(_told(f"copriv, {consortium.ROUNDS + 1} batches of {consortium.BATCH} iterations"))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        learner, _, _ = stack.enter_context(_consortium(folder, CLIENTS, CLIENTS, 10_000))
        iterations = _iterations(learner, folder)
        seconds = take_turns({"copriv": lambda: _advance(iterations, consortium.BATCH)}, consortium.ROUNDS)
    return consortium.BATCH / seconds["copriv"]


def compare(engine: str, measure: Callable[[Workshop], Times], ours: float, quoted: float) -> Iterator[Row]:
    """Rows for one of Flower's engines: as measured here or, if it did not run, as quoted and why."""
    try:
        times = _measure_in_workshop(engine, measure)
    except DidNotRunError as reason:
        yield f"Flower 1.41, {engine}", quoted, ours / quoted, f"did not run: {reason}; quoted from elsewhere"
        return
    for way, title in WAYS.items():
        rate = len(times[way]) / sum(times[way])
        yield f"Flower {FLOWER}, {engine}, {title}", rate, ours / rate, "measured"


def _measure_in_workshop(engine: str, measure: Callable[[Workshop], Times]) -> Times:
    environment = make_environment()
    with tempfile.TemporaryDirectory() as folder, _told(f"Flower, {engine}"):
        workshop = Workshop(environment, Path(folder))
        shutil.copytree(Path(__file__).parent / "flower_app", workshop.app)
        return measure(workshop)


def make_environment() -> Path:
    """Flower in an environment of its own, made on the first call and kept in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "copriv" / f"flower-{FLOWER}"
    ready = folder / ".ready"
    if not ready.exists():
        with _told(f"installing Flower {FLOWER} and Ray with pip into {folder}"):
            _install(folder)
        ready.touch()
    return folder


def _install(folder: Path) -> None:
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], [*pip, f"flwr[simulation]=={FLOWER}"]):
        if code := subprocess.run(command, check=False).returncode:  # noqa: S603 - venv and pip
            raise DidNotRunError(f"{command[2]} ended with code {code}")


def simulate(workshop: Workshop) -> Times:
    """Seconds of each round in Flower's simulation engine."""
    workshop.run("python", "simulate.py", str(workshop.report), str(CLIENTS), str(SIMULATED))
    return _read(workshop.report)


def deploy(workshop: Workshop) -> Times:
    """Seconds of each round with a SuperLink and SuperNodes, processes of their own on loopback without TLS."""
    link, *nodes = (f"{port}" for port in _free_ports(1 + CLIENTS))
    address = f"127.0.0.1:{link}"
    _write_home(workshop.folder / "home", address)
    listen = ["--insecure", "--host", "127.0.0.1", "--port"]
    with ExitStack() as stack:
        alone = "--disable-runtime-dependency-installation"
        stack.enter_context(workshop.start("flower-superlink", *listen, link, alone))
        _await("the SuperLink", START_LIMIT, lambda: _listens(int(link)))
        for node in nodes:
            stack.enter_context(workshop.start("flower-supernode", *listen, node, "--superlink", address))
        settings = f"report={json.dumps(str(workshop.report))} clients={CLIENTS} rounds={DEPLOYED}"
        workshop.run("flwr", "run", ".", "here", "--run-config", settings)
        _await("the deployed run", RUN_LIMIT, workshop.report.exists)
    return _read(workshop.report)


def _write_home(home: Path, address: str) -> None:
    home.mkdir()
    text = f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "{address}"\ninsecure = true\n'
    (home / "config.toml").write_text(text, encoding="utf-8")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _await(what: str, limit: float, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + limit
    while not ready():
        if time.monotonic() > deadline:
            raise DidNotRunError(f"{what} took longer than {limit:.0f} s")
        time.sleep(0.2)


def _read(report: Path) -> Times:
    if not report.exists():
        raise DidNotRunError("it ended without a result")
    times: Times = json.loads(report.read_text(encoding="utf-8"))
    return times


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end, then make sure of it and of what it started."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(FAREWELL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what is being done, and how long it took."""
    print(f"{what} …", flush=True)
    started = time.perf_counter()
    try:
        yield
    finally:
        print(f"{what}: {time.perf_counter() - started:.0f} s", flush=True)
