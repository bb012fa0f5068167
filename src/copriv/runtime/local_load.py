"""From a request to records: the user's table or a generated one, reduced and divided. Nothing is written or spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.planning.default_features import features_for
from copriv.planning.feature_choice import FeatureChoice
from copriv.planning.feature_contest import choose_features
from copriv.planning.feature_trade import public_distance
from copriv.protocol.study_file import read_study
from copriv.records import hospital_like, lending_like
from copriv.records.dictionary import Dictionary
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.load import Choose, Intake, LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.people import choose_people
from copriv.records.table import count_rows, has_header, open_table
from copriv.records.target import OF_TARGET, TargetChoice
from copriv.runtime.events import Note, Progress, Tell, Warned, counting
from copriv.runtime.local_request import Loading, TrainRequest, loading_of
from copriv.runtime.local_spec import largest_epsilon, rule_of, spec_for
from copriv.vectors import IntArray

SYNTHETIC_OWNERS = 10
SYNTHETIC_RECORDS = 10_000
SYNTHETIC_PUBLIC = 10_000
_MOST_KEPT = 2
_OF_KEEPING = ("out", "ledgers", "budget", "version_of")


@dataclass(frozen=True, slots=True)
class Held:
    """A table in memory, and what it is called."""

    table: pl.LazyFrame
    name: str = "a table in memory"


@dataclass(frozen=True, slots=True)
class Sources:
    """Tables in memory that stand in for files; what was read last is kept, so that many runs read it once."""

    data: Held | None = None
    public: Held | None = None
    _kept: dict[bytes, Intake] = field(default_factory=dict, repr=False)

    @property
    def generated(self) -> bool:
        """Whether there is no table in memory to learn from."""
        return self.data is None

    def intake(self, loading: Loading, tell: Tell) -> Intake:
        """The records, read now or before."""
        key = _key(loading)
        if key not in self._kept:
            found = read_records(loading, self, tell)
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = found
        return self._kept[key]


def has_data(loading: Loading, sources: Sources) -> bool:
    """Whether there are records of somebody, and not generated ones."""
    return loading.data is not None or sources.data is not None


def has_public(loading: Loading, sources: Sources) -> bool:
    """Whether public rows have a table of their own."""
    return loading.public is not None or sources.public is not None


def settle_public_rows(loading: Loading, sources: Sources, intake: Intake) -> int:
    """How many of the table's last rows were taken as public: as asked for, or what fits the table."""
    if loading.public_rows is not None:
        return loading.public_rows
    return 0 if has_public(loading, sources) or intake.public is None else intake.public_rows


def read_records(loading: Loading, sources: Sources, tell: Tell) -> Intake:
    """The table of the user, or a synthetic one, reduced and divided."""
    name, (owners, per_owner) = _target_name(loading, sources), _sizes(loading, sources)
    _require_labels(loading)
    rows = 0 if has_data(loading, sources) else _synthetic_rows(loading, sources)
    # Generated loans come oldest first; ten banks lend side by side, not one after another.
    order = shuffled_rows(rows, loading.rows_seed) if rows else None
    public, count = _public_table(loading, sources), counting(tell, "reading records")
    tell(Progress("reading records"))
    choice = TargetChoice.for_loss(loading.loss, name, **{each: getattr(loading, each) for each in OF_TARGET})
    partition = Partition(loading.owner_column, owners, per_owner, loading.min_records)
    header = sources.data is not None or loading.data is None or has_header(loading.data)
    person = choose_people(loading.person, loading.rows_cap, loading.weigh)
    plan = LoadSpec(choice, partition, _features(loading), _public_rows(loading, sources), loading.skip, header, person)
    agreed = None if loading.dictionary is None else read_dictionary(loading.dictionary)
    notes: list[str] = []
    if rows:
        make = lending_like.generate if loading.synthetic == "lending" else hospital_like.generate
        table = make(rows, seeded(loading.rows_seed, "records")).lazy()
    else:
        table = _open(loading, sources, agreed, notes, count)
        order = _wanted_order(loading, table)
    chosen: list[FeatureChoice] = []
    choose = _choosing(loading, tell, chosen)
    intake = load_consortium(table, plan, public=public, order=order, dictionary=agreed, tell=count, choose=choose)
    notices = (*notes, *(words for each in chosen for words in each.notices), *intake.notices)
    return replace(intake, notices=notices, **_known_of(chosen))


def _known_of(chosen: Sequence[FeatureChoice]) -> dict[str, Any]:
    """Figures of the public model that the choice of features has cross-validated, if there was one."""
    return {
        name: value
        for each in chosen
        for name, value in (("public_figures", each.taken.public), ("public_distance", public_distance(each.taken)))
    }


def _choosing(loading: Loading, tell: Tell, chosen: list[FeatureChoice]) -> Choose:
    """Chooses features for what owners promise, and keeps what it has chosen."""

    def choose(rows: PublicRows, owners: Sequence[tuple[str, int]]) -> FeatureSpec:
        if not isinstance(loading, TrainRequest):
            raise BadInput(
                "features auto, and nobody has said what owners promise",
                remedy="train, which knows epsilon, or name the features: 10, all, pls:10+score",
                value="auto",
            )
        names, sizes = zip(*owners, strict=True)
        stage = counting(tell, "comparing features on the public rows")
        chosen.append(choose_features(rows, sizes, spec_for(loading, names), stage))
        return chosen[-1].taken.spec

    return choose


def _features(loading: Loading) -> int | str:
    """Those that are asked for, else those that fit the rule; before a rule is known, those that fit most."""
    return features_for(loading.features, rule_of(loading) if isinstance(loading, TrainRequest) else "auto")


