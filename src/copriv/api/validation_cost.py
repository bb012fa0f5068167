"""`validation_cost`: what it takes to know a figure of the model so well, before anything is spent."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

import msgspec

from copriv.api.plan_settings import PlanSettings, read_public
from copriv.api.settings import require_known
from copriv.api.tables import Table
from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.forecast.validation import Figure
from copriv.forecast.validation_cost import ExpectedAnswers, draw_grid, epsilon_for, noise_at
from copriv.learner.validation import FIGURES
from copriv.losses.validation import grid_of, shape_for
from copriv.planning.scenario import Scenario
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.records.held_back import MOST

# An ε at which noise counts for nothing.
_PLENTY = 1e3


class ValidationCost(msgspec.Struct, frozen=True):
    """What a figure costs; ε is for any one record (replace one).

    Args:
        figure: its name.
        within: half of the 95 % interval's width that is wanted, for the population.
        epsilon: what one answer costs each owner; None if records are too few at any ε.
        promised: the largest ε that the owners of the scenario promise, of which this is a part.
        sampling: how wide the interval is without any noise: no ε gets below.
        held_back: the share of records that is held back.
        records: how many that should be, over all owners.
        at_promise: every figure with its interval, if each owner spent all of the least ε that is promised.

    >>> ValidationCost("auc", 0.02, 0.3, 1.0, 0.0, 0.01, 0.2, 4000, {}).words  # doctest: +ELLIPSIS
    'AUC ± 0.02 (95 %) on 4,000 held-back records (0.2 of all) costs each owner ε = 0.3, δ = 0 for any one record ...
    """

    figure: str
    within: float
    epsilon: float | None
    promised: float
    delta: float
    sampling: float | None
    held_back: float
    records: int
    at_promise: dict[str, Figure]
    unit: str = UNIT
    adjacency: str = ADJACENCY

    @property
    def words(self) -> str:
        """The same in a sentence."""
        name = FIGURES[self.figure]
        on = f"on {self.records:,} held-back records ({self.held_back:g} of all)"
        if self.epsilon is None:
            width = "has no end" if self.sampling is None else f"is ± {self.sampling:.3g}"
            return f"{name} ± {self.within:g} {on} is out of reach: by sampling alone, its 95 % interval {width}."
        part = self.epsilon / self.promised
        told = f"--validate {part:.2g}" if part < 1 else f"more than the ε = {self.promised:g} that is promised"
        return (
            f"{name} ± {self.within:g} (95 %) {on} costs each owner ε = {self.epsilon:.3g}, δ = {self.delta:g} for any "
            f"one {self.unit} ({self.adjacency}): {told}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def validation_cost(
    public: Table,
    scenario: Scenario,
    figure: str,
    within: float,
    *,
    target: str | None = None,
    **settings: Unpack[PlanSettings],
) -> ValidationCost:
    """What it costs each owner that a figure of the model is known to ± `within`. Nobody is asked, nothing is spent.

    Args:
        public: public rows: a path, or a polars, pandas or Arrow table.
        scenario: who would train, and what each promises.
        figure: auc, log_loss, calibration_slope or observed_expected of labels; r2 or rmse of numbers.
        within: half of the 95 % interval's width.
        target: the column to predict.
        **settings: see `PlanSettings`; `held_back` is the share of records that is held back (0.2).

    Raises:
        BadInput: there is no such figure of this target, or a setting makes no sense.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 40, "rate": [9.5, 8.2, 7.4, 5.1, 8.0] * 40})
    >>> found = validation_cost(table, Scenario([2000] * 4), "rmse", 0.5, target="rate", features=1)
    >>> found.records, 0 < found.epsilon < 1
    (1600, True)
    """
    require_known(settings, PlanSettings, "validation_cost")
    share = settings.get("held_back", 0.2)
    if not 0 < within < float("inf") or not 0 < share <= MOST:
        raise BadInput(
            f"± {within:g} on a share of {share:g}", remedy=f"give numbers above 0, a share up to {MOST}", value=within
        )
    known = read_public(public, target, settings, scenario)
    shape, evidence = shape_for(known.evidence.objective.loss.name), known.evidence
    sizes = [max(round(size * share), 1) for size in scenario.records]
    unit = known.dictionary.target.scale if shape == "numbers" else 1.0
    grid = grid_of(shape, draw_grid(shape, evidence.sample, evidence.start))
    expected = ExpectedAnswers.of(grid, evidence.sample, evidence.start, sizes, unit, partial(seeded, 0, "validation"))
    least = noise_at(grid, min(scenario.epsilons), scenario.delta)
    at_promise = expected.figures([least] * len(sizes))
    if figure not in at_promise:
        raise BadInput(f"the figure {figure!r}", remedy=f"choose one of {', '.join(at_promise)}", value=figure)
    sampling = expected.figures([noise_at(grid, _PLENTY)] * len(sizes))[figure].half_width
    return ValidationCost(
        figure=figure,
        within=within,
        epsilon=epsilon_for(expected, figure, within, scenario.delta),
        promised=max(scenario.epsilons),
        delta=scenario.delta,
        sampling=sampling if sampling < float("inf") else None,
        held_back=share,
        records=sum(sizes),
        at_promise=at_promise,
    )


def parse_wanted(text: str) -> tuple[str, float]:
    """A figure and how well it is to be known.

    >>> parse_wanted("auc=0.02")
    ('auc', 0.02)
    """
    name, _, number = text.partition("=")
    try:
        return name.strip().lower(), float(number)
    except ValueError as problem:
        raise BadInput(f"--within {text}", remedy="write it like auc=0.02", value=text) from problem
