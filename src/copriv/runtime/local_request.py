"""What a run on one machine is asked to be, as it was said and as it is kept to be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from copriv.records.file_format import FileFormat, parse_format

Promised = str | list[str] | dict[str, str] | None
Rates = list[float] | dict[str, float] | None


class Loading(msgspec.Struct, frozen=True, kw_only=True):
    """How a table becomes owners with records; None where a default fits the table."""

    data: Path | None = None
    target: str | None = None
    public: Path | None = None
    public_rows: int | None = None
    shuffle: bool = False
    ordinal: bool = False
    positive_above: float | None = None
    dictionary: Path | None = None
    features: int | str | None = None
    skip: tuple[str, ...] = ()
    synthetic: Literal["lending", "hospital"] = "lending"
    owner_column: str | None = None
    owners: int | None = None
    min_records: int = 0
    records_per_owner: int | None = None
    loss: str = "squared"
    seed: int | None = None
    positive: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    dates: str | None = None
    shuffle_seed: int | None = None
    exposure: str | None = None
    offset: str | None = None
    person: str | None = None
    rows_cap: int | None = None
    weigh: str | None = None

    @property
    def rows_seed(self) -> int:
        """Of the order of rows: its own, else that of everything else."""
        return (self.seed or 0) if self.shuffle_seed is None else self.shuffle_seed

    def format(self) -> FileFormat:
        """How the files are written, where their names, first bytes and headers do not tell."""
        return parse_format(encoding=self.encoding, delimiter=self.delimiter, decimal=self.decimal, dates=self.dates)


class TrainRequest(Loading, frozen=True, kw_only=True):
    """Everything that a run is asked to be.

    Args:
        epsilon: one for all, one an owner (a list, or text with commas), or by the owner's name.
        epsilons: a file of them instead.
        given_rates: of the owners' clocks; or `rates`, a file of them.
        validate: the part of every budget that validates the model on records that are held back; 0 for none.
        held_back: the share of every owner's records that is.
        in_memory: whether the records are those of a table in memory, which nobody can read again later.
    """

    epsilon: Promised = None
    epsilons: Path | None = None
    delta: float = 0.0
    accountant: Literal["pld", "zcdp"] = "pld"
    answers: int | None = None
    clip: float | None = None
    simulate: bool = False
    huber_threshold: float = 0.25
    rule: str = "auto"
    horizon: int = 1000
    step: float | None = None
    rho: float | None = None
    central: str = "proof"
    regularization: float = 1e-5
    box: float | None = None
    rates: Path | None = None
    given_rates: Rates = None
    schedule: Path | None = None
    ledgers: Path | None = None
    study: Path | None = None
    budget: str | None = None
    version_of: Path | None = None
    unrelated: bool = False
    out: Path | None = None
    in_memory: bool = False
    validate: float = 0.0
    held_back: float = 0.2


def loading_of(request: Loading) -> Loading:
    """The part of a request that says how a table is read."""
    return Loading(**{name: getattr(request, name) for name in Loading.__struct_fields__})


@dataclass(frozen=True, slots=True)
class Person:
    """Who runs something, and how it is asked; nobody is there to be asked if `ask` is None."""

    name: str = "unknown user"
    ask: Callable[[str], bool] | None = None


class Start(msgspec.Struct, frozen=True):
    """How a run was started, kept in its folder so that it can be resumed."""

    options: TrainRequest
    seed: int

    def write(self, folder: Path) -> None:
        """Keep it."""
        (folder / "start.json").write_bytes(msgspec.json.encode(self, enc_hook=_text_from_path))

    @classmethod
    def read(cls, folder: Path) -> Start:
        """How the run in a folder was started."""
        return msgspec.json.decode((folder / "start.json").read_bytes(), type=cls, dec_hook=_path_from_text)


def _text_from_path(value: object) -> str:
    return str(Path(str(value)).absolute())


def _path_from_text(kind: type, value: object) -> object:
    return Path(str(value)) if issubclass(kind, Path) else value