def settled_features(loading: Loading, intake: Intake) -> int | str | None:
    """The features that were fitted, where they were left open: a run that goes on takes these, and chooses nothing."""
    named = loading.features is not None and not FeatureSpec.parse(loading.features).auto
    return loading.features if named or intake.features is None else str(intake.features)


def tell_reading(loading: Loading, intake: Intake, tell: Tell) -> None:
    """What a person should know of how the table was read."""
    for notice in intake.notices:
        tell(Note(notice))
    if intake.repeated is not None and isinstance(loading, TrainRequest):
        tell(Warned(intake.repeated.words(largest_epsilon(loading, [owner.name for owner in intake.owners]))))
    if loading.shuffle:
        tell(Note(f"rows shuffled with seed {loading.rows_seed}"))


def read_dictionary(path: Path) -> Dictionary:
    """The dictionary of a study file or of a model."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}", remedy="give a study.toml or a model.json", value=str(path))
    if path.suffix == ".toml":
        return Dictionary.from_study(read_study(path.read_text(encoding="utf-8")).dictionary)
    try:
        return msgspec.json.decode(path.read_bytes(), type=_WithDictionary).dictionary
    except msgspec.DecodeError as problem:
        raise BadInput(
            f"{path} is not a model: {problem}", remedy="give the model.json of a run folder", value=str(path)
        ) from problem


class _WithDictionary(msgspec.Struct):
    """What a model.json holds, as far as it matters here."""

    dictionary: Dictionary


def _wanted_order(loading: Loading, table: pl.LazyFrame) -> IntArray | None:
    """The order of the user's rows; None for as they are. People's rows are never shuffled."""
    if loading.shuffle and loading.person is not None:
        raise BadInput(
            "--shuffle with --person: how many rows one person has would decide where everybody is",
            remedy="leave --shuffle out; write the people of the file in another order, or give --public FILE",
            value=loading.person,
        )
    return shuffled_rows(count_rows(table), loading.rows_seed) if loading.shuffle else None


def shuffled_rows(rows: int, seed: int) -> IntArray:
    """The rows in the order that a seed gives them."""
    return np.asarray(seeded(seed, "shuffle").permutation(rows), dtype=np.int64)


def _key(loading: Loading) -> bytes:
    """What a reading depends on, the files' state included."""
    labels = loading.loss if loading.loss in {"logistic", "poisson", "gamma"} else ""
    # Features that are left open depend on what is promised, too.
    auto = FeatureSpec.parse(_features(loading)).auto
    plain = _without_keeping(loading) if auto else msgspec.structs.replace(loading_of(loading), loss=labels)
    files = [path.stat() for path in (loading.data, loading.public, loading.dictionary) if path and path.exists()]
    return msgspec.json.encode((plain, [(file.st_size, file.st_mtime_ns, file.st_ino) for file in files]), enc_hook=str)


def _without_keeping(loading: Loading) -> Loading:
    """The same without what says where a run is kept and charged, which chooses no features."""
    if not isinstance(loading, TrainRequest):
        return loading
    return msgspec.structs.replace(loading, **dict.fromkeys(_OF_KEEPING), simulate=False, in_memory=False)


def _require_labels(loading: Loading) -> None:
    """Refuse a threshold for labels where the loss has none."""
    if loading.positive_above is not None and loading.loss != "logistic":
        raise BadInput(
            "--positive-above makes labels of the target, which only the logistic loss uses",
            remedy="add --loss logistic, or leave it out",
            value=loading.positive_above,
        )


def _target_name(loading: Loading, sources: Sources) -> str:
    if not has_data(loading, sources):
        return loading.target or {"lending": "int_rate", "hospital": "Length of Stay"}[loading.synthetic]
    if loading.target is None:
        raise BadInput("--data without --target", remedy="say which column to predict: --target COLUMN")
    return loading.target


def _sizes(loading: Loading, sources: Sources) -> tuple[int | None, int | None]:
    """How many owners of how many records, where rows are divided by number; generated ones by default."""
    owners, per_owner = loading.owners, loading.records_per_owner
    if has_data(loading, sources) or loading.owner_column is not None:
        return owners, per_owner
    return SYNTHETIC_OWNERS if owners is None else owners, SYNTHETIC_RECORDS if per_owner is None else per_owner


def _public_rows(loading: Loading, sources: Sources) -> int | None:
    """How many of the last rows are public; None for what fits the table."""
    if loading.public_rows is None and not has_data(loading, sources):
        return SYNTHETIC_PUBLIC
    return loading.public_rows


def _synthetic_rows(loading: Loading, sources: Sources) -> int:
    """As many generated rows as the owners and the public need."""
    owners, per_owner = _sizes(loading, sources)
    public = 0 if has_public(loading, sources) else _public_rows(loading, sources) or 0
    return (owners or SYNTHETIC_OWNERS) * (per_owner or SYNTHETIC_RECORDS) + public


def _open(
    loading: Loading, sources: Sources, agreed: Dictionary | None, notes: list[str], count: Callable[[int, int], None]
) -> pl.LazyFrame:
    """The user's table, not read yet; JSON lines are read for the agreed columns, if there are some."""
    if sources.data is not None:
        return sources.data.table
    if loading.data is None:
        raise BadInput("there is no table", remedy="give --data")
    named = [] if agreed is None else [*agreed.required_columns(), *agreed.target.columns, loading.owner_column or ""]
    names = [name for name in named if name]
    return open_table(loading.data, loading.format(), names=names, tell=count, note=notes.append)


def _public_table(loading: Loading, sources: Sources) -> pl.LazyFrame | None:
    if sources.public is not None:
        return sources.public.table
    return None if loading.public is None else open_table(loading.public, loading.format())
