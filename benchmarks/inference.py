"""Do intervals of coefficients hold the coefficient? Trainings of public Newton on samples of a table, again and again.

A table is taken for the population: its own fit, without a ridge, is the truth. Every training has new public rows and
new owners' records, drawn with replacement, simulated noise of the promised deviation, and the default rule. Constants
were chosen on churn and chemistry scores; neither is here.

- one population: owners are blocks of it;
- owners that differ: each training draws hospitals, and records of each; the truth is that of all hospitals together;
- shifts: public rows of another population, pairs that a constant was chosen on and pairs that are held out. Where an
  interval would not hold there is to be none: coverage is of those that have one.

Twins leave a cause out of the standard error. Power is compared in the same trainings: an effect of one, two and three
foreseen standard errors is added to every coefficient.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from benchmarks.datasets import REGULARIZATION, data_folder
from benchmarks.many_hands import share_out
from benchmarks.shift_pairs import read_pair, specs
from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.forecast.newton import NewtonPrediction
from copriv.forecast.one_step import OneStep, unshrunk
from copriv.losses.choose import choose
from copriv.losses.loss import Loss
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise, minimise_freely
from copriv.losses.sample import Sample
from copriv.planning.newton_cost import menu_prediction, menu_rule
from copriv.planning.power import Ahead, ExpectedErrors
from copriv.planning.tuning import choose_limit
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.records.fit_features import PublicRows
from copriv.records.public_cells import public_sample
from copriv.records.target import TargetChoice
from copriv.report.inference import Coefficient, pooled_coefficients, without_ridge
from copriv.rules.adaptive_questions import MOST_ANSWERS
from copriv.simulation.cost import Protection, Scene, promised, simulate_rule
from copriv.vectors import FloatArray

EPSILONS = (0.3, 1.0, 10.0)
OWNERS, RECORDS, PUBLIC = 10, 2000, 2000
# Of every table and ε, so that a table has a thousand; of tables under another loss; of every shift and ε.
TRAININGS, OF_LOSSES, OF_SHIFTS = 334, 120, 40
SIZES = (1.0, 2.0, 3.0)
LOW, HIGH, NEAR = 0.93, 0.97, 0.05
SEED = 31
_NO_RIDGE = 1e-10
_NORMAL = 1.96
# The threshold that trainings have by default.
_HUBER = 0.25
_FEW_HOSPITALS, _STAYS = 20, 400
# Their shifts take long to train under, and are strong: the rule says so in every training.
_STRONG = ("lending order", "carrier", "flights month", "lending year")


@dataclass(frozen=True)
class Population:
    """A table as a population: the loss and its records, by owner if they differ."""

    name: str
    loss: str
    groups: tuple[Sample, ...]

    @property
    def whole(self) -> Sample:
        """All records."""
        return Sample.join(self.groups)


@dataclass(frozen=True)
class Trained:
    """One training: every coefficient, its truth, and its standard error as its public rows foresee it."""

    coefficients: tuple[Coefficient, ...]
    truth: FloatArray
    foreseen: tuple[ExpectedErrors, ...] = ()

    def held(self, left_out: str = "") -> list[bool]:
        """Whether each interval holds the truth; a twin leaves a cause out."""
        found = []
        for one, true in zip(self.coefficients, self.truth, strict=True):
            if one.low is None or one.high is None:
                continue
            reach = (one.high - one.low) / 2
            if left_out:
                reach = _NORMAL * np.sqrt(one.standard_error**2 - getattr(one, left_out) ** 2)
            found.append(bool(abs(one.estimate - true) <= reach))
        return found

    def found(self, effects: FloatArray) -> list[bool]:
        """Whether these effects would have been found, one for each coefficient."""
        return [
            bool(abs(one.estimate - true + effect) > (one.high - one.low) / 2)
            for one, true, effect in zip(self.coefficients, self.truth, effects, strict=True)
            if one.low is not None and one.high is not None
        ]

    def expected(self, effects: FloatArray) -> float:
        """What `copriv power` would have said of them before, on average."""
        return float(np.mean([known.power(effect) for known, effect in zip(self.foreseen, effects, strict=True)]))


def population(name: str, seed: int = 0) -> Population | None:
    """A population by its name; None if its table is not at hand."""
    file, target, columns, loss, owner = TABLES[name]
    folder = data_folder()
    if file and folder is None:
        return None
    table = pl.read_parquet(f"{folder}/{file}.parquet") if file else lending_like.generate(30_000, seeded(seed, "rows"))
    table = table.select([target, *columns, *([owner] if owner else [])]).drop_nulls()
    order = seeded(seed, "public").permutation(table.height)[:PUBLIC]
    choice = TargetChoice.for_loss(loss, target, positive_above=0.0 if loss == "logistic" else None)
    dictionary = PublicRows(table[order].drop(owner) if owner else table[order], choice).fit("all").dictionary
    parts = [table]
    if owner:
        parts = [part for part in table.partition_by(owner) if part.height >= _STAYS // 2]
    groups = tuple(public_sample(dictionary, part) for part in parts)
    return Population(name, loss, groups)


_LOANS = ("loan_amnt", "annual_inc", "dti", "term", "home_ownership")
_PATIENTS, _STAYS_OF = ("age", "female", "educ", "hhninc", "outwork"), ("age_group", "sex", "ed_admission")
TABLES: dict[str, tuple[str, str, tuple[str, ...], str, str]] = {
    "loans": ("lending_2007_2011", "int_rate", _LOANS, "squared", ""),
    "stays": ("hospital_heart_failure_2024", "los", _STAYS_OF, "squared", ""),
    "visits": ("doctor_visits", "docvis", _PATIENTS, "logistic", ""),
    "generator": ("", "int_rate", ("loan_amnt", "annual_inc", "dti", "term"), "squared", ""),
    "hospitals": ("hospital_heart_failure_2024", "los", _STAYS_OF, "squared", "hospital_id"),
    "loans, Huber": ("lending_2007_2011", "int_rate", _LOANS, "huber", ""),
    "visits, Poisson": ("doctor_visits", "docvis", _PATIENTS, "poisson", ""),
    "stays, Gamma": ("hospital_heart_failure_2024", "los", _STAYS_OF, "gamma", ""),
}


def loss_of(name: str) -> Loss:
    """By its name."""
    return choose(name, _HUBER if name == "huber" else 0.0)


def draw(sample: Sample, records: int, stream: np.random.Generator) -> Sample:
    """Records of a sample, with replacement."""
    return sample.take(stream.integers(0, sample.records, records))


def owners_of(known: Population, stream: np.random.Generator) -> list[Sample]:
    """Blocks of one population; or some of its groups, with as many records of each."""
    if len(known.groups) == 1:
        return [draw(known.groups[0], RECORDS, stream) for _ in range(OWNERS)]
    chosen = stream.integers(0, len(known.groups), _FEW_HOSPITALS)
    return [draw(known.groups[place], _STAYS, stream) for place in chosen]


def trainings(name: str, epsilon: float, runs: int, seed: int) -> list[Trained]:
    """Of one population at one ε; the clip is planned on the first public rows."""
    known = population(name)
    if known is None:
        return []
    loss, stream, found, clip = loss_of(known.loss), seeded(seed, f"{name} {epsilon}"), list[Trained](), None
    equal = Sample.join([draw(group, RECORDS, seeded(seed, "truth")) for group in known.groups])
    truth = minimise_freely(loss, _NO_RIDGE, known.whole if len(known.groups) == 1 else equal)
    effects = np.eye(truth.size)
    protection = promised(Guarantee.of(epsilon), truth.size)
    for run in range(runs):
        owners = owners_of(known, stream)
        public = draw(known.whole if len(known.groups) == 1 else equal, PUBLIC, stream)
        objective = Objective(loss, REGULARIZATION, choose_limit(minimise_freely(loss, REGULARIZATION, public)))
        scene = Scene(objective, tuple(owners), public, public, 1.0)
        estimate, clip = train(scene, protection, clip, seed * 1000 + run)
        ahead = expected(scene, protection, clip, effects)
        found.append(Trained(coefficients(estimate, effects), truth, ahead))
    return found


def train(scene: Scene, protection: Protection, clip: float | None, seed: int) -> tuple[OneStep, float]:
    """One training by the default rule, and its clip: that which is planned, if none is given."""
    start = minimise(scene.objective, scene.public)
    plan = menu_prediction(scene, protection, start) if clip is None else NewtonPrediction(clip, MOST_ANSWERS, 0.0)
    rule = menu_rule(scene, protection, start, plan)
    state = simulate_rule(rule, scene, protection, clip=plan.clip, answers=plan.answers, runs=1, seed=seed)[0]
    estimate = unshrunk(rule, state)
    if isinstance(estimate, str):
        raise TypeError(estimate)
    return estimate, plan.clip


def coefficients(estimate: OneStep, effects: FloatArray) -> tuple[Coefficient, ...]:
    """Of the model's own numbers, as a report has them."""
    names = [str(place) for place in range(len(effects))]
    return pooled_coefficients(without_ridge(estimate, effects), effects, np.zeros(len(effects)), names)


