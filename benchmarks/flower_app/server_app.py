"""A Flower server that times rounds: ten numbers to one client, its answer back, then the next client.

Twice, because Flower's own way to ask sleeps between two looks for the answer: once with it, once without the sleep.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

NUMBERS = 10
WARM_UP = 2
LOOK_AGAIN = 0.01
PATIENCE = 60.0

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Time as the run's settings say."""
    settings = context.run_config
    write_times(grid, Path(str(settings["report"])), int(settings["clients"]), int(settings["rounds"]))


def write_times(grid: Grid, report: Path, clients: int, rounds: int) -> None:
    """Seconds of each round, by way of asking, as JSON; the file appears only when it is whole."""
    turns = itertools.cycle(gather(grid, clients))
    times = {ask.__name__: list(time_rounds(grid, ask, turns, rounds)) for ask in (ask_as_offered, ask_at_once)}
    draft = report.with_suffix(".draft")
    draft.write_text(json.dumps(times), encoding="utf-8")
    draft.replace(report)


def gather(grid: Grid, clients: int) -> list[int]:
    """The clients, once all are there."""
    deadline = time.monotonic() + PATIENCE
    while len(present := sorted(grid.get_node_ids())) < clients:
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(present)} of {clients} clients came")
        time.sleep(0.2)
    return present


def time_rounds(
    grid: Grid, ask: Callable[[Grid, Message], Message], turns: Iterator[int], rounds: int
) -> Iterator[float]:
    """Seconds of each round, after some to warm up."""
    numbers = np.zeros(NUMBERS)
    for turn in range(WARM_UP + rounds):
        started = time.perf_counter()
        reply = ask(grid, Message(RecordDict({"numbers": ArrayRecord([numbers])}), next(turns), "query"))
        if reply.has_error():
            raise SystemExit(f"a client failed: {reply.error.reason}")
        (numbers,) = reply.content["numbers"].to_numpy_ndarrays()
        if turn >= WARM_UP:
            yield time.perf_counter() - started


def ask_as_offered(grid: Grid, message: Message) -> Message:
    """Flower's own way: it looks for the answer, sleeps and looks again."""
    (reply,) = grid.send_and_receive([message])
    return reply


def ask_at_once(grid: Grid, message: Message) -> Message:
    """The same without the long sleep between two looks."""
    sent = list(grid.push_messages([message]))
    while not (replies := list(grid.pull_messages(sent))):
        time.sleep(LOOK_AGAIN)
    return replies[0]
