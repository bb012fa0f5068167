"""Verdicts against truth: does an owner's own model lose to the joint one, on all private records, as it was told?

Every owner is judged as `copriv verdict` does, from its own records, the public rows and the others' sizes. Then the
planned rule trains for real, and both models are measured on all private records. A pair is one owner and one training.

- decided: the verdict's interval, of ψ joint over ψ alone, excludes a tie;
- agree: of the decided pairs, those in which it says what is so;
- clear: pairs whose measured ψ differ by more than half the (logarithmic) width of that interval;
- told: of the clear pairs, those that were decided, and rightly: a verdict that always abstains tells nothing;
- by mean: of all pairs, those in which the side of 1 that the expected ratio lies on is right.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.datasets import BANKS, OTHERS, cut, make_scene, read, whole
from benchmarks.side_by_side import tell
from copriv.losses.optimum import minimise
from copriv.planning.advice import Advice, Adviser
from copriv.planning.alone import OwnModel
from copriv.planning.newton_cost import newton_costs
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec
from copriv.simulation.cost import Scene, promised

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SHAPES = ((10, 10_000), (85, 10_000), (30, 2_000), (10, 50_000), (3, 250_000))
DRAWS, RUNS = 3, 4
AIM = 0.9
HOSPITALS = next(source for source in OTHERS if source.name == "hospitals")
COLUMNS = ("pairs", "joining pays", "decided", "agree", "clear", "told", "by mean")

Judge = Callable[[OwnModel, Scenario], Advice]


@dataclass(frozen=True)
class Pair:
    """One owner and one training: what it was told, and what came of it."""

    verdict: Advice
    alone: float
    joint: float

    @property
    def pays(self) -> bool:
        """Whether the own model loses."""
        return self.joint < self.alone

    @property
    def decided(self) -> bool:
        """Whether the verdict's interval excludes a tie."""
        return self.verdict.advice != "either"

    @property
    def right(self) -> bool:
        """Whether the verdict says what is so."""
        return self.verdict.advice == ("join" if self.pays else "stay")

    @property
    def clear(self) -> bool:
        """Whether the two differ by more than the interval."""
        low, high = np.log(self.verdict.ratio)
        return bool(abs(np.log(self.joint / self.alone)) > (high - low) / 2)

    @property
    def right_by_mean(self) -> bool:
        """Whether the expected ratio lies on the right side of 1."""
        return (self.verdict.expected_ratio < 1) == self.pays


@dataclass(frozen=True)
class Trial:
    """Owners of one scene, ready to be judged, and the measured ψ of their own models."""

    scene: Scene
    judge: Judge
    own: tuple[OwnModel, ...]
    alone: tuple[float, ...]

    @classmethod
    def of(cls, scene: Scene) -> "Trial":
        """With each owner's model trained at home."""
        objective = scene.objective
        spec = TrainingSpec(
            guarantees=(),
            rule="auto",
            loss=objective.loss.name,
            threshold=objective.loss.threshold,
            regularization=objective.regularization,
            limit=objective.limit,
        )
        adviser = Adviser.of(scene.public, spec)
        own = tuple(adviser.yardstick.look_at(sample) for sample in scene.samples)
        alone = tuple(scene.psi(minimise(scene.objective, sample)) for sample in scene.samples)
        return cls(scene, adviser.judge, own, alone)

    def pairs(self, epsilon: float, runs: int, seed: int, *, sizes_known: bool = True) -> list[Pair]:
        """Every owner with every training."""
        records = self.scene.records
        whole = Scenario(records, epsilon)
        told = [whole if sizes_known else Scenario((n,) * len(records), epsilon) for n in records]
        verdicts = [self.judge(model, scenario) for model, scenario in zip(self.own, told, strict=True)]
        protection = promised(whole.guarantees[0], self.scene.public.parameters)
        joint = newton_costs(self.scene, protection, runs=runs, seed=seed)[0]
        return [
            Pair(verdict, alone, psi)
            for verdict, alone in zip(verdicts, self.alone, strict=True)
            for psi in joint.tolist()
        ]


def tally(pairs: Sequence[Pair]) -> dict[str, float]:
    """Shares; NaN where there is nothing to count."""
    decided, clear = [pair for pair in pairs if pair.decided], [pair for pair in pairs if pair.clear]
    return {
        "pairs": len(pairs),
        "joining pays": _share([pair.pays for pair in pairs]),
        "decided": len(decided) / len(pairs),
        "agree": _share([pair.right for pair in decided]),
        "clear": len(clear) / len(pairs),
        "told": _share([pair.right for pair in clear]),
        "by mean": _share([pair.right_by_mean for pair in pairs]),
    }


def _share(true: Sequence[bool]) -> float:
    return sum(true) / len(true) if true else float("nan")


def _shown(share: float) -> float | str:
    return "none" if np.isnan(share) else share


def trials(draw: int) -> Iterator[tuple[str, Trial, bool]]:
    """Every consortium of one draw, and whether owners know the others' sizes."""
    banks = read(BANKS, draw)
    if banks is not None:
        for owners, records in SHAPES:
            scene = make_scene(banks.public, cut(banks.owners[0].sample, owners, records))
            yield f"loans, {owners} × {records:,}", Trial.of(scene), True
    scene = whole(HOSPITALS, draw)
    if scene is not None:
        trial = Trial.of(scene)
        yield HOSPITALS.name, trial, True
        yield f"{HOSPITALS.name}, as if all of one's own size", trial, False


def main() -> None:
    """Print the table."""
    started = time.perf_counter()
    bars = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    found: dict[tuple[str, float], list[Pair]] = {}
    with Progress(*bars, console=Console(stderr=True)) as progress:
        task = progress.add_task("reading", total=DRAWS * (len(SHAPES) + 2) * len(EPSILONS))
        for draw in range(DRAWS):
            for name, trial, known in trials(draw):
                for epsilon in EPSILONS:
                    progress.update(task, description=f"{name}, ε = {epsilon:g}")
                    pairs = trial.pairs(epsilon, RUNS, draw, sizes_known=known)
                    found.setdefault((name, epsilon), []).extend(pairs)
                    progress.advance(task)
    if not found:
        print("verdicts: no data; set COPRIV_DATA")
        return
    cells = {(name, f"{epsilon:g}"): tally(pairs) for (name, epsilon), pairs in found.items()}
    for name in dict.fromkeys(name for name, _ in found):
        cells[name, "all"] = tally([pair for (owners, _), pairs in found.items() if owners == name for pair in pairs])
    tell(
        "verdicts",
        f"what owners are told against what is so, {DRAWS} draws of public rows and owners × {RUNS} trainings, pure ε; "
        "decided: the verdict's interval excludes a tie; agree: of the decided; clear: measured ψ differ by more than "
        "the interval; told: of the clear, decided and right; by mean: of all, right if always decided; "
        f"{time.perf_counter() - started:.0f} s",
        ["owners", "ε", *COLUMNS],
        [[name, epsilon, *(_shown(cell[column]) for column in COLUMNS)] for (name, epsilon), cell in cells.items()],
        width=130,
    )
    for (name, epsilon), cell in cells.items():
        if cell["agree"] < AIM:
            print(f"below {AIM:.0%}: {name}, ε = {epsilon}: {cell['agree']:.1%}")
