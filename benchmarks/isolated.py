"""Software that must not enter the project's environment: one of its own in the user's cache, asked through files.

A script gets a folder with `questions.json` and the arrays it names, and leaves `answers.json` there. What cannot be
installed or run is an error that says why, for the table to repeat.
"""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "peer_scripts"
INSTALL_LIMIT, RUN_LIMIT = 900.0, 600.0


class DidNotRunError(Exception):
    """Why something could not run here."""


@dataclass(frozen=True)
class Environment:
    """A folder name and what pip puts there, from the registries it is configured for."""

    name: str
    requirements: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """In the user's cache."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "copriv" / self.name

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    def make(self) -> float:
        """Install on the first call; how many seconds that took then."""
        ready = self.folder / ".ready"
        if not ready.exists():
            print(f"installing {self.name} with pip into {self.folder} …", file=sys.stderr, flush=True)
            started = time.perf_counter()
            _run([sys.executable, "-m", "venv", "--clear", str(self.folder)], INSTALL_LIMIT)
            _run([self.python, "-m", "pip", "install", "--quiet", *self.requirements], INSTALL_LIMIT)
            ready.write_text(f"{time.perf_counter() - started:.0f}", encoding="utf-8")
        return float(ready.read_text(encoding="utf-8") or 0)

    def ask(self, script: str, folder: Path) -> Any:  # noqa: ANN401 - whatever the script answers
        """Run a script of `peer_scripts` on a folder."""
        self.make()
        _run([self.python, str(SCRIPTS / script), str(folder)], RUN_LIMIT)
        return json.loads((folder / "answers.json").read_text(encoding="utf-8"))


def _run(command: list[str], limit: float) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    name = Path(command[2] if command[1] == "-m" else command[1]).name
    try:
        done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=limit, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise DidNotRunError(f"{name} took longer than {limit:.0f} s") from None
    except OSError as error:
        raise DidNotRunError(f"{name}: {type(error).__name__}") from error
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        raise DidNotRunError(f"{name} ended with code {done.returncode}{last_error(done.stderr)}")


def last_error(text: str) -> str:
    """The last exception that a log names, for a table that tells nothing of this machine."""
    errors = re.findall(
        r"^(?:ERROR: )?((?:\w+\.)*\w+(?:Error|Exception)\b|No matching distribution.*)", text, re.MULTILINE
    )
    return f" ({errors[-1]})" if errors else ""
