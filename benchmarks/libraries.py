"""Libraries that users would pick instead, each in an environment of its own: Opacus and diffprivlib.

Opacus: DP-SGD at every owner under its own (ε, δ) for the whole training, averaged by records after every step; from
0, and from the public model. diffprivlib: a trusted curator with all records, at a pure ε. Settings and bounds are
chosen for free on the private records, in the scripts of `peer_scripts`. Models are brought into the box.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.isolated import DidNotRunError, Environment
from benchmarks.peers import DELTA
from copriv.losses.optimum import minimise
from copriv.simulation.cost import Scene

OPACUS = Environment(
    "opacus-1.6.0",
    ("opacus==1.6.0", "torch==2.13.0+cpu; sys_platform == 'linux'", "torch==2.13.0; sys_platform != 'linux'"),
)
# Its logistic regression passes an option that scikit-learn 1.8 no longer has.
DIFFPRIVLIB = Environment("diffprivlib-0.6.6", ("diffprivlib==0.6.6", "scikit-learn>=1.6,<1.8"))
STARTS = {"zero": "Opacus δ", "public": "Opacus+ δ"}
CURATOR = "diffprivlib"
COLUMNS = (*STARTS.values(), CURATOR)
NO_NOISE = "adds no noise (bug)"
CAPTION = (
    "Opacus = DP-SGD at every owner, one step on all of its records a round, then averaged by records, from 0 and (+) "
    "from the public model; diffprivlib = a trusted curator's, pure ε"
)

Cost = float | str
Found = dict[tuple[int, float], dict[str, Cost]]


def costs(scenes: Sequence[Scene], epsilons: Sequence[float], *, runs: int, seed: int) -> Found:
    """ψ of every library for each scene's place and each ε, averaged over runs, or why there is none."""
    found: Found = {(place, epsilon): {} for place in range(len(scenes)) for epsilon in epsilons}
    with tempfile.TemporaryDirectory() as folder:
        questions = [_write(scene, Path(folder), place) for place, scene in enumerate(scenes)]
        asked = [{**question, "epsilons": list(epsilons), "runs": runs, "seed": seed} for question in questions]
        (Path(folder) / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
        for environment, script, columns in (
            (OPACUS, "opacus_sgd.py", tuple(STARTS.values())),
            (DIFFPRIVLIB, "diffprivlib_fit.py", (CURATOR,)),
        ):
            try:
                answers = environment.ask(script, Path(folder))
            except DidNotRunError as reason:
                for cell in found.values():
                    cell.update(dict.fromkeys(columns, f"did not run: {reason}"))
                continue
            for place, (scene, told) in enumerate(zip(scenes, answers, strict=True)):
                for each in told:
                    found[place, each["epsilon"]][STARTS.get(each.get("start"), CURATOR)] = judge(scene, each)
    return found


def _write(scene: Scene, folder: Path, place: int) -> dict[str, Any]:
    """The records as a file of arrays, and what is to be known about them."""
    name = f"{place}.npz"
    start = minimise(scene.objective, scene.public)
    np.savez(folder / name, rows=scene.joint.columns.T, targets=scene.joint.targets, public=start)
    objective = scene.objective
    return {
        "file": name,
        "records": list(scene.records),
        "loss": objective.loss.name,
        "regularization": objective.regularization,
        "limit": objective.limit,
        "delta": DELTA,
    }


def judge(scene: Scene, answer: Mapping[str, Any]) -> Cost:
    """Mean ψ over runs; of several settings in each run, those of the one that does best on average."""
    if answer.get("same") or answer.get("silent"):
        return NO_NOISE
    runs = [[settings] if isinstance(settings[0], float) else settings for settings in answer["models"]]
    limit = scene.objective.limit
    psi = [[scene.psi(np.clip(np.nan_to_num(np.asarray(model)), -limit, limit)) for model in run] for run in runs]
    return float(np.min(np.mean(psi, axis=0)))


def average(draws: Sequence[Cost]) -> Cost:
    """The mean, or what kept one of them from being a number.

    >>> average([1.0, 3.0]), average([1.0, "did not run: why"])
    (2.0, 'did not run: why')
    """
    said = [cost for cost in draws if isinstance(cost, str)]
    return said[0] if said else float(np.mean([float(cost) for cost in draws]))


def installed() -> str:
    """How long it took to install each library, when it was."""
    told = []
    for environment in (OPACUS, DIFFPRIVLIB):
        try:
            told.append(f"{environment.name}: {environment.make():.0f} s")
        except DidNotRunError as reason:
            told.append(f"{environment.name}: {reason}")
    return ", ".join(told)
