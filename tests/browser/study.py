"""A real study for the browser: a learner and one owner as processes of the command line, the others in threads.

Three banks of another population than the public rows. One has lowered the budget of its records after it joined, so
that it refuses. Names are hostile where people may choose them: as long and as odd as a study file allows.
"""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl

from copriv.cli import main as command
from copriv.owner.workspace import OwnerWorkspace
from copriv.records import lending_like
from copriv.runtime.owner_client import serve_study
from copriv.runtime.owner_ledger import change_promise
from copriv.runtime.rehearsal import free_port

OWNERS = ("east", "north", "west")
HOSTILE = ("<script>alert(1)</script> <img src=x onerror=alert(2)> {{ 7 * 7 }} " + "long " * 40)[:200]
ROWS = 3000


def run(*arguments):
    """A command, in this process; what it prints."""
    out = StringIO()
    before, sys.argv = sys.argv, ["copriv", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(StringIO()):
            command.main()
    except SystemExit as stopped:
        if stopped.code:
            raise AssertionError(arguments) from stopped
    finally:
        sys.argv = before
    return out.getvalue()


def prepare(folder: Path, name: str = HOSTILE, learner: str = HOSTILE):
    """Draft, invite, join: everything up to the run."""
    public = lending_like.generate(2000, np.random.default_rng(0))
    public.write_parquet(folder / "public.parquet")
    middle = public["int_rate"].mean()
    for seed, owner in enumerate(OWNERS, start=1):
        frame = lending_like.generate(ROWS, np.random.default_rng(seed))
        frame.with_columns((2 * middle - pl.col("int_rate")).alias("int_rate")).write_parquet(
            folder / f"{owner}.parquet"
        )
    run("learner", "draft", "--public", folder / "public.parquet", "--target", "int_rate", "--owners", 3,
        "--records", ROWS, "--epsilon", 4, "--features", 4, "--rule", "newton", "--name", name, "--learner", learner,
        "--out", folder / "study.toml", "--json")  # fmt: skip
    run("learner", "init", folder / "study.toml", "--port", free_port(), "--folder", folder / "learner")
    for owner in OWNERS:
        run("learner", "invite", owner, "--folder", folder / "learner", "--out", folder / f"{owner}.invitation")
        run("owner", "join", folder / f"{owner}.invitation", "--data", folder / f"{owner}.parquet",
            "--folder", folder / owner, "--epsilon", 4, "--yes", "--json")  # fmt: skip
    change_promise(Path(OwnerWorkspace(folder / "west").enrollment.ledger), "0.5", None, None, "nobody")


class Process:
    """A command of copriv with a page; its address is in the first lines that it says."""

    def __init__(self, folder, *arguments):
        self._log = (folder / f"{arguments[0]}.err").open("w+b")
        code = "from copriv.cli.main import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments), "--dashboard", "0", "--json"],
            cwd=folder, stdout=subprocess.PIPE, stderr=self._log, env=dict(os.environ),
        )  # fmt: skip
        self.folder, self._path = folder, Path(self._log.name)

    def url(self):
        while self.process.poll() is None:
            for line in self._path.read_text().splitlines():
                if line.startswith("page: "):
                    return line.removeprefix("page: ")
            time.sleep(0.1)
        raise AssertionError(self._path.read_text())

    def said(self):
        return self._path.read_text()

    def result(self, seconds=60):
        out, _ = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, self.said()
        return json.loads(out.splitlines()[-1])

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate(timeout=30)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._log.close()


def serve_in_thread(folder):
    """An owner in a thread of this process, until its study ends."""
    thread = threading.Thread(target=serve_study, args=(OwnerWorkspace(folder), lambda _event: None), daemon=True)
    thread.start()
    return thread
