import sys
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
