"""What the models of a study should be worth on new records, after the study: from public rows and a ψ alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from copriv.errors import CoprivError
from copriv.losses.metrics import Metrics
from copriv.losses.sample import Sample
from copriv.planning.expected_quality import ExpectedQuality, cross_validate, expect_quality, folds_of_sample
from copriv.planning.few_rows import are_too_few
from copriv.planning.outline import evidence_for
from copriv.protocol.terms import Terms
from copriv.records.target import Target

# Models longer than this are not cross-validated only to be reported.
MOST_PARAMETERS = 200


class KnownPublic(NamedTuple):
    """Figures of the public model on rows that it has not seen, and its ψ if that was counted."""

    figures: Metrics
    distance: float | None


def quality_under_terms(
    terms: Terms,
    public: Sample | None,
    target: Target,
    sizes: Sequence[int],
    relative_fitness: float | None,
    known: KnownPublic | None = None,
) -> ExpectedQuality | None:
    """Figures of the public, the joint and the median owner's own model; None if public rows cannot tell.

    Args:
        terms: of the study.
        public: the public rows as numbers. No target may have shaped their features, unless `known` is given.
        target: what is predicted.
        sizes: how many records each owner has.
        relative_fitness: ψ that is expected of the joint model.
        known: what was cross-validated before.
    """
    if public is None or are_too_few(public) or relative_fitness is None or not math.isfinite(relative_fitness):
        return None
    if public.parameters > MOST_PARAMETERS:
        if known is None or known.distance is None:
            return None
        return expect_quality(known.figures, known.distance, relative_fitness)
    try:
        return _worked_out(terms, public, target, sizes, relative_fitness, known)
    except CoprivError:
        # A loss from outside, or rows that are all alike: a report goes without these figures.
        return None


def _worked_out(
    terms: Terms,
    public: Sample,
    target: Target,
    sizes: Sequence[int],
    relative_fitness: float,
    known: KnownPublic | None,
) -> ExpectedQuality | None:
    evidence = evidence_for(terms, public)
    figures = cross_validate(folds_of_sample(public), evidence, target) if known is None else known.figures
    distance = evidence.view.public_model(sum(sizes)) if known is None else known.distance
    if figures is None or distance is None:
        return None
    return expect_quality(figures, distance, relative_fitness, evidence.view.median_alone(sizes))
