"""What each part of public Newton is worth: ψ with the part taken away, everything else the same."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.datasets import LATE, scenes, whole
from benchmarks.side_by_side import tell
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradient
from copriv.planning.newton_cost import newton_prediction
from copriv.privacy.guarantee import Guarantee
from copriv.rules.newton import NewtonRule, NewtonState
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.vectors import FloatArray, IntArray

EPSILONS = (0.1, 1.0, 10.0)
DRAWS, RUNS = 2, 25


class Everywhere(NewtonRule):
    """Everyone is asked at the present model."""

    def question(self, state: NewtonState, owner: int) -> FloatArray:  # noqa: ARG002
        """The present model."""
        return state.central


class AtStart(NewtonRule):
    """Everyone is always asked at the public model."""

    def question(self, state: NewtonState, owner: int) -> FloatArray:  # noqa: ARG002
        """The public model."""
        return self.outlook.start


class Unweighed(NewtonRule):
    """Answers count in full, whatever their noise; silent owners are like those heard from."""

    def _estimate(
        self, owners: IntArray, questions: FloatArray, deviations: FloatArray, central: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        evidence = self._gather(owners, questions, deviations, central)
        mean = evidence.records @ evidence.deviations / np.sum(evidence.records)
        central = self._tilt(self.outlook.restore(mean, 0.0))
        return central, central


class Uncorrected(NewtonRule):
    """Clipped answers are taken for full gradients."""

    def absorb(self, state: NewtonState, owner: int, answer: FloatArray) -> NewtonState:
        """As if the public rows had not been clipped either."""
        asked = self.question(state, owner)
        ridge = 2 * self.objective.regularization * asked
        full = self.objective.gradient(self.public, asked) - ridge
        clipped = clipped_average_gradient(self.objective.loss, self.public, asked, self.clip, self.norm)
        return NewtonRule.absorb(self, state, owner, answer - full + clipped)


def same(rule: NewtonRule) -> NewtonRule:
    """Nothing taken away."""
    return rule


def plain(rule: NewtonRule) -> NewtonRule:
    """The clip is corrected by what it takes from the public rows, B = I."""
    return replace(rule, outlook=replace(rule.outlook, sampled=rule.outlook.basis))


def turn_into(kind: type[NewtonRule]) -> Callable[[NewtonRule], NewtonRule]:
    """The same rule of another kind."""
    return lambda rule: kind(
        rule.public, rule.objective, rule.records, rule.noise_std, rule.clip, rule.norm, rule.outlook
    )


VARIANTS = {
    "ours": same,
    "B = I": plain,
    "clip bias left": lambda rule: turn_into(Uncorrected)(plain(rule)),
    "not weighed": turn_into(Unweighed),
    "asked at present": turn_into(Everywhere),
    "asked at start": turn_into(AtStart),
}


def measure(scene: Scene, epsilon: float, seed: int) -> list[float]:
    """ψ of every variant with the clip and K that ours chooses, of ours with K = 2, and of the public model."""
    start = minimise(scene.objective, scene.public)
    costs = [_cost(scene, epsilon, seed, start, vary, (1, 2)) for vary in VARIANTS.values()]
    return [*costs, _cost(scene, epsilon, seed, start, same, (2,)), scene.psi(start)]


def _cost(
    scene: Scene,
    epsilon: float,
    seed: int,
    start: FloatArray,
    vary: Callable[[NewtonRule], NewtonRule],
    choices: tuple[int, ...],
) -> float:
    protection = promised(Guarantee.of(epsilon), scene.public.parameters)
    plan = newton_prediction(scene, protection, start, choices)
    rule = NewtonRule.of(
        scene.public,
        scene.objective,
        records=scene.records,
        noise_std=[noise.noise_std for noise in protection.of(scene.records, plan.clip, plan.answers)],
        clip=plan.clip,
        norm=protection.norm,
        start=start,
    )
    twin = vary(rule)
    states = simulate_rule(twin, scene, protection, clip=plan.clip, answers=plan.answers, runs=RUNS, seed=seed)
    return float(np.mean([scene.psi(twin.model(state)) for state in states]))


def main() -> None:
    """Print the table."""
    found: dict[tuple[str, float], list[list[float]]] = {}
    for draw in range(DRAWS):
        late = whole(LATE, draw)
        for name, scene in [*scenes(draw), *([] if late is None else [(LATE.name, late)])]:
            for epsilon in EPSILONS:
                found.setdefault((name, epsilon), []).append(measure(scene, epsilon, draw))
    tell(
        "ablation",
        f"ψ of public Newton, pure ε, mean of {DRAWS} draws of public rows × {RUNS} runs; every column but the first "
        "lacks one part and is otherwise the same",
        ["data", "ε", *VARIANTS, "K = 2", "public"],
        [[name, f"{epsilon:g}", *np.mean(costs, axis=0).tolist()] for (name, epsilon), costs in found.items()],
        width=150,
    )
