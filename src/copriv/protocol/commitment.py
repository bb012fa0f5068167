"""A promise: what one owner commits to in a study, worked out from the terms, its size and its guarantee.

The clip appears here once. It bounds each record's gradient, and the sensitivity follows from it; there is no way to
set one without the other. The same goes for the bound on each record's loss in an evaluation.

A promise has a part for every kind of question that the terms allow, and each part has its own portion of what the
guarantee allows. What training asks for, gradients or moments, has what the others leave.

Where the terms have a menu, training has a part for every kind and share on it. All of them are paid for from one
budget: an owner answers as long as the shares that were asked for fit into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from copriv.errors import BadInput
from copriv.losses.filled import filled_average_gradient, filled_count
from copriv.losses.loss import Loss
from copriv.losses.moments import moment_count, pack_moments, pack_second_moments, positive_share, second_moment_count
from copriv.losses.objective import Objective
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.records import Records
from copriv.losses.turned import turned, turned_model
from copriv.privacy.accounting import Accountant
from copriv.privacy.calibration import Calibration, calibrate, calibrate_share, expected_noise_std, mechanism_norm
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.privacy.sensitivity import (
    RECORD_ROUNDING,
    Sensitivity,
    of_average_gradient,
    of_filled_gradient,
    of_moments,
    of_positives,
    of_second_moments,
)
from copriv.privacy.weakness import weakness
from copriv.protocol.further_questions import FurtherQuestion, further_questions, promise_part
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Kind
from copriv.protocol.query_budget import Exact, QueryBudget, find_part
from copriv.protocol.terms import RANGES, Terms
from copriv.vectors import Axes, FloatArray, Norm


@dataclass(frozen=True, slots=True)
class Commitment:
    """A clip, the sensitivity that follows from it, and the noise that keeps the guarantee; and the same of `further`.

    `row_norm` and `target_bound` are what the terms say of every record; within them no gradient can overflow, and none
    can be too short to be clipped. `sensitivity` and `calibration` are those of what training asks for (`main`);
    `further` has the parts for all other kinds of questions. With a menu, `calibration` is that of one gradient for the
    whole training budget, but for its number of answers, `whole_moments` that of second moments, `whole_positives` that
    of the share of positive targets; `menu` has the parts that may be asked for. `rows_cap` is the most rows of a
    person, 0 where a record is a row; `fill` says how gradients are filled, 0 if they are told alone; `axes` say along
    which they are told, none if along the features.
    """

    objective: Objective
    row_norm: float
    target_bound: float
    clip: float
    norm: Norm
    sensitivity: Sensitivity
    calibration: Calibration
    further: tuple[QueryBudget, ...] = ()
    main: Kind = "gradient"
    menu: tuple[QueryBudget, ...] = ()
    whole_moments: Calibration | None = None
    whole_positives: Calibration | None = None
    rows_cap: int = 0
    fill: float = 0.0
    axes: Axes = ()

    @property
    def unit(self) -> str:
        """What is protected as one: a record or a person."""
        return "person" if self.rows_cap else "record"

    @property
    def parts(self) -> tuple[QueryBudget, ...]:
        """Everything that may be asked for, what training needs first."""
        if self.menu:
            return (*self.menu, *self.further)
        return (QueryBudget(self.main, self.clip, self.sensitivity, self.calibration, self.exact_answer), *self.further)

    @property
    def budget(self) -> Amount:
        """The most that all parts together may cost; within what the guarantee allows."""
        further = sum(part.calibration.budget.nano for part in self.further)
        return Amount(self.calibration.budget.nano + further, self.calibration.budget.measure)

    @property
    def shares(self) -> tuple[int, ...]:
        """The shares on the menu; none without."""
        return tuple(sorted({part.share for part in self.menu}))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds on the menu; none without."""
        return tuple(dict.fromkeys(part.kind for part in self.menu))

    def allows(self, kind: Kind, share: int = 0, before: int = 0) -> bool:
        """Whether anything was set aside for such questions; of a menu, at such a share, after such a level."""
        return find_part(self.parts, kind, share, before) is not None

    def part(self, kind: Kind, share: int = 0, before: int = 0) -> QueryBudget:
        """What is promised for one kind of question; of a menu, at one share, after one level."""
        found = find_part(self.parts, kind, share, before)
        if found is not None:
            return found
        of_share = (f" at a share of {share} %" if share else "") + (f" after {before} %" if before else "")
        allowed = dict.fromkeys(part.kind + (f" at {part.share} %" if part.share else "") for part in self.parts)
        raise BadInput(
            f"nothing is promised for questions of kind {kind!r}{of_share}",
            remedy=f"ask for {' or '.join(allowed)}, or agree on terms that allow it",
            value=(kind, share) if share else kind,
        )

    def levels(self, kind: Kind, share: int) -> tuple[QueryBudget, ...]:
        """The finest choice on the menu, and so on down to this one, if its answers can be made finer; else none."""
        finer = [part for part in self.menu if part.kind == kind and part.share >= share and part.has_levels]
        return tuple(sorted(finer, key=lambda part: part.share, reverse=True))

    def require_bounded(self, records: Records) -> None:
        """Refuse records of another unit, or that the dictionary has not bounded, before anything is answered."""
        if (records.most_rows > 0) != (self.rows_cap > 0) or records.most_rows > self.rows_cap:
            raise BadInput(
                "records that are not grouped as the terms say"
                if self.rows_cap
                else "rows that are grouped by person, and terms whose unit is one record",
                remedy="read the records under the terms of the study",
            )
        longest, largest = records.extremes()
        if not (longest <= self.row_norm * RECORD_ROUNDING and largest <= self.target_bound * RECORD_ROUNDING):
            raise BadInput(
                f"records outside the terms: rows longer than {self.row_norm:g} or targets above {self.target_bound:g}",
                remedy="reduce the records with the study's dictionary",
            )

    def exact_answer(self, records: Records, theta: FloatArray) -> FloatArray:
        """What the noise is calibrated for: the clipped average gradient, or moments; to be sealed at once."""
        if self.main == "moments":
            return pack_moments(records, self.norm)
        return told_gradient(self.objective.loss, records, theta, (self.clip, self.fill, self.axes), self.norm)


