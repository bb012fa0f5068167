"""How far public Newton's forecast is from the limits, on the scenes of the cost benchmark; nobody is asked."""

from benchmarks.datasets import BANKS, OTHERS, REGULARIZATION, scenes_of
from benchmarks.side_by_side import tell
from copriv.forecast.limits import find_limits, least_with_noise, times
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.staircase import Body, radial_variance
from copriv.losses.choose import choose
from copriv.losses.optimum import minimise_freely
from copriv.planning.outline import outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import work_out
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene

EPSILONS = (0.1, 1.0, 10.0)
# Where Laplace noise over the best, and the forecast over one noise for all, should lie.
AIMS = {0.1: ((1.0, 1.2), (1.2, 15.0)), 1.0: ((1.0, 1.2), (2.5, 42.0)), 10.0: ((1.2, 2.3), (7.0, 118.0))}
COLUMNS = [
    "data",
    "ε",
    "ψ forecast",
    "× best",
    "Laplace × best",
    "× one noise",
    "ψ information",
    "binds for",
    "best noise",
]


def rows_of(name: str, scene: Scene) -> list[list[object]]:
    """One scene under every ε."""
    model = minimise_freely(choose("squared"), REGULARIZATION, scene.public)
    evidence = PublicEvidence(scene.public, scene.objective, model)
    rows: list[list[object]] = []
    for epsilon in EPSILONS:
        scenario = Scenario(scene.records, epsilon)
        spec = TrainingSpec(guarantees=(Guarantee.of(epsilon),), regularization=REGULARIZATION)
        chosen = work_out(outline_of(scenario, evidence, spec), "newton")
        found = find_limits(chosen.setting, evidence)
        variance = radial_variance(Body.CROSS, scene.public.parameters, epsilon)
        laplace = least_with_noise(chosen.setting, evidence, Body.CROSS, (variance,) * scenario.owners)
        psi, bound = chosen.relative_fitness, f"{found.binding} of {scenario.owners}"
        ratios = times(psi, found.best_noise), times(laplace, found.best_noise), times(psi, found.one_noise)
        rows.append([name, epsilon, psi, *ratios, found.information, bound, found.body])
    return rows


def main() -> None:
    """Print the table, and name what lies elsewhere than it should."""
    rows = [row for source in (BANKS, *OTHERS) for name, scene in scenes_of(source, 0) for row in rows_of(name, scene)]
    compared = (
        "ψ of public Newton as forecast, pure ε, over the least with the best noise and with one noise for all; "
        "Laplace: the least ψ with Laplace noise, without what a wrong Hessian costs"
    )
    tell("limits", compared, COLUMNS, rows, width=130)
    for name, epsilon, _, *ratios in ((*row[:3], *row[4:6]) for row in rows):
        for ratio, (low, high) in zip(ratios, AIMS[float(str(epsilon))], strict=True):
            if not low <= float(str(ratio)) <= high:
                print(f"outside {low} to {high}: {name}, ε = {epsilon}: {ratio:.3g}")