def expected(scene: Scene, protection: Protection, clip: float, effects: FloatArray) -> tuple[ExpectedErrors, ...]:
    """What `copriv power` would say of each coefficient."""
    start = minimise(scene.objective, scene.public)
    noise = np.asarray([each.noise_std**2 for each in protection.of(scene.records, clip, 1)])
    ahead = Ahead(scene.public, scene.objective.loss, start, clip, protection.norm, scene.records, noise)
    return tuple(ahead.errors(effects))


def shifted(name: str, runs: int, seed: int) -> list[tuple[float, Trained]]:
    """Trainings under one shift at every ε, with new samples of its public rows and of each owner's."""
    family, case = next((family, case) for found, family, case, _ in specs() if found == name)
    scene = read_pair(family, case)
    if scene is None:
        return []
    truth = minimise_freely(scene.objective.loss, _NO_RIDGE, scene.joint)
    effects, found = np.eye(truth.size), list[tuple[float, Trained]]()
    for epsilon in EPSILONS:
        protection, stream, clip = promised(Guarantee.of(epsilon), truth.size), seeded(seed, name), None
        for run in range(runs):
            samples = tuple(draw(sample, sample.records, stream) for sample in scene.samples)
            again = replace(scene, samples=samples, public=draw(scene.public, scene.public.records, stream))
            estimate, clip = train(again, protection, clip, seed * 1000 + run)
            found.append((epsilon, Trained(coefficients(estimate, effects), truth)))
    return found


