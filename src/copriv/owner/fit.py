"""At home, before anything is promised: are the owner's rows like the public ones?

The owner's average gradient at the public model is compared with that of the public rows. If both are draws of one
population, their difference has the covariance S (1/n + 1/m), with n records, m public rows and S the covariance of a
record's gradient. The model was fitted to the public rows; to first order that takes as much from one average as from
the other, and changes nothing. S is that of the owner's own records at the public model, where it has grown by what the
model owes to few public rows. So the sum of squares over all directions, T², is as Hotelling has it, and its law is
known (F). The share of rows that the dictionary had to shorten is compared, too: rows may lie elsewhere, and the same
model be right for them.

Nothing of this is asked of anybody, charged, written or sent. What a person decides after it, no ε covers.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from copriv.errors import RecordsChanged
from copriv.losses.loss import Loss
from copriv.losses.passes import record_slopes
from copriv.losses.records import Records
from copriv.losses.sample import Sample, some_of
from copriv.protocol.public_summary import PublicSummary, shortened_share
from copriv.protocol.study_file import StudyFile
from copriv.protocol.text import quoted
from copriv.records.dictionary import ROW_NORM, Dictionary
from copriv.vectors import FloatArray

Reading: TypeAlias = Literal["alike", "differs", "does not fit", "unknown"]

# Each of the two figures, gradients and shortened rows, holds for draws of one population with this probability: 99 of
# 100 are called alike.
CONFIDENCE = 0.995
# Public rows that are worth fewer of one's own, for every number of a model, do not fit.
ROWS_A_NUMBER = 10
# Directions in which the owner's gradients vary less than this, of the longest, are not compared.
_FLAT = 1e-9
# Beyond this every figure says the same, and nothing overflows.
_HUGE = 1e100
_MOST_PARAMETERS = 2_000
_BLOCK = 65_536
_NAMED_COLUMNS = 2


class Fit(msgspec.Struct, frozen=True):
    """How an owner's rows differ from the public ones. Not private: it stays at home.

    Args:
        reading: alike (as draws of one population), differs, does not fit, or unknown.
        why: why it is unknown.
        records: the owner's records with a usable target.
        public_rows: public rows with one.
        shortened: the share of the owner's records that was shortened to the longest that a row may be.
        public_shortened: of the public rows.
        distance: between the average gradients at the public model, in standard errors of sampling, root mean square
            over all directions. About 1 for draws of one population.
        bound: what it stays below in 199 of 200 such draws.
        directions: how many directions were compared.
        most: in which number of the model they differ most.
        most_distance: by how many standard errors there.
        worth: how many records of the owner's own would give a model as good for it as these public rows; None where
            gradients are alike.
    """

    reading: Reading
    why: str = ""
    records: int = 0
    public_rows: int = 0
    shortened: float | None = None
    public_shortened: float | None = None
    distance: float | None = None
    bound: float | None = None
    directions: int = 0
    most: str = ""
    most_distance: float | None = None
    worth: int | None = None


class _Gradients(NamedTuple):
    """Of some records at one model: their number, average, and covariance."""

    records: int
    average: FloatArray
    covariance: FloatArray


def fit_of(study: StudyFile, records: Records) -> Fit:
    """How an owner's records differ from the public rows of a study; unknown, should the comparison itself fail.

    Of records that do not fit in memory every so many are compared. Others see whether an owner joins, so that must
    not end with an error on some records only.
    """
    loss, dictionary = study.terms.objective().loss, Dictionary.from_study(study.dictionary)
    try:
        return fit_at_home(some_of(records), loss, study.public, dictionary)
    except RecordsChanged:
        raise
    except Exception:  # noqa: BLE001 - whatever went wrong, it may be one record's doing
        return Fit("unknown", why="the comparison failed")


def fit_at_home(sample: Sample, loss: Loss, public: PublicSummary | None, dictionary: Dictionary) -> Fit:
    """Compare an owner's records with the public rows. It never fails, whatever the records are.

    Args:
        sample: the owner's records.
        loss: the study's.
        public: what the study says of its public rows, if it does.
        dictionary: the study's; it names what differs.
    """
    if public is None:
        return Fit("unknown", why="the study says nothing of its public rows")
    records = int(sample.used.sum())
    if records == 0:
        return Fit("unknown", why="none of your records has a usable target", public_rows=public.rows)
    own = sample.usable()
    seen = Fit(
        "unknown",
        why=f"{records:,} records and a model of {own.parameters:,} numbers cannot be compared",
        records=records,
        public_rows=public.rows,
        shortened=shortened_share(own, ROW_NORM),
        public_shortened=public.shortened,
    )
    if records <= own.parameters + 2 or own.parameters > _MOST_PARAMETERS:
        return seen
    return _compare(seen, _gradients(own, loss, np.asarray(public.model)), public, dictionary)


def _compare(seen: Fit, own: _Gradients, public: PublicSummary, dictionary: Dictionary) -> Fit:
    """Hotelling's T² between the owner's average gradient and that of the public rows."""
    from scipy.special import fdtri

    deviations = np.sqrt(np.diag(own.covariance))
    varies = deviations > _FLAT * float(np.hypot(deviations, own.average).max())
    if not varies.any():
        return msgspec.structs.replace(seen, why="the gradients of your records are all the same")
    difference = (own.average - np.asarray(public.gradient))[varies] / deviations[varies]
    apart = np.clip(difference, -_HUGE, _HUGE)
    squared, directions = _squared_length(apart, own.covariance[np.ix_(varies, varies)], deviations[varies])
    sampling = 1 / own.records + 1 / public.rows
    freedom = own.records - directions
    bound = (own.records - 1) / freedom * float(fdtri(directions, freedom, CONFIDENCE))
    ratio = squared / sampling / directions
    most = int(np.argmax(np.abs(apart)))
    worth = None if ratio <= bound else _worth(squared, directions, own.records)
    return msgspec.structs.replace(
        seen,
        reading=_read(worth, own.average.size, as_often=_as_often(seen)),
        why="",
        distance=math.sqrt(ratio),
        bound=math.sqrt(bound),
        directions=directions,
        most=name_of(dictionary, int(np.flatnonzero(varies)[most])),
        most_distance=float(apart[most]) / math.sqrt(sampling),
        worth=worth,
    )


def _read(worth: int | None, parameters: int, *, as_often: bool) -> Reading:
    if worth is None:
        return "alike" if as_often else "differs"
    return "does not fit" if worth < ROWS_A_NUMBER * parameters else "differs"


def _as_often(seen: Fit) -> bool:
    """Whether the owner's rows are shortened as often as public ones, up to chance.

    Of all shortened rows, the owner has a binomial number if both are draws of one population.
    """
    from scipy.special import bdtr

    mine = round((seen.shortened or 0.0) * seen.records)
    both = mine + round((seen.public_shortened or 0.0) * seen.public_rows)
    part, tail = seen.records / (seen.records + seen.public_rows), (1 - CONFIDENCE) / 2
    return bool(bdtr(mine, both, part) >= tail and 1 - (bdtr(mine - 1, both, part) if mine else 0.0) >= tail)


def _squared_length(apart: FloatArray, covariance: FloatArray, deviations: FloatArray) -> tuple[float, int]:
    """dᵀS⁻¹d over the directions in which gradients vary, and their number; d is in deviations."""
    values, vectors = np.linalg.eigh(covariance / np.outer(deviations, deviations))
    kept = values > _FLAT * values[-1]
    along = vectors.T[kept] @ apart / np.sqrt(values[kept])
    return float(along @ along), int(kept.sum())


def _worth(squared: float, directions: int, records: int) -> int:
    """The number of own records whose average gradient would be as far off: m in dᵀS⁻¹d = p (1/n + 1/m).

    The inverse of a covariance of n records is too large by (n − 1)/(n − p − 2), on average. Above the bound it is less
    than the number of public rows.
    """
    fair = squared * (records - directions - 2) / (records - 1)
    beyond = fair - directions / records
    return max(1, round(directions / beyond))


def _gradients(own: Sample, loss: Loss, model: FloatArray) -> _Gradients:
    """In two readings of the records, block by block; a gradient that is no number counts as zero."""
    slopes = record_slopes(loss, own, model)
    slopes = np.clip(np.where(np.isfinite(slopes), slopes, 0.0), -_HUGE, _HUGE)
    average = own.weighted @ slopes / own.records
    total = np.zeros((own.parameters, own.parameters))
    for start in range(0, own.records, _BLOCK):
        part = own.take(np.arange(start, min(start + _BLOCK, own.records)))
        rows = own.rows_of(np.arange(start, min(start + _BLOCK, own.records)))
        centred = part.by_record(part.columns * slopes[rows]) - average[:, None]
        total += centred @ centred.T
    return _Gradients(own.records, average, total / (own.records - 1))


def name_of(dictionary: Dictionary, place: int) -> str:
    """What a number of a model stands for: intercept, cell, score, leaf, or a component and what weighs most in it."""
    if place >= dictionary.features:
        return f"the level of {quoted(dictionary.target.name)}"
    if place >= len(dictionary.components):
        return quoted(dictionary.feature_label(place))
    cells, weights = dictionary.cells(), np.abs(np.asarray(dictionary.components[place]))
    heaviest = np.argsort(-weights, kind="stable")[:_NAMED_COLUMNS]
    labels = " and ".join(quoted(cells[cell].label) for cell in heaviest if weights[cell] > 0)
    return f"component {place + 1} (mostly {labels})"
