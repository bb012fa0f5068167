"""The groups of options that commands share. An option means the same wherever it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from copriv.cli.command import option

if TYPE_CHECKING:
    from copriv.records.cluster import Machine
    from copriv.records.file_format import FileFormat

DATA, OWNERS, PRIVACY, LEARNING, OUTPUT = "Data", "Owners", "Privacy", "Learning", "Output"

# Of this project; others may be installed.
_LOSSES = "squared|huber|logistic|poisson|gamma|..."
RULES = "auto|newton|statistics|averaged|paper|..."
CentralName = Literal["proof", "printed"]
AccountantName = Literal["pld", "zcdp"]
WeighName = Literal["person", "row"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a table becomes features and a target."""

    target: Annotated[str | None, option("--target", DATA, "The column to predict.")] = None
    skip: Annotated[
        list[str] | None, option("--skip", DATA, "Leave this column out, as one that gives the target away. Repeat it.")
    ] = None
    ordinal: Annotated[bool, option("--ordinal", DATA, "Number the categories of a text target 1, 2, 3 …")] = False
    positive_above: Annotated[
        float | None, option("--positive-above", DATA, "For the logistic loss: targets above this are positive.")
    ] = None
    positive: Annotated[
        str | None, option("--positive", DATA, "For the logistic loss: the category that is positive, against others.")
    ] = None
    exposure: Annotated[
        str | None, option("--exposure", DATA, "For the Poisson and Gamma loss: how long, or among how many. A column.")
    ] = None
    offset: Annotated[
        str | None, option("--offset", DATA, "The same, if the column has the logarithm of the exposure.")
    ] = None
    features: Annotated[
        str | None, option("--features", DATA, "How many, or which: 10, pls:10+score, all … (default: auto)", "N|SPEC")
    ] = None
    person: Annotated[
        str | None, option("--person", PRIVACY, "Protect people, not rows: the column that says whose a row is.")
    ] = None
    rows_cap: Annotated[int | None, option("--rows-cap", PRIVACY, "The most rows of a person that count.")] = None
    weigh: Annotated[
        WeighName | None, option("--weigh", PRIVACY, "What weighs alike: every person (default), or every row.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How a file is written, where its name, first bytes and header do not tell."""

    encoding: Annotated[
        str | None, option("--encoding", DATA, "How a text file is written: utf-8, utf-16, latin-1, cp1252 …")
    ] = None
    delimiter: Annotated[
        str | None, option("--delimiter", DATA, "What separates the cells of CSV: one character, or tab.")
    ] = None
    decimal: Annotated[str | None, option("--decimal", DATA, "The decimal mark of numbers in CSV: . or ,")] = None
    dates: Annotated[str | None, option("--dates", DATA, "How days are written, as %d.%m.%Y or %m/%d/%Y.")] = None


def read_options(options: FileOptions) -> FileFormat:
    """The format of the files that a command reads."""
    from copriv.records.file_format import parse_format

    return parse_format(
        encoding=options.encoding, delimiter=options.delimiter, decimal=options.decimal, dates=options.dates
    )


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """What reading may use."""

    memory: Annotated[
        str | None, option("--memory", DATA, "Read larger records anew for every answer (default: half).", "2GiB")
    ] = None
    dask: Annotated[str | None, option("--dask", DATA, "Your Dask cluster helps to read: ADDRESS, or local.")] = None

    def machine(self) -> Machine:
        """The same, for whoever reads."""
        from copriv.records.cluster import Machine

        return Machine(self.memory, self.dask)


@dataclass(frozen=True, kw_only=True)
class FromPublicRows:
    """Rows that nothing protects."""

    public: Annotated[
        Path | None, option("--public", DATA, "A table of public rows (with --study: those beside it).")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """A study whose terms are agreed already."""

    study: Annotated[
        Path | None, option("--study", LEARNING, "Under the terms of this study file, as `copriv plan` writes it.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Losing:
    """What a mistake costs."""

    loss: Annotated[str, option("--loss", LEARNING, "What a mistake costs.", _LOSSES)] = "squared"
    huber_threshold: Annotated[
        float, option("--huber-threshold", LEARNING, "Residual (target scaled to ±1) beyond which it grows linearly.")
    ] = 0.25
    regularization: Annotated[
        float, option("--regularization", LEARNING, "Weight of the squared length of the model.")
    ] = 1e-5


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What is settled beforehand; all else is for the planner to choose, on public rows."""

    rule: Annotated[
        str, option("--rule", LEARNING, "How answers become a model; auto: what should cost least.", RULES)
    ] = "auto"
    horizon: Annotated[int, option("--horizon", LEARNING, "Meetings (T) of the paper's rule.")] = 1000
    step: Annotated[float | None, option("--step", LEARNING, "The rule's step (default: by public rows).")] = None
    clip: Annotated[float | None, option("--clip", LEARNING, "The clip (default: by public rows).")] = None
    answers: Annotated[int | None, option("--answers", LEARNING, "The most answers of an owner.")] = None
    central: Annotated[
        CentralName, option("--central", LEARNING, "Central step of the paper's rule: of the proof, or as printed.")
    ] = "proof"


@dataclass(frozen=True, kw_only=True)
class Promising:
    """What owners promise about any one record (replace-one)."""

    epsilon: Annotated[
        str, option("--epsilon", PRIVACY, "Promised about any one record: a number, or one an owner.", "E[,E…]")
    ] = "1"
    delta: Annotated[float, option("--delta", PRIVACY, "0 for pure epsilon (Laplace); above: Gaussian noise.")] = 0.0


@dataclass(frozen=True, kw_only=True)
class Validating:
    """What held-back records are asked."""

    validate: Annotated[
        float, option("--validate", PRIVACY, "Part of every budget that validates the model on held-back records.")
    ] = 0.0
    held_back: Annotated[
        float, option("--held-back", PRIVACY, "With --validate: the share of every owner's records held back.")
    ] = 0.2


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Owners that are known by their sizes only."""

    owners: Annotated[int | None, option("--owners", OWNERS, "How many owners would train together.")] = None
    records: Annotated[
        str, option("--records", OWNERS, "Records of each owner: one number, or one an owner.", "N[,N…]")
    ] = "10000"


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """Chance that can be repeated."""

    seed: Annotated[
        int, option("--seed", LEARNING, "Seeds shuffle, schedule and simulations; noise on records is never seeded.")
    ] = 0


@dataclass(frozen=True, kw_only=True)
class AsJson:
    """For other programs."""

    as_json: Annotated[bool, option("--json", OUTPUT, "Print one JSON object.")] = False


def typed(options: object, given: tuple[str, ...], known: type) -> dict[str, Any]:
    """Of the options that a user has typed, the settings that a verb knows; all else has the verb's defaults."""
    names = (name for name in given if name in known.__annotations__)
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def as_json(found: dict[str, Any]) -> str:
    """One JSON object, without NaN."""
    import msgspec

    return msgspec.json.encode(found).decode()
