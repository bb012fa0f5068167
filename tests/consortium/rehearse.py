"""`make consortium`: what docs/deploy.md says, word by word, and then whether its model is the right one.

1. The shell block of docs/deploy.md runs in an empty folder: broker, learner and ten owner processes, mutual TLS.
2. The answers in the ten ledgers, absorbed in this process in the order of the learner's log, give the same model.
3. The same owners once more with Algorithm 1 and a thousand meetings, and with processes that add no noise: the
   recorded schedule, replayed in this process from the records, gives the same model.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import replay

from copriv.owner.workspace import OwnerWorkspace
from copriv.runtime.rehearsal import free_port

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs" / "deploy.md"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp(prefix="copriv-consortium-"))
    folder.mkdir(exist_ok=True)
    os.environ["COPRIV_REGISTRY"] = str(folder / "registry")
    _tell(f"docs/deploy.md in {folder}")
    _run_document(folder)
    learner, homes = folder / "learner", _homes(folder)
    _tell("the answers in the ledgers, absorbed in one process")
    model, used, _answers = replay.from_ledgers(learner, homes)
    _require(np.array_equal(model, replay.model_of(learner)), "the ledgers' answers give another model")
    _require(len(used) == len(set(used)), "an answer was absorbed twice")
    _tell(f"identical, bit for bit: {len(used)} answers of {len(homes)} owners")
    _tell("Algorithm 1, a thousand meetings without noise, over the network and in one process")
    quiet, silent = _run_without_noise(folder, homes)
    _require(np.array_equal(replay.without_noise(quiet, silent), replay.model_of(quiet)), "the models differ")
    _tell("identical, bit for bit: the network changes nothing")


def _run_document(folder):
    block = re.search(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL).group(1)
    environment = os.environ | {"PORT": str(free_port()), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["/bin/bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, check=True)


def _run_without_noise(folder, homes):
    """The same owners and records in a folder of their own, served by processes that add no noise; on no record."""
    os.environ["COPRIV_REGISTRY"] = str(folder / "quiet registry")
    learner, study, silent = folder / "quiet", folder / "quiet.toml", {}
    draft = ("--public", folder / "public.parquet", "--target", "int_rate", "--rule", "paper", "--name", "quiet")
    _copriv("learner", "draft", *draft, "--owners", len(homes), "--records", 2000, "--out", study)
    _copriv("learner", "init", study, "--folder", learner, "--port", free_port())
    for name, home in homes.items():
        invitation, quiet = folder / f"quiet-{name}.invitation", folder / f"quiet-{name}"
        _copriv("learner", "invite", name, "--folder", learner, "--out", invitation)
        data = OwnerWorkspace(home).enrollment.data
        _copriv("owner", "join", invitation, "--data", data, "--folder", quiet, "--yes", quietly=True)
        silent[name] = quiet
    processes = [
        subprocess.Popen([sys.executable, HERE / "silent_owner.py", quiet], stderr=subprocess.DEVNULL)
        for quiet in silent.values()
    ]
    try:
        _copriv("learner", "run", "--folder", learner)
        for process in processes:
            _require(process.wait(timeout=60) == 0, "an owner did not end well")
    finally:
        for process in processes:
            process.kill()
    return learner, silent


def _homes(folder):
    found = [path.parent for path in sorted(folder.glob("*/engagement.json"))]
    return {OwnerWorkspace(home).enrollment.owner: home for home in found}


def _copriv(*words, quietly=False):
    output = subprocess.DEVNULL if quietly else None
    command = [Path(sys.executable).parent / "copriv", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=output)


def _require(truth, words):
    if not truth:
        sys.exit(f"FAILED: {words}")


def _tell(words):
    sys.stdout.write(f"== {words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