def summary(name: str, epsilon: float | str, found: Sequence[Trained]) -> list[object]:
    """One row of the table; ± is the standard error of the share inside, from one training to the next."""
    told = [one for one in found if one.held()]
    if not told:
        return [name, epsilon, len(found), 0.0, *["–"] * 5, "no interval"]
    held = np.asarray([one.held() for one in told], dtype=np.float64)
    twins = [float(np.mean([one.held(cause) for one in told])) for cause in ("privacy", "between")]
    share, error = float(held.mean()), float(held.mean(axis=1).std(ddof=min(1, len(told) - 1))) / len(told) ** 0.5
    return [
        name, epsilon, len(found), len(told) / len(found), share, error, float(held.mean(axis=0).min()), *twins,
        "yes" if LOW <= share <= HIGH else "no",
    ]  # fmt: skip


def powers(name: str, epsilon: float, found: Sequence[Trained]) -> list[list[object]]:
    """Foreseen and simulated power for effects of one, two and three standard errors, averaged over coefficients."""
    rows: list[list[object]] = []
    usual = np.mean([[known.standard_error for known in one.foreseen] for one in found], axis=0)
    for size in SIZES:
        simulated = float(np.mean([hit for one in found for hit in one.found(size * usual)]))
        ahead = [one.expected(size * usual) for one in found]
        foreseen, apart = float(np.mean(ahead)), abs(float(np.mean(ahead)) - simulated)
        near = "yes" if apart <= NEAR else "no"
        rows.append([name, epsilon, size, foreseen, float(np.std(ahead)), simulated, apart, near])
    return rows


def main() -> None:
    """Print the tables."""
    started = time.perf_counter()
    if data_folder() is None:
        print("inference: no data; set COPRIV_DATA")
        return
    cells = [(name, epsilon) for name in TABLES for epsilon in EPSILONS]
    counts = [OF_LOSSES if "," in name else TRAININGS for name, _ in cells]
    jobs: list[Callable[[], list[Trained]]] = [
        partial(trainings, name, epsilon, runs, SEED) for (name, epsilon), runs in zip(cells, counts, strict=True)
    ]
    pairs = [(name, held_out) for name, family, _, held_out in specs() if family.name not in _STRONG]
    found = share_out(jobs, "cells")
    under = share_out([partial(shifted, name, OF_SHIFTS, SEED) for name, _ in pairs], "shifts")
    rows = [summary(name, epsilon, each) for (name, epsilon), each in zip(cells, found, strict=True)]
    for kind, wanted in (("shifts", False), ("shifts held out", True)):
        every = [one for (_, held_out), each in zip(pairs, under, strict=True) if held_out is wanted for one in each]
        rows += [summary(kind, epsilon, [one for at, one in every if at == epsilon]) for epsilon in EPSILONS]
        rows.append(summary(kind, "all", [one for _, one in every]))
    tell(
        "inference",
        f"95 % intervals of coefficients, pure ε, simulated noise; {OWNERS} owners of {RECORDS:,} records or "
        f"{_FEW_HOSPITALS} hospitals of {_STAYS}, {PUBLIC:,} public rows; told: trainings with intervals; worst: the "
        f"worst coefficient; twins leave noise or differences between owners out; shifts: {len(pairs)} pairs; "
        f"{time.perf_counter() - started:.0f} s",
        ["population", "ε", "trainings", "told", "inside", "±", "worst", "no noise", "no τ²", "held"],
        rows,
    )
    alike = [(cell, each) for cell, each in zip(cells, found, strict=True) if not TABLES[cell[0]][-1]]
    tell(
        "inference-power",
        "the chance to find an effect of so many standard errors: foreseen on each training's public rows, how much "
        f"that varies with them, and in the same trainings; averaged over coefficients, which should agree to {NEAR}",
        ["population", "ε", "effect", "foreseen", "±", "simulated", "apart", "near"],
        [row for (name, epsilon), each in alike for row in powers(name, epsilon, each)],
    )
