"""What `read` and `train` may be told: names, types, and how they become a request to the runtime."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar

import msgspec

from copriv.errors import BadInput
from copriv.losses.choose import loss_name
from copriv.losses.outside import OutsideLoss
from copriv.planning.training_spec import RuleChoice
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import resolve
from copriv.runtime.events import Event
from copriv.runtime.local_request import Loading, Person, TrainRequest

Each = float | str | Sequence[float] | Mapping[str, float]
Place = str | Path
Asked = TypeVar("Asked", bound=Loading)


class Reading(TypedDict, total=False):
    """How a table is read. Everything has a default.

    Keys:
        skip: columns to leave out, such as one that gives the target away.
        features: which features: auto (the default: the plan chooses), a number of principal components, pls:10, all …
        public_rows: how many of the last rows are public, if `public` is not given (a fifth, and at most 10,000).
        shuffle: shuffle the rows first.
        seed: of the shuffle (0).
        ordinal: number the sorted categories of a text target 1, 2, 3 …
        positive_above: for the logistic loss, targets above this are positive.
        positive: for the logistic loss, the category that is positive, against all others.
        exposure: for the Poisson and Gamma loss, the column that says how long or among how many; never a feature.
        offset: the same, if the column has the logarithm of the exposure.
        encoding, delimiter, decimal, dates: how files are written, where their names and headers do not tell.
        dictionary: features as a study.toml or a model.json has them.
        min_records: leave out owners with fewer records.
        records_per_owner: records of each block, or the most records of a named owner.
        person: the column that says whose a row is: a person is protected as one, with all rows at an owner.
        rows_cap: the most rows of a person that count.
        weigh: person (the default: people weigh alike) or row.
    """

    skip: Sequence[str]
    features: int | str
    public_rows: int
    shuffle: bool
    seed: int
    ordinal: bool
    positive_above: float
    positive: str
    exposure: str
    offset: str
    encoding: str
    delimiter: str
    decimal: str
    dates: str
    dictionary: Place
    min_records: int
    records_per_owner: int
    person: str | None
    rows_cap: int | None
    weigh: Literal["person", "row"] | None


class TrainSettings(TypedDict, total=False):
    """What a training may be told beside ε. Everything has a default.

    Keys:
        delta: 0 for pure ε (Laplace noise); above 0 for Gaussian noise.
        accountant: with δ, how answers add up: pld or zcdp.
        rule: auto, newton, statistics, averaged, paper, or one from outside: its name or its entry.
        loss: squared, huber (with `huber_threshold`), logistic, poisson, gamma, or one from outside: its name or
            the loss.
        horizon, step, rho, central: of the paper's rule.
        clip, answers, regularization, box: as the planner chooses them, unless they are given.
        validate: the part of every budget that validates the model on records held back from training (0: none).
        held_back: the share of every owner's records that is held back for that (0.2).
        rates: of the owners' clocks, one each or by name.
        seed: of schedule and simulated noise; noise on records is never seeded.
        simulate: seeded noise, ledgers in memory: repeatable, and not private.
        out: the run folder; without, ledgers and checkpoint lie beside the registry.
        ledgers: a folder of ledgers that runs on the same records share.
        budget: the most that the records may lose in all runs.
        version_of: the ledger of the records that these are a version of.
        unrelated: you sign off that records which look like known ones have none of them.
        study: a study.toml whose terms are agreed.
        schedule: the schedule.json of another run, to replay.
        tell: is told what happens.
        ask: is asked when a person has to decide.
    """

    delta: float
    accountant: Literal["pld", "zcdp"]
    rule: RuleChoice
    loss: str | OutsideLoss
    huber_threshold: float
    horizon: int
    step: float
    rho: float
    central: Literal["proof", "printed"]
    clip: float
    answers: int
    regularization: float
    box: float
    validate: float
    held_back: float
    rates: Each
    seed: int
    simulate: bool
    out: Place
    ledgers: Place
    budget: float | str
    version_of: Place
    unrelated: bool
    study: Place
    schedule: Place
    tell: Callable[[Event], None]
    ask: Callable[[str], bool]


_PATHS = ("dictionary", "out", "ledgers", "version_of", "study", "schedule")


def require_known(given: Mapping[str, object], known: type, verb: str) -> None:
    """Refuse a setting that nobody knows, naming those that exist.

    >>> require_known({"epsilonn": 1}, TrainSettings, "train")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    copriv.errors.BadInput: train knows no setting 'epsilonn' (it knows accountant, answers, ask, ...
    """
    names = sorted(known.__annotations__)
    for name in given:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise BadInput(f"{verb} knows no setting {name!r}", remedy=f"{hint}it knows {', '.join(names)}", value=name)


def loading_from(target: str | None, owners: str | int | None, reading: Mapping[str, Any]) -> Loading:
    """What a reading asks of the runtime; the tables are added later."""
    column, blocks = (owners, None) if isinstance(owners, str) else (None, owners)
    return _checked(Loading(target=target, owner_column=column, owners=blocks, **_plain(reading)))


def request_from(loading: Loading, epsilon: Each | None, settings: Mapping[str, Any]) -> TrainRequest:
    """What a training asks of the runtime."""
    known = {name: getattr(loading, name) for name in Loading.__struct_fields__}
    asked = {name: value for name, value in _plain(settings).items() if name not in ("tell", "ask")}
    if loading.shuffle and "seed" in asked:
        asked["shuffle_seed"] = loading.rows_seed
    if asked.get("rates") is not None:
        asked |= {"given_rates": _many(asked["rates"], float), "rates": None}
    if asked.get("budget") is not None:
        asked["budget"] = written(asked["budget"])
    return _checked(TrainRequest(**(known | asked | {"epsilon": promised(epsilon)})))


def promised(epsilon: Each | None) -> str | list[str] | dict[str, str] | None:
    """One ε for all, one an owner, or by the owner's name; as text, so that no digit is lost.

    >>> promised(0.5), promised([1, 2.5]), promised({"bank": 1e-3})
    ('0.5', ['1', '2.5'], {'bank': '0.001'})
    """
    if epsilon is None or isinstance(epsilon, str | int | float):
        return None if epsilon is None else written(epsilon)
    found: list[str] | dict[str, str] = _many(epsilon, written)
    return found


def written(number: float | str) -> str:
    """A number as a person would write it, to the last digit."""
    return number if isinstance(number, str) else repr(number)


def this_person(ask: Callable[[str], bool] | None = None) -> Person:
    """Whoever runs this program."""
    try:
        return Person(getpass.getuser(), ask)
    except (KeyError, OSError):
        return Person(ask=ask)


def _many(values: Any, make: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    if isinstance(values, Mapping):
        return {str(name): make(value) for name, value in values.items()}
    return [make(value) for value in values]


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as the runtime has them."""
    found = dict(given)
    for name in _PATHS:
        if found.get(name) is not None:
            found[name] = Path(found[name])
    if isinstance(found.get("rule"), RuleEntry):
        found["rule"] = resolve(found["rule"]).name
    if "loss" in found:
        found["loss"] = loss_name(found["loss"])
    if "skip" in found:
        found["skip"] = (found["skip"],) if isinstance(found["skip"], str) else tuple(found["skip"] or ())
    return found


def _checked(asked: Asked) -> Asked:
    """The same, if every value is of a type that can be meant."""
    try:
        msgspec.convert(msgspec.to_builtins(asked, enc_hook=str), type(asked), dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as problem:
        raise BadInput(
            f"a setting is of the wrong type: {problem}", remedy="correct it", value=str(problem)
        ) from problem
    return asked