def told_gradient(
    loss: Loss, records: Records, theta: FloatArray, bounds: tuple[float, float, Axes], norm: Norm
) -> FloatArray:
    """The clipped average gradient along some axes, filled if it is; the bounds are clip, fill and axes."""
    clip, fill, axes = bounds
    there, place = turned(records, axes), turned_model(theta, axes)
    if fill > 0:
        return filled_average_gradient(loss, there, place, clip, norm, fill)
    return clipped_average_gradient(loss, there, place, clip, norm)


@dataclass(frozen=True, slots=True)
class ExpectedNoise:
    """What owners' commitments will be like: the clip that they keep, and each owner's noise on one training answer.

    With a menu the noise is that of a gradient for the whole training budget, `second_moments_std` that of second
    moments, and `positives_std` that of the share of positive targets; without, there is none.
    """

    clip: float
    noise_std: tuple[float, ...]
    second_moments_std: tuple[float, ...] = ()
    positives_std: tuple[float, ...] = ()


def make_commitment(
    terms: Terms, guarantee: Guarantee, *, records: int, answers: int, accountant: Accountant = "pld"
) -> Commitment:
    """What an owner with this many records promises: so many answers, and the further ones of the terms."""
    objective = terms.objective()
    norm = mechanism_norm(guarantee)
    main = terms.kind
    clip, sensitivity, numbers = (_moments if main == "moments" else _gradients)(terms, objective, records, norm)
    cap = terms.rows_cap
    further = further_questions(terms, objective, records, norm)
    calibration = calibrate(
        guarantee,
        answers=1 if terms.shares else answers,
        sensitivity=sensitivity,
        parameters=numbers,
        accountant=accountant,
        portion=_portion_of_training(further),
    )
    parts = tuple(promise_part(question, guarantee, accountant) for question in further)
    bounds = (objective, terms.row_norm, terms.target_bound, clip, norm, sensitivity)
    if not terms.shares:
        return Commitment(*bounds, calibration, parts, main, rows_cap=cap)
    menu, wholes = _menu(terms, objective, clip, sensitivity, calibration, records)
    calibration = replace(calibration, answers=answers)
    return Commitment(*bounds, calibration, parts, main, menu, *wholes, cap, terms.fill, terms.axes)


