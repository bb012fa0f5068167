"""`verdict`: should an owner join? Decided at home, before anybody is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import msgspec
import polars as pl

from copriv.api.plan_settings import PlanSettings, PublicStudy, format_of, read_public
from copriv.api.settings import require_known
from copriv.api.tables import Table, as_lazy
from copriv.errors import BadInput, BadTable
from copriv.losses.metrics import Metrics, little_to_learn
from copriv.owner.fit import Fit, fit_at_home
from copriv.owner.own_models import ModelKind
from copriv.planning.advice import Advice, Adviser, Decision, others_of
from copriv.planning.alone import OwnModel
from copriv.planning.at_home import AtHome, HomeAdvice, HomeAdviser
from copriv.planning.break_even import BreakEven, break_even
from copriv.planning.candidate import Candidate
from copriv.planning.scenario import Scenario
from copriv.privacy.guarantee import UNITS
from copriv.records.load_owner import load_owner
from copriv.records.people import count_people
from copriv.records.table import count_rows
from copriv.report.advice import VerdictTold, explain

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Verdict:
    """What an owner should do; made by `verdict`. Its figures come from the owner's records and stay at home.

    Args:
        scenario: who would train, with the owner's own size.
        candidate: what would be done together, and what is forecast of it.
        advice: ψ of both models, on everybody's records.
        break_even: from which ε, and from how many owners on joining pays.
        told: all figures, as `to_dict` gives them.
        fit: how the owner's records differ from the public rows.
        at_home: what models are worth on the owner's own records, and what follows.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 40, "rate": [9.5, 8.2, 7.4, 5.1, 8.0] * 40})
    >>> verdict(table.head(60), table, Scenario([60] * 5), target="rate", rule="newton", features=1).scenario.owners
    5
    """

    scenario: Scenario
    candidate: Candidate
    advice: Advice
    break_even: BreakEven
    told: VerdictTold
    fit: Fit
    at_home: HomeAdvice

    @property
    def decision(self) -> Decision:
        """join, stay, or either, by the owner's own records."""
        return self.at_home.advice

    @property
    def gain(self) -> float:
        """By which share joining should lower the loss on the owner's own records, against what needs nobody."""
        return self.at_home.gain

    @property
    def models(self) -> dict[ModelKind, Metrics]:
        """Figures on the owner's own records: cross-validated, and forecast for the joint and the personal model."""
        return self.at_home.metrics

    @property
    def interval(self) -> tuple[float, float]:
        """Where ψ of the joint model lies with a probability of 95 %."""
        return self.advice.interval

    @property
    def words(self) -> str:
        """What to do, and what it rests on."""
        return self.told.words

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        found: dict[str, Any] = msgspec.to_builtins(self.told)
        return found

    def to_polars(self) -> pl.DataFrame:
        """ψ on everybody's records, one row a model: joint, own, and of the public rows."""
        low, high = self.interval
        alone = self.advice.alone
        return pl.DataFrame(
            {
                "model": ["joint", "own", "public"],
                "relative_fitness": [self.told.joint, alone.psi, alone.public],
                "low": [low, None, None],
                "high": [high, None, None],
                "standard_error": [self.advice.joint.standard_error, alone.standard_error, None],
            }
        )

    def _repr_html_(self) -> str:
        return f"<p>{self.words}</p>{self.to_polars()._repr_html_()}"


def verdict(
    mine: Table,
    public: Table,
    scenario: Scenario,
    *,
    target: str | None = None,
    tell: Tell = lambda _done, _total: None,
    **settings: Unpack[PlanSettings],
) -> Verdict:
    """Join or not? Own, own + public and public model are judged here, on the owner's records; the rest is forecast.

    Args:
        mine: the owner's records: a path or a table. They stay here.
        public: public rows; None for those beside `study`.
        scenario: who would train, this owner among them: its size is that of `mine`, so one of the records has to be
            that, or all have to be the same.
        target: the column to predict.
        tell: is told how many of the owner's rows are read.
        **settings: see `PlanSettings`: what is settled beforehand.

    Raises:
        BadInput: a setting makes no sense, a table cannot be read, or nobody else would take part.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 40, "rate": [9.5, 8.2, 7.4, 5.1, 8.0] * 40})
    >>> found = verdict(table.head(60), table, Scenario([60] * 5), target="rate", rule="newton", features=1)
    >>> found.decision in ("join", "stay", "either"), found.fit.reading
    (True, 'alike')
    """
    require_known(settings, PlanSettings, "verdict")
    known = read_public(public, target, settings, scenario)
    _require_rows(known)
    own = load_owner(as_lazy(mine, format_of(settings)), known.dictionary, person=known.person, tell=tell).sample
    judged = own.usable()
    joined = _joined(scenario, judged.records, own.records)
    adviser = Adviser(known.evidence, known.spec, known.study)
    model = adviser.yardstick.look_at(judged)
    fit = fit_at_home(own, known.evidence.objective.loss, known.summary(), known.dictionary)
    home = AtHome.of(judged, adviser.yardstick, known.dictionary.target, alike=fit.reading == "alike")
    by_home = HomeAdviser(adviser, home, fits=fit.reading != "does not fit")
    found = by_home.judge(model, joined)
    turning = break_even(by_home, model, joined)
    told = _tell(found, turning, joined, (model, own.records, fit))
    told.unit = UNITS["record" if known.person is None else "person"]
    told.caveats.extend(() if known.choice is None else known.choice.notices)
    return Verdict(joined, adviser.joint(joined), found.psi, turning, told, fit, found)


