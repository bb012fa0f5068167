"""A backup restored between two studies of one learner: what the learner kept of the first one tells."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from copriv.cli import main as command
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.records import lending_like
from copriv.runtime.rehearsal import free_port

PATIENCE = 600


class Machines:
    """A learner and a bank, each with a registry of its own, as on machines of their own."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, who, *words):
        """A command on one of the machines, running."""
        command = [Path(sys.executable).with_name("copriv"), *map(str, words)]
        place = os.environ | {"COPRIV_REGISTRY": str(self.folder / f"registry-{who}")}
        return subprocess.Popen(command, cwd=self.folder, env=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, who, *words):
        """A command on one of the machines, that succeeds; in this process, because that is quicker."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.setenv("COPRIV_REGISTRY", str(self.folder / f"registry-{who}"))
            patch.setattr(sys, "argv", ["copriv", *map(str, words)])
            with pytest.raises(SystemExit) as stopped:
                command.main()
        assert not stopped.value.code

    def prepare(self, study):
        """A study of one answer, from a learner's folder of its own, and the bank has joined."""
        asked = ("--owners", 1, "--records", 300, "--epsilon", 1, "--answers", 1, "--name", study)
        rows = ("--public", "public.parquet", "--target", "int_rate", "--features", 10)
        self.run("learner", "learner", "draft", *rows, *asked, "--out", f"{study}.toml")
        self.run("learner", "learner", "init", f"{study}.toml", "--folder", f"learner-{study}", "--port", free_port())
        self.run("learner", "learner", "invite", "bank", "--folder", f"learner-{study}", "--out", f"{study}.invitation")
        joining = ("--data", "bank.parquet", "--folder", f"home-{study}", "--yes")
        self.run("bank", "owner", "join", f"{study}.invitation", *joining)


@pytest.fixture
def machines(tmp_path):
    """Records whose ledger has a budget for two studies."""
    for seed, name, rows in ((0, "public", 1000), (1, "bank", 300)):
        lending_like.generate(rows, np.random.default_rng(seed)).write_parquet(tmp_path / f"{name}.parquet")
    machines = Machines(tmp_path)
    data = ("--owner", "bank", "--data", "bank.parquet", "--epsilon", 2)
    machines.run("bank", "ledger", "init", "bank.sqlite", *data)
    return machines


def _spent(folder):
    with closing(SqliteLedger(folder / "bank.sqlite")) as ledger:
        return ledger.state().spent


def test_a_backup_restored_between_two_studies_is_noticed(machines, tmp_path):
    """The bank restores its whole machine, its registry with the high-water mark included."""
    machines.prepare("first")
    kept = ("bank.sqlite", "registry-bank")
    (tmp_path / "backup").mkdir()
    shutil.copy(tmp_path / "bank.sqlite", tmp_path / "backup")
    shutil.copytree(tmp_path / "registry-bank", tmp_path / "backup" / "registry-bank")
    serving = machines.start("bank", "owner", "serve", "--folder", "home-first")
    machines.run("learner", "learner", "run", "--folder", "learner-first")
    serving.communicate(timeout=PATIENCE)
    assert _spent(tmp_path) == 10**9

    shutil.rmtree(tmp_path / "registry-bank")
    for remains in tmp_path.glob("bank.sqlite*"):
        remains.unlink()
    for name in kept:
        (tmp_path / "backup" / name).rename(tmp_path / name)
    assert _spent(tmp_path) == 0

    machines.prepare("second")
    learner = machines.start("learner", "learner", "run", "--folder", "learner-second")
    serving = machines.start("bank", "owner", "serve", "--folder", "home-second")
    try:
        words, _ = serving.communicate(timeout=PATIENCE)
    finally:
        learner.send_signal(signal.SIGINT)
        learner.communicate(timeout=PATIENCE)
    assert serving.returncode == 2
    assert "receipt" in words.decode()
    assert _spent(tmp_path) == 0