def make_commitments(
    terms: Terms, owners: Sequence[tuple[int, Guarantee, int]], accountant: Accountant = "pld"
) -> tuple[Commitment, ...]:
    """What owners by records, guarantee and answers promise; owners alike promise the same."""
    made = {
        (records, guarantee, most): make_commitment(
            terms, guarantee, records=records, answers=most, accountant=accountant
        )
        for records, guarantee, most in set(owners)
    }
    return tuple(made[owner] for owner in owners)


def commitment_of(hello: Hello, terms: Terms) -> Commitment:
    """What an owner promises, worked out from what it said of itself."""
    guarantee = Guarantee(hello.nano_epsilon, hello.delta)
    accountant: Accountant = "zcdp" if hello.accountant == "zcdp" else "pld"
    return make_commitment(terms, guarantee, records=hello.records, answers=hello.answers, accountant=accountant)


def expect_noise(
    terms: Terms, owners: Sequence[tuple[int, Guarantee, int]], accountant: Accountant = "pld"
) -> ExpectedNoise:
    """Of owners by records, guarantee and answers: what `make_commitment` gives them, but for its last digits.

    For whoever forecasts and has thousands of owners to think of; owners alike are worked out once.
    """
    made = {owner: _expect_noise(terms, *owner, accountant) for owner in set(owners)}
    squares = tuple(made[owner][2] for owner in owners) if "second_moments" in terms.kinds else ()
    positives = tuple(made[owner][3] for owner in owners) if "positives" in terms.kinds else ()
    return ExpectedNoise(made[owners[0]][0], tuple(made[owner][1] for owner in owners), squares, positives)


def _expect_noise(
    terms: Terms, records: int, guarantee: Guarantee, answers: int, accountant: Accountant
) -> tuple[float, float, float, float]:
    """The clip, the deviation of the noise on one training answer, and those of what else may be on the menu."""
    objective, norm = terms.objective(), mechanism_norm(guarantee)
    of_kind = _moments if terms.kind == "moments" else _gradients
    portion = _portion_of_training(further_questions(terms, objective, records, norm))
    clip, sensitivity, _ = of_kind(terms, objective, records, norm)
    noise_std = partial(
        expected_noise_std,
        guarantee,
        answers=1 if terms.shares else answers,
        accountant=accountant,
        portion=portion,
    )
    squares = noise_std(sensitivity=_of_squares(terms, records, norm)) if "second_moments" in terms.kinds else 0.0
    positives = noise_std(sensitivity=_of_positives(terms, records, norm)) if "positives" in terms.kinds else 0.0
    return clip, noise_std(sensitivity=sensitivity), squares, positives


def calibrate_gradients(
    guarantee: Guarantee, *, clip: float, records: int, parameters: int, answers: int
) -> Calibration:
    """The noise of so many average gradients, if nothing else is asked for."""
    norm = mechanism_norm(guarantee)
    sensitivity = of_average_gradient(clip=clip, records=records, parameters=parameters, norm=norm)
    return calibrate(guarantee, answers=answers, sensitivity=sensitivity, parameters=parameters)


def _portion_of_training(further: tuple[FurtherQuestion, ...]) -> Fraction:
    """What other kinds of questions leave."""
    return 1 - sum((question.portion for question in further), Fraction(0))


def _gradients(terms: Terms, objective: Objective, records: int, norm: Norm) -> tuple[float, Sensitivity, int]:
    """The clip of average gradients, their sensitivity, and how many numbers they have."""
    proven = objective.gradient_bound(
        row_norm=terms.row_norm, target=terms.target_bound, parameters=terms.parameters, norm=norm
    )
    # A loss from outside may say that its slopes are nothing; below the least clip products leave the range of doubles.
    clip = max(min(terms.clip, proven), RANGES["clip"][0])
    of_gradient = of_filled_gradient if terms.fill else of_average_gradient
    sensitivity = of_gradient(clip=clip, records=records, parameters=terms.parameters, norm=norm)
    return clip, sensitivity, filled_count(terms.parameters) if terms.fill else terms.parameters