def consortium(
    mine: Table,
    owners: int | None,
    epsilon: str,
    delta: float,
    *,
    records: str | None,
    others: str | None,
    person: str | None = None,
) -> Scenario:
    """This owner and others of the sizes that are told; of its own size where none are. Whoever asks comes first."""
    if owners is not None and owners < 2:
        raise BadInput(f"--owners is {owners}", remedy="say how many there would be, two at least", value=owners)
    if records is not None and others is not None:
        raise BadInput("--records and --others", remedy="give one of them", value=others)
    if records is not None:
        return Scenario.parse(owners, records, epsilon, delta)
    own = str(count_rows(as_lazy(mine)) if person is None else count_people(as_lazy(mine), person))
    if others is None:
        return Scenario.parse(owners, own, epsilon, delta)
    sizes = [part.strip().replace("_", "") for part in others.split(",")]
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise BadInput(
            f"--others is {others!r}",
            remedy="give the number of records of each other owner, separated by commas: --others 5000,12000",
            value=others,
        )
    if owners not in {None, len(sizes) + 1}:
        raise BadInput(
            f"--others names {len(sizes)} owners besides you, and --owners is {owners}",
            remedy="leave --owners out, or name all the others",
            value=owners,
        )
    return Scenario.parse(len(sizes) + 1, ",".join((own, *sizes)), epsilon, delta)


def _require_rows(known: PublicStudy) -> None:
    rows, parameters = known.evidence.sample.usable().records, known.dictionary.parameters
    if rows <= parameters:
        raise BadTable(
            f"{rows} public rows with a target for {parameters} parameters",
            remedy="give more public rows, or fewer --features",
            value=rows,
        )


def _joined(scenario: Scenario, usable: int, records: int) -> Scenario:
    """The scenario with the owner's own size in its place: where its rows are counted, or anywhere if all are alike."""
    sizes = list(scenario.records)
    if records in sizes:
        sizes[sizes.index(records)] = usable
    elif len(set(sizes)) == 1:
        sizes[0] = usable
    elif usable not in sizes:
        raise BadInput(
            f"your table has {records} records, and none of the owners has",
            remedy="name your own size among the records, or give those of the others: --others",
            value=records,
        )
    return replace(scenario, records=tuple(sizes))


def _tell(home: HomeAdvice, turning: BreakEven, scenario: Scenario, own: tuple[OwnModel, int, Fit]) -> VerdictTold:
    low, high = scenario.epsilon_range
    (model, records, fit), found, known = own, home.psi, home.known
    return VerdictTold(
        verdict=home.advice,
        gain=home.gain,
        gain_interval=home.gain_interval,
        joint_gain=home.joint_gain,
        joint_interval=home.joint_interval,
        without=known.without,
        models=home.metrics,
        alone=found.alone.psi,
        alone_standard_error=found.alone.standard_error,
        joint=found.expected,
        interval=found.interval,
        ratio_interval=found.ratio,
        public=found.alone.public,
        break_even_epsilon=turning.epsilon.expected,
        break_even_epsilon_interval=(turning.epsilon.perhaps, turning.epsilon.certain),
        break_even_owners=_whole(turning.owners.expected),
        break_even_owners_interval=(_whole(turning.owners.perhaps), _whole(turning.owners.certain)),
        owners=scenario.owners,
        records=records,
        others=others_of(model, scenario),
        epsilon=low if low == high else (low, high),
        delta=scenario.delta,
        words=explain(home, turning, scenario),
        caveats=list(found.joint.caveats),
        fit=fit,
        warning=little_to_learn(known.metrics[known.without]),
    )


def _whole(owners: float | None) -> int | None:
    return None if owners is None else int(owners)
