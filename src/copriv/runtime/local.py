"""A consortium in one process: owners with their ledgers, the transport, the learner, and what came of it.

Because every record is here, the fitness of the joint model and of each owner's own can be computed exactly. These
figures are measured on the records themselves: they are for whoever may see all records, and not private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from copriv.entropy import seeded
from copriv.forecast.foresight import Foreseen
from copriv.learner.learner import Iteration, Position, Session, train
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.owner.ledger import Ledger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder, Responder
from copriv.planning.training_plan import Noise, TrainingPlan
from copriv.protocol.commitment import Commitment
from copriv.records.load import Intake, OwnerSample
from copriv.runtime.simulated_responder import SilentResponder, SimulatedResponder
from copriv.transport.in_process import InProcessTransport
from copriv.vectors import FloatArray

MakeLedger = Callable[[OwnerSample, Commitment], Ledger]


@dataclass(frozen=True, slots=True)
class Consortium:
    """Owners, their ledgers and the way to reach them."""

    names: tuple[str, ...]
    ledgers: tuple[Ledger, ...]
    transport: InProcessTransport


def assemble(intake: Intake, study: TrainingPlan, *, noise: Noise, seed: int, make_ledger: MakeLedger) -> Consortium:
    """Owners with secure noise on their records; or, for a simulation, with seeded noise or none."""
    names = tuple(owner.name for owner in intake.owners)
    committed = list(zip(intake.owners, study.commitments, strict=True))
    responders = [_responder(owner, commitment, noise, seed) for owner, commitment in committed]
    ledgers = tuple(make_ledger(owner, commitment) for owner, commitment in committed)
    owners = [
        Owner(owner.name, study.terms, commitment, responder, ledger)
        for (owner, commitment), responder, ledger in zip(committed, responders, ledgers, strict=True)
    ]
    return Consortium(names, ledgers, InProcessTransport(owners))


def _responder(owner: OwnerSample, commitment: Commitment, noise: Noise, seed: int) -> Responder:
    if noise == "secure":
        return PrivateResponder(owner.sample, commitment, owner.held_back)
    if noise == "seeded":
        stream = seeded(seed, f"noise of {owner.name}")
        return SimulatedResponder(owner.sample, commitment, stream, owner.held_back)
    return SilentResponder(owner.sample, commitment, owner.held_back)


def run(
    consortium: Consortium, study: TrainingPlan, run_name: str, position: Position[Any] | None = None
) -> Iterator[Iteration[Any]]:
    """Train along the study's schedule, one meeting at a time, from the beginning or from where it stood."""
    learning = Session(study.rule, consortium.names, study.terms.digest(), run_name, fill=study.terms.fill)
    return train(learning, study.trace.meetings, consortium.transport, position)


@dataclass(slots=True)
class MeetingLog:
    """Numbers, owners and outcomes of meetings, one after another; the outcome is "answer", or why there is none."""

    numbers: list[int] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)

    def note(self, number: int, owner: str, outcome: str) -> None:
        """One more meeting."""
        self.numbers.append(number)
        self.owners.append(owner)
        self.outcomes.append(outcome)


@dataclass(slots=True)
class Watch:
    """Remembers what to show of a run: the model at some iterations, who refused why, and who was asked for what.

    `asked` has kind, share and the level before of each answer, by the owner's name; `foreseen` what was expected on
    the way; `state` is the rule's after the last meeting; `log` has every meeting.
    """

    horizon: int
    most: int = 200
    models: dict[int, FloatArray] = field(default_factory=dict)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    asked: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    foreseen: list[Foreseen] = field(default_factory=list)
    state: object = None
    log: MeetingLog = field(default_factory=MeetingLog)

    def keeps(self, number: int) -> bool:
        """Whether the model of an iteration is to be shown."""
        return number % max(1, self.horizon // self.most) == 0 or number in (1, self.horizon)

    def see(self, iteration: Iteration[Any], model: FloatArray) -> None:
        """Take note of one iteration and the model after it."""
        self.state = iteration.state
        if self.keeps(iteration.number):
            self.models[iteration.number] = model
        outcome = "answer" if iteration.refusal is None else iteration.refusal.reason
        self.log.note(iteration.number, iteration.query.owner, outcome)
        if iteration.refusal is not None:
            self.refusals.append((iteration.refusal.owner, iteration.refusal.reason))
        else:
            self.note(iteration.query.owner, iteration.query.kind, iteration.query.share, iteration.query.before)

    def note(self, owner: str, kind: str, share: int, before: int) -> None:
        """An owner has answered."""
        self.asked.setdefault(owner, []).append((kind, share, before))


@dataclass(frozen=True, slots=True)
class Findings:
    """Fitness measured on all records: exact, and not private."""

    best_fitness: float
    fitness: float
    relative: float
    public: float | None
    alone: tuple[float, ...]
    path: tuple[tuple[int, float], ...]
    best_model: FloatArray = field(compare=False, repr=False)

    @property
    def cost_of_privacy(self) -> float:
        """CoP = f(θ_L) − f(θ*)."""
        return self.fitness - self.best_fitness

    @property
    def alone_median(self) -> float:
        """ψ of the median owner's own model."""
        return float(np.median(self.alone))


def measure(
    objective: Objective,
    samples: Sequence[Sample],
    study: TrainingPlan,
    watch: Watch,
    model: FloatArray,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> Findings:
    """Compare the trained model with the best one, with each owner's own and with the public one."""
    joint = Sample.join(samples)
    best_model = minimise(objective, joint)
    best = objective.fitness(joint, best_model)
    public = [] if study.public_model is None else [objective.project(study.public_model)]
    models = chain([model], public, (minimise(objective, sample) for sample in samples), watch.models.values())
    relative = []
    for done, theta in enumerate(models, start=1):
        tell(done, len(samples) + len(watch.models) + 2)
        relative.append(relative_fitness(objective.fitness(joint, theta), best))
    first = 1 + len(public)
    return Findings(
        best_fitness=best,
        fitness=objective.fitness(joint, model),
        relative=relative[0],
        public=relative[1] if public else None,
        alone=tuple(relative[first : first + len(samples)]),
        path=tuple(zip(watch.models, relative[first + len(samples) :], strict=True)),
        best_model=best_model,
    )