def _moments(terms: Terms, objective: Objective, records: int, norm: Norm) -> tuple[float, Sensitivity, int]:
    """The bound on records, from which the sensitivity of their moments follows without any clip."""
    if objective.loss.name != "squared" or terms.row_norm > 1 or terms.target_bound > 1:
        raise BadInput(
            f"moments for the {objective.loss.name} loss, rows up to {terms.row_norm:g}, targets up to "
            f"{terms.target_bound:g}",
            remedy="one-shot statistics are for the squared loss with rows and targets of at most 1",
            value=objective.loss.name,
        )
    rows = max(terms.rows_cap, 1)
    sensitivity = of_moments(records=records, parameters=terms.parameters, norm=norm, rows=rows)
    return terms.row_norm, sensitivity, moment_count(terms.parameters)


def _of_squares(terms: Terms, records: int, norm: Norm) -> Sensitivity:
    """How far one record can move the average of xxᵀ."""
    rows = max(terms.rows_cap, 1)
    return of_second_moments(
        row_norm=terms.row_norm, records=records, parameters=terms.parameters, norm=norm, rows=rows
    )


def _of_positives(terms: Terms, records: int, norm: Norm) -> Sensitivity:
    """How far one record can move the share of positive targets."""
    return of_positives(records=records, norm=norm, rows=max(terms.rows_cap, 1))


def _menu(
    terms: Terms, objective: Objective, clip: float, of_gradient: Sensitivity, whole: Calibration, records: int
) -> tuple[tuple[QueryBudget, ...], tuple[Calibration | None, Calibration | None]]:
    """A part for every kind and share on the menu; noise of second moments and of positives for the whole budget."""
    norm, parameters = of_gradient.norm, terms.parameters
    parts, _ = _of_kind("gradient", terms.shares, whole, _about_gradients(terms, objective.loss, clip, of_gradient))
    whole_moments = whole_positives = None
    if "second_moments" in terms.kinds:
        squares = partial(_second_moments, norm)
        numbers = second_moment_count(parameters)
        about = terms.row_norm, _of_squares(terms, records, norm), numbers, squares
        more, whole_moments = _of_kind("second_moments", terms.shares, whole, about)
        parts += more
    if "positives" in terms.kinds:
        more, whole_positives = _of_kind(
            "positives", terms.shares, whole, (1.0, _of_positives(terms, records, norm), 1, _positives)
        )
        parts += more
    return parts, (whole_moments, whole_positives)


def _of_kind(
    kind: Kind, shares: Sequence[int], whole: Calibration, about: tuple[float, Sensitivity, int, Exact]
) -> tuple[tuple[QueryBudget, ...], Calibration]:
    """One kind of question at every share, and its noise for the whole training budget.

    `about` is the most that one record counts, how far it can move the answer, how many numbers that has, and itself.
    """
    bound, sensitivity, numbers, exact = about
    calibrated = partial(calibrate_share, whole, sensitivity=sensitivity, parameters=numbers)
    parts = (QueryBudget(kind, bound, sensitivity, calibrated(share), exact, share, 0, numbers) for share in shares)
    return tuple(parts), calibrated(100)


def _about_gradients(
    terms: Terms, loss: Loss, clip: float, of_gradient: Sensitivity
) -> tuple[float, Sensitivity, int, Exact]:
    """The same of gradients, filled and along other axes if the terms say so."""
    numbers = filled_count(terms.parameters) if terms.fill else terms.parameters
    return clip, of_gradient, numbers, partial(_gradient, loss, (clip, terms.fill, terms.axes), of_gradient.norm)


def _gradient(
    loss: Loss, bounds: tuple[float, float, Axes], norm: Norm, records: Records, theta: FloatArray
) -> FloatArray:
    return told_gradient(loss, records, theta, bounds, norm)


def _second_moments(norm: Norm, records: Records, _theta: FloatArray) -> FloatArray:
    return pack_second_moments(records, norm)


def _positives(records: Records, _theta: FloatArray) -> FloatArray:
    return positive_share(records)


def weakest(commitments: Sequence[Commitment], records: Sequence[int]) -> str | None:
    """Why the promise of some owner means little; None if all of them mean something."""
    found = (weakness(each.calibration.guarantee, size) for each, size in zip(commitments, records, strict=True))
    return next((words for words in found if words), None)
