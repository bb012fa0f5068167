"""Two walks through the code: the functions that `copriv train` and `copriv forecast` call, in order of first calls.

Rooms are the packages under `copriv`; the single modules (errors, entropy, vectors) are the foundation and no rooms. A
room change is a step of the walk into another room than the one before. Functions with a name count: lambdas,
comprehensions, class bodies and module bodies do not, nor what is called while a module is being imported. `--list`
prints the whole walk.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

from rich.console import Console
from rich.table import Table

SOURCE = Path(__file__).resolve().parents[1] / "src" / "copriv"
FORECAST = (
    "--public",
    "public.parquet",
    "--target",
    "int_rate",
    "--owners",
    "10",
    "--records",
    "2000",
    "--epsilon",
    "1",
    "--features",
    "10",
)
WALKS = {"train": ("train", "--seed", "1", "--features", "10", "--out", "run"), "forecast": ("forecast", *FORECAST)}
# At most half of what was counted before: 96 and 49.
MOST_CHANGES = {"train": 48, "forecast": 24}
SHOWN_PAIRS = 8
PUBLIC_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Step:
    """A function that is called for the first time."""

    file: str
    name: str

    @property
    def room(self) -> str | None:
        """Its package; none for the foundation and the package's own module."""
        return self.file.split("/", maxsplit=1)[0] if "/" in self.file else None


@dataclass(frozen=True, slots=True)
class Walk:
    """The functions of one command, in the order of their first calls."""

    steps: tuple[Step, ...]

    @property
    def files(self) -> int:
        """How many files it touches."""
        return len({step.file for step in self.steps})

    @property
    def changes(self) -> list[tuple[str, str]]:
        """Every change of room: from where to where."""
        rooms = [step.room for step in self.steps if step.room is not None]
        return [(before, after) for before, after in pairwise(rooms) if before != after]

    def pairs(self) -> list[tuple[str, int]]:
        """Pairs of rooms by how often the walk changes between them, either way, most often first."""
        return Counter(" ⇄ ".join(sorted(change)) for change in self.changes).most_common()


def is_named(code: CodeType) -> bool:
    """Whether this is a function with a name: not a lambda, a comprehension, a class or module body."""
    optimised = bool(code.co_flags & 1)
    return optimised and not code.co_name.startswith("<")


def is_importing(frame: FrameType, inside: str) -> bool:
    """Whether a function is called, however far down, by the body of one of our modules."""
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(inside):
            return True
        caller = caller.f_back
    return False


def record(command: Sequence[str], source: Path = SOURCE) -> Walk:
    """Run a command of the command line in this process, and note every function when it is first called."""
    inside, seen = f"{source}{os.sep}", {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in seen or not code.co_filename.startswith(inside) or not is_named(code):
            return
        if not is_importing(frame, inside):
            seen[code] = Step(Path(code.co_filename).relative_to(source).as_posix(), code.co_qualname)

    from copriv.cli.main import main as run_command

    sys.argv = ["copriv", *command]
    sys.setprofile(note)
    try:
        run_command()
    except SystemExit as left:
        if left.code:
            raise
    finally:
        sys.setprofile(None)
    return Walk(tuple(seen.values()))


def walk(name: str) -> Walk:
    """Record one of the walks in a process, a folder and a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        environment = {**os.environ, "COPRIV_HOME": str(home), "COPRIV_REGISTRY": str(home / "registry")}
        command = [sys.executable, "-m", "benchmarks.walk", "--record", name, str(Path(folder) / "walk.json")]
        root = Path(__file__).resolve().parents[1]
        environment["PYTHONPATH"] = os.pathsep.join([str(root), str(SOURCE.parent), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            sys.exit(f"`copriv {' '.join(WALKS[name])}` failed:\n{done.stdout}\n{done.stderr}")
        return Walk(tuple(Step(**step) for step in json.loads((Path(folder) / "walk.json").read_text("utf-8"))))


def _record_to(name: str, file: Path) -> None:
    """What the process of a walk does: public rows first, so that making them is no part of it."""
    from copriv.entropy import seeded
    from copriv.records import lending_like

    if name == "forecast":
        lending_like.generate(PUBLIC_ROWS, seeded(0, "public")).write_parquet("public.parquet")
    steps = [{"file": step.file, "name": step.name} for step in record(WALKS[name]).steps]
    file.write_text(json.dumps(steps), encoding="utf-8")


def _print_steps(console: Console, walked: Walk) -> None:
    room = None
    for step in walked.steps:
        if step.room not in (None, room):
            room = step.room
            console.print(f"── {room}", highlight=False)
        console.print(f"     {step.file}: {step.name}", highlight=False)


def main() -> None:
    """Print both walks: their sizes, and the pairs of rooms between which they change most often."""
    if sys.argv[1:2] == ["--record"]:
        _record_to(sys.argv[2], Path(sys.argv[3]))
        return
    walks = {name: walk(name) for name in WALKS}
    console = Console(width=120, emoji=False)
    table = Table(title="walk", title_justify="left")
    for column in ("command", "functions", "files", "room changes", "at most", "pairs of rooms"):
        table.add_column(column, justify="left" if column in ("command", "pairs of rooms") else "right")
    for name, walked in walks.items():
        counts = (len(walked.steps), walked.files, len(walked.changes), MOST_CHANGES[name])
        pairs = "\n".join(f"{count:3d}  {pair}" for pair, count in walked.pairs()[:SHOWN_PAIRS])
        table.add_row(f"copriv {name}", *map(str, counts), pairs)
    console.print(table)
    if "--list" in sys.argv:
        for name, walked in walks.items():
            console.print(f"\ncopriv {' '.join(WALKS[name])}", highlight=False)
            _print_steps(console, walked)


if __name__ == "__main__":
    main()
