import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from copriv.cli import main as command


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def copriv(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder, as a user would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("COPRIV_TRACEBACK", raising=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["copriv", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            command.main()
        captured = capsys.readouterr()
        return Outcome(int(stopped.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def copriv_once():
    """Run the command line in a folder that outlives a test, for what several tests look at."""

    def call(folder, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(folder)
            patch.setenv("COLUMNS", "200")
            patch.setattr(sys, "argv", ["copriv", *map(str, arguments)])
            with pytest.raises(SystemExit) as stopped:
                command.main()
        return Outcome(int(stopped.value.code or 0), out.getvalue(), err.getvalue())

    return call
