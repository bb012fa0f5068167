"""What pages cost: a learner that is watched, a page of a very large run, a step of a slider.

The learner is a real one with three owner processes on loopback. Its page is a process of its own, and whoever watches
is another: told of a change, it asks for the whole page, as a browser would. Batches with and without it take turns.
"""

import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.consortium import _advance, _consortium, _iterations
from benchmarks.crowded_run import crowded_run
from benchmarks.side_by_side import tell
from copriv.dashboard.guard import Door
from copriv.dashboard.launch import beside
from copriv.dashboard.learner_page import learner_app
from copriv.dashboard.live import Ending
from copriv.dashboard.server import Address, bind, serve
from copriv.dashboard.what_if_page import what_if_app
from copriv.dashboard.what_if_view import Studio
from copriv.entropy import seeded
from copriv.planning.scenario import Scenario
from copriv.records import lending_like

BATCH, ROUNDS = 100, 60
OWNERS, MEETINGS = 1_000, 10**6
STEPS, REST = 25, 0.2
# Reads server-sent events, and asks for the page at every one that tells of a change.
READER = """
import http.client, sys
port, watches = int(sys.argv[1]), sys.argv[2] == "watches"
if not watches:
    print("ready", flush=True)
    sys.stdin.read()
stream = http.client.HTTPConnection("127.0.0.1", port)
stream.request("GET", "/events")
answer = stream.getresponse()
print("ready", flush=True)
while line := answer.readline():
    if line.startswith(b"event: change"):
        page = http.client.HTTPConnection("127.0.0.1", port)
        page.request("GET", "/learner")
        print(len(page.getresponse().read()), flush=True)
"""


def main() -> None:
    """Print the table."""
    rows = [*_watched_learner(), *_large_run(), *_slider()]
    tell(
        "pages",
        f"the learner: three owner processes, medians of {ROUNDS} pairs of batches of {BATCH}, taken in turns; the "
        f"large run: {MEETINGS:,} meetings with {OWNERS:,} owners, read once when its page starts; a step of a slider: "
        "N = 100, 10 features, 10,000 public rows, features fitted before",
        ["what", "figure", "unit"],
        rows,
    )


def _watched_learner() -> Iterator[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder, _consortium(Path(folder), 3, 3, 1_000) as (learner, quarters, _):
        (quarters.folder / "run").mkdir()
        iterations = _iterations(learner, quarters.folder / "run")
        _advance(iterations, BATCH)
        address = bind(0, path="/learner")
        port = address.socket.getsockname()[1]
        alone, watched, pages = list[float](), list[float](), 0
        spent, lasted = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
        with beside("learner", quarters.folder, address):
            _get(port, "/learner")
            page = _process_of("copriv.dashboard")
            for turn in range(ROUNDS):
                for watches in (bool(turn % 2), not turn % 2):  # whatever drifts does so for both
                    with _reader(port, watches=watches) as seen:
                        before, began = _work_of(page), time.perf_counter()
                        (watched if watches else alone).append(_rate(iterations))
                        spent[watches] += _work_of(page) - before
                        lasted[watches] += time.perf_counter() - began
                    pages += len(seen)
    ratios = [with_it / without for without, with_it in zip(alone, watched, strict=True)]
    yield "iterations a second, nobody watches", statistics.median(alone), "1/s"
    yield "iterations a second, one watches", statistics.median(watched), "1/s"
    yield "cost of being watched, median of pairs", 100 * (1 - statistics.median(ratios)), "%"
    low, _, high = statistics.quantiles(ratios, n=4)
    yield "the same, half of all pairs between", 100 * (1 - high), "%"
    yield "and", 100 * (1 - low), "%"
    yield "pages read meanwhile", float(pages), ""
    for watches, words in ((True, "one watches"), (False, "nobody watches")):
        yield f"work of the page's process, {words}", 100 * spent[watches] / lasted[watches], "% of a core"


def _rate(iterations: Iterator[None]) -> float:
    started = time.perf_counter()
    _advance(iterations, BATCH)
    return BATCH / (time.perf_counter() - started)


@contextmanager
def _reader(port: int, *, watches: bool) -> Iterator[list[bytes]]:
    """A process that watches, or one that only is there."""
    seen: list[bytes] = []
    command = [sys.executable, "-S", "-c", READER, str(port), "watches" if watches else "waits"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own words
    if process.stdout is None:
        raise SystemExit("a reader without a voice")
    process.stdout.readline()
    time.sleep(REST)
    try:
        yield seen
    finally:
        process.kill()
        seen += process.communicate()[0].splitlines()


def _process_of(name: str) -> int:
    """The newest process of this name."""
    found = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if name in path.read_bytes().decode().split("\0")
    ]
    return max(found)


def _work_of(process: int) -> float:
    """Seconds that a process has worked, by the system's count."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _large_run() -> Iterator[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder:
        run = crowded_run(Path(folder) / "run", OWNERS, MEETINGS)
        started = time.perf_counter()
        app = learner_app(run, Ending())
        yield "a page of the large run starts", time.perf_counter() - started, "s"
        address = bind(0, path="/learner")
        with _served(app, address) as port:
            queries = ("", "?sort=answers&order=down", "?q=owner-07", "?page=7", "?place=done")
            pages = [_timed(lambda query=query: _get(port, f"/learner{query}")) for query in queries]  # type: ignore[misc]
            yield "and is loaded, slowest of five", max(seconds for seconds, _ in pages), "s"
            yield "its size", pages[0][1] / 1024, "KiB"
            yield "its metrics", _timed(lambda: _get(port, "/metrics"))[0], "s"


def _slider() -> Iterator[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "public.parquet"
        lending_like.generate(10_000, seeded(0, "public rows")).write_parquet(path)
        studio = Studio(path, "int_rate", Scenario([10_000] * 100, 1.0), {"features": 10})
        address = bind(0, path="/what-if")
        with _served(what_if_app(studio), address) as port:
            for what, setting in (("", ""), (", with a first look at δ > 0", "&delta=1e-6")):
                _get(port, f"/what-if?{setting}")  # the whole curve: nothing is worked out aside any more
                steps, worked = _steps(port, setting)
                yield f"a step of a slider{what}, median", 1000 * statistics.median(steps), "ms"
                yield f"a step of a slider{what}, 9 of 10 below", 1000 * statistics.quantiles(steps, n=10)[-1], "ms"
                yield "its work", 1000 * worked, "ms"


def _steps(port: int, setting: str) -> tuple[list[float], float]:
    """How long steps take one after another, and how long the process works on each."""
    worked, seconds = time.process_time(), list[float]()
    for turn in range(STEPS):
        address = f"/what-if.json?curve=some&epsilon={1 + 0.01 * turn:.3f}{setting}"
        seconds.append(_timed(lambda address=address: _get(port, address))[0])
    return seconds, (time.process_time() - worked) / STEPS


def _timed(work: Callable[[], int]) -> tuple[float, int]:
    started = time.perf_counter()
    size = work()
    return time.perf_counter() - started, size


def _get(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", path)
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    if answer.status != http.client.OK:
        raise SystemExit(f"{path} says {answer.status}")
    return size


@contextmanager
def _served(app: object, address: Address) -> Iterator[int]:
    over = threading.Event()
    port = int(address.socket.getsockname()[1])
    serving = threading.Thread(target=serve, args=(app, address.socket, Door(address.hosts), over.is_set))
    serving.start()
    try:
        yield port
    finally:
        over.set()
        serving.join()
