"""Every setting worth a try, and what it costs on private records: the brute force that a plan is compared with.

Public Newton and averaged steps are run on the records with real clipping, Algorithm 1 on second moments at a clip that
hardly any gradient exceeds. Averaged steps have a quick look besides: second moments with the noise of their clip and
without its bias, which favours them. A clip is named by the share of public gradients that it spares, or by how many
times the longest of them it is, so that one setting means the same for every draw of public rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from benchmarks.peers import Table, moments
from copriv.entropy import seeded
from copriv.losses.optimum import minimise
from copriv.losses.passes import gradient_norms
from copriv.privacy.guarantee import Guarantee
from copriv.rules.averaged import AveragedRule
from copriv.rules.newton import NewtonRule
from copriv.rules.paper import PaperRule
from copriv.rules.rule import AnyRule
from copriv.schedule.poisson import likely_answers
from copriv.simulation.averaged import simulate_averaged
from copriv.simulation.cost import Protection, Scene, promised, simulate_rule
from copriv.simulation.quadratic import Noise, NoiseKind, simulate
from copriv.vectors import FloatArray

State = TypeVar("State")
CLIPS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995, 1.0, 1.25, 1.6, 2.5)
NEWTON_ANSWERS = (1, 2, 3)
ROUGH_CLIPS = (0.8, 0.95, 1.0)
STEPS = tuple(0.7 * 0.33**k for k in range(5))
ROUNDS = (1, 4, 16, 64)
HORIZONS = (100, 300, 1000)
# Runs on second moments cost next to nothing beside runs on records.
CHEAP = 4


@dataclass(frozen=True)
class Setting:
    """One point of the grid.

    Args:
        rule: how answers become a model.
        rounds: answers of each owner, or meetings of Algorithm 1.
        clip: up to 1, the share of public gradients that it spares; beyond, in units of the longest.
        step: in units of the largest stable one; 0 if the rule has none.
    """

    rule: str
    rounds: int = 1
    clip: float = 1.0
    step: float = 0.0

    def __str__(self) -> str:
        clip = f"{self.clip:.1%}" if self.clip <= 1 else f"{self.clip:g} × longest"
        step = f", step {self.step:.2g}" if self.step else ""
        return self.rule if self.rule == "statistics" else f"{self.rule}, {self.rounds}, {clip}{step}"


def settings() -> Iterator[Setting]:
    """The whole grid."""
    yield Setting("statistics")
    for clip in CLIPS:
        yield from (Setting("newton", answers, clip) for answers in NEWTON_ANSWERS)
    for step in STEPS:
        yield from (Setting("averaged", rounds, clip, step) for rounds in ROUNDS for clip in ROUGH_CLIPS)
        yield from (Setting("paper", horizon, 1.0, step) for horizon in HORIZONS)


@dataclass(frozen=True)
class Ground:
    """Private records, the public rows of one draw, and the guarantee that everybody gives."""

    table: Table
    start: FloatArray
    guarantee: Guarantee
    units: dict[tuple[int, ...], FloatArray] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, guarantee: Guarantee) -> "Ground":
        """With the public model."""
        return cls(table, minimise(table.scene.objective, table.scene.public), guarantee)

    @property
    def scene(self) -> Scene:
        """Owners' records and public rows."""
        return self.table.scene

    @property
    def protection(self) -> Protection:
        """The noise of the guarantee."""
        return promised(self.guarantee, self.scene.public.parameters)

    def look(self, setting: Setting, runs: int, seed: int) -> FloatArray:
        """ψ in every run, for averaged steps as if no gradient were clipped."""
        if setting.rule == "averaged":
            rule, noise = self._averaged(setting), self._noise(setting)
            return simulate_averaged(rule, self.table.parts, noise, runs=CHEAP * runs, seed=seed).psi
        return self.measure(setting, runs, seed)

    def measure(self, setting: Setting, runs: int, seed: int) -> FloatArray:
        """ψ on all private records in every run."""
        if setting.rule == "newton":
            return self.newton(setting.rounds, self.clip(setting), runs, seed)
        if setting.rule == "averaged":
            return self.play(self._averaged(setting), self.clip(setting), setting.rounds, runs, seed)
        if setting.rule == "statistics":
            epsilon, delta = self.guarantee.epsilon, self.guarantee.delta
            generator = seeded(seed, "moments")
            return np.asarray([moments(self.table, epsilon, delta, runs=CHEAP * runs, generator=generator)])
        rule, noise = self._paper(setting), self._noise(setting)
        runs = CHEAP * runs
        return simulate(rule, self.table.parts, noise, horizon=setting.rounds, runs=runs, seed=seed).psi[:, -1]

    def clip(self, setting: Setting) -> float:
        """In numbers: at the public model, and for rules that start at 0, there as well."""
        scene = self.scene
        places = (self.start,) if setting.rule == "newton" else (self.start, 0 * self.start)
        lengths = [gradient_norms(scene.objective.loss, scene.public, at, self.protection.norm) for at in places]
        return float(np.quantile(lengths, min(setting.clip, 1.0)) * max(setting.clip, 1.0))

    def newton(self, answers: int, clip: float, runs: int, seed: int) -> FloatArray:
        """ψ of public Newton at any clip."""
        scene, protection = self.scene, self.protection
        noise = protection.of(scene.records, clip, answers)
        rule = NewtonRule.of(
            scene.public,
            scene.objective,
            records=scene.records,
            noise_std=[each.noise_std for each in noise],
            clip=clip,
            norm=protection.norm,
            start=self.start,
        )
        return self.play(rule, clip, answers, runs, seed)

    def play(self, rule: AnyRule[State], clip: float, answers: int, runs: int, seed: int) -> FloatArray:
        """ψ of a rule in every run."""
        states = simulate_rule(rule, self.scene, self.protection, clip=clip, answers=answers, runs=runs, seed=seed)
        return np.asarray([self.table.psi(rule.model(state)) for state in states])

    def _step(self, setting: Setting) -> float:
        sizes = self.scene.records
        return setting.step * 2 * sum(sizes) / (max(sizes) * len(sizes) * self.table.steepest)

    def _averaged(self, setting: Setting) -> AveragedRule:
        sizes, objective = self.scene.records, self.scene.objective
        shape = self._step(setting), setting.rounds * len(sizes), objective.regularization, objective.limit
        return AveragedRule(self.scene.public.parameters, sizes, *shape)

    def _paper(self, setting: Setting) -> PaperRule:
        sizes, objective = self.scene.records, self.scene.objective
        shape = (1 / len(sizes),) * len(sizes), self._step(setting), objective.regularization, objective.limit
        return PaperRule(self.scene.public.parameters, sizes, *shape)

    def _noise(self, setting: Setting) -> Noise:
        """Of owners who answer as often as they are likely to be met; averaged steps meet each once a round."""
        sizes, p = self.scene.records, self.scene.public.parameters
        most = setting.rounds if setting.rule == "averaged" else likely_answers(1 / len(sizes), setting.rounds)
        caps = (most,) * len(sizes)
        if caps not in self.units:
            self.units[caps] = np.asarray([each.noise_std for each in promised(self.guarantee, p).of(sizes, 1.0, most)])
        kind: NoiseKind = "laplace" if self.guarantee.pure else "gaussian"
        return Noise(kind, self.clip(setting) * self.units[caps], np.asarray(caps))
