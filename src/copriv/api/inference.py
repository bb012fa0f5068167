"""`inference`: coefficients of a run, not drawn towards the public rows, with intervals or why there are none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from copriv.report import inference as kept
from copriv.report.inference_table import forest, inference_html
from copriv.report.kept_run import find_run


@dataclass(frozen=True, repr=False)
class Inference:
    """What owners' answers say of each coefficient; made by `run.inference()`, or by `inference` from a run folder.

    The model of a run is drawn towards the public rows where answers are noisy, which makes predictions better and
    coefficients too small. These are not. They cost nothing: answers that were given are looked at once more.

    Args:
        told: all figures, as inference.json has them.

    >>> Inference(kept.Inference(none="nobody has answered")).none
    'nobody has answered'
    """

    told: kept.Inference

    @property
    def none(self) -> str | None:
        """Why there are no intervals; None if there are."""
        return self.told.none or None

    @property
    def population(self) -> str:
        """Of what the coefficients are."""
        return self.told.population

    def to_polars(self) -> pl.DataFrame:
        """One row a coefficient: estimate, standard error and its parts, interval and p-value.

        `sampling`, `privacy`, `between` (owners) and `public` are standard errors too, and their squares add up. Of
        labels `odds_ratio`, of counts and amounts `rate_ratio`, with its own interval follows.
        """
        rows = [msgspec.to_builtins(each) for each in self.told.coefficients]
        table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high", "p_value"), pl.Float64))
        if not self.told.ratio or table.is_empty():
            return table
        kind = "odds" if self.told.log_odds else "rate"
        ratios = {f"{kind}_ratio": "estimate", f"{kind}_low": "low", f"{kind}_high": "high"}
        return table.with_columns(pl.col(name).exp().alias(ratio) for ratio, name in ratios.items())

    def meta(self) -> pl.DataFrame:
        """The same coefficients as a meta-analysis of owners' own estimates: fixed and random effects, τ² and I²."""
        return pl.DataFrame(
            [
                {"name": each.name}
                | _named("fixed", each.fixed)
                | _named("random", each.random)
                | {"tau_squared": each.tau_squared, "i_squared": each.i_squared, "p": each.heterogeneity_p}
                for each in self.told.meta
            ]
        )

    def owners(self, name: str) -> pl.DataFrame:
        """Each owner's own estimate of one coefficient, by one Newton step, with noise and sampling in its error.

        Raises:
            BadInput: there is no such coefficient.
        """
        place = self.told.place(name)
        return pl.DataFrame(
            [
                {
                    "owner": each.owner,
                    "records": each.records,
                    "estimate": each.estimates[place],
                    "standard_error": each.standard_errors[place],
                }
                for each in self.told.owners
            ]
        )

    def forest(self, name: str) -> str:
        """A forest plot of one coefficient as SVG: each owner's estimate, and both ways to pool them.

        Raises:
            BadInput: there is no such coefficient.
        """
        return forest(self.told, name)

    def to_dict(self) -> dict[str, Any]:
        """Everything that inference.json holds."""
        found: dict[str, Any] = msgspec.to_builtins(self.told)
        return found

    def __repr__(self) -> str:
        count, with_interval = len(self.told.coefficients), sum(one.low is not None for one in self.told.coefficients)
        why = f", no interval: {self.told.none}" if self.told.none else ""
        return f"Inference({count} coefficients, {with_interval} with intervals{why})"

    def _repr_html_(self) -> str:
        return inference_html(self.told)


def inference(run: str | Path) -> Inference:
    """The coefficients of a finished run: a folder of `copriv train`, or of a learner.

    Raises:
        BadInput: the run is not finished, or of an earlier version.

    >>> inference("nowhere")
    Traceback (most recent call last):
    copriv.errors.BadInput: nowhere holds no finished run (give a run folder of `copriv train`, or a learner's folder \
after `copriv learner run`)
    """
    return Inference(kept.read_inference(find_run(Path(run)).folder / kept.INFERENCE))


def _named(kind: str, pooled: tuple[float, float, float]) -> dict[str, float]:
    estimate, low, high = pooled
    return {kind: estimate, f"{kind}_low": low, f"{kind}_high": high if math.isfinite(high) else math.nan}
