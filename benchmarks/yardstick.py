"""Are owners told the truth about their own records? Verdicts and personal models against records that were held out.

Half of every owner's records train: the joint model (simulated noise), and everything that an owner makes at home. The
verdict after training is `owner verdict`, that before it `copriv verdict`. Both are judged on the other half.

- decided: the verdict says that joining pays, or that it does not; right: of the decided, those for whom it does on the
  held-out half. "Did not pay": the joint model is worse than the best that needs nobody, as chosen at home;
- clear: of the decided, those whose held-out half shows a difference of more than two standard errors, either way;
  right if clear: of these. That half is no larger than the other, so that small differences are a coin toss there;
- pays: owners whose joint or personal model, whichever did better at home, is better on the held-out half than the best
  that needs nobody, as chosen at home;
- personal: owners whose personal model is at or below the best of own, own + public and joint on the held-out half,
  within two standard errors of the paired differences. That best is known in hindsight only: of three models that are
  equally good, the luckiest is compared with. *at home*: the same against the one that did best at home. *told apart*:
  one half of the held-out records says which is best, and the other half compares; then the other way round, each way
  counting one half. Nothing is chosen by the records that compare, which are half as many;
- losses over the joint model's, on held-out records, mean over owners: of the own, the public, the personal model, and
  of the verdict's choice. "Always join" is 1: it loses where the choice is below.

With "all features" they are those that the plan chooses (`--features auto`), else ten components. Constants were chosen
on hospitals, states, schools and blocks of loans with ten components. All other tables were held out of every choice.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import copriv as cp
from benchmarks.datasets import data_folder
from benchmarks.side_by_side import tell
from copriv.api.data import Data
from copriv.losses.objective import Objective
from copriv.losses.passes import record_values
from copriv.losses.sample import Sample
from copriv.owner.comparison import STANDARD_ERRORS, Comparison, cross_validate, summarise
from copriv.owner.fit import fit_at_home
from copriv.owner.own_models import Centres, ModelKind
from copriv.planning.advice import Adviser
from copriv.planning.at_home import AtHome, HomeAdvice
from copriv.planning.outline import gather_evidence
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec
from copriv.protocol.public_summary import summarise as summarise_public
from copriv.records.dictionary import ROW_NORM, Dictionary
from copriv.records.hospital import HOSPITAL
from copriv.vectors import FloatArray

SIMPLE: tuple[ModelKind, ...] = ("own", "own_public", "joint")
COLUMNS = (
    "owners", "pays", "decided", "right", "clear", "right if clear", "decided before", "right before", "personal",
    "at home", "told apart", "own", "public", "personal loss", "choice",
)  # fmt: skip
AIM, PERSONAL_AIM = 0.9, 0.95
MOST_ROWS = 60_000
ALL = slice(None)
# Of public rows, halves and noise; where the plan chooses features, the first one only.
DRAWS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Scene:
    """A table, its owners (a column, or so many blocks), public rows, and ε of everybody."""

    name: str
    file: str
    target: str
    owners: str | int
    public_rows: int
    epsilon: float
    without: tuple[str, ...] = ()
    loss: str = "squared"
    fewest: int = 100
    held_out: bool = False
    features: str | None = None


_STAY = ("Length of Stay", "APR MDC Description")
_PARTY = ("therm_gop", "therm_bmp", "mpti")
_GRADES = ("grade", "sub_grade", "installment")
_SPECIALTY = ("APR MDC Code", "APR DRG Code", "APR DRG Description", *HOSPITAL.irrelevant)
SCENES = (
    Scene("hospitals", "hospital_heart_failure_2024", "los", "hospital_id", 3000, 1.0, HOSPITAL.irrelevant),
    Scene("hospitals, few public", "hospital_heart_failure_2024", "los", "hospital_id", 200, 10.0, HOSPITAL.irrelevant),
    Scene("states", "lending_2007_2011", "int_rate", "addr_state", 5000, 1.0, _GRADES),
    Scene("states, few public", "lending_2007_2011", "int_rate", "addr_state", 200, 10.0, _GRADES),
    Scene("blocks of loans", "lending_2007_2011", "int_rate", 30, 300, 10.0, _GRADES),
    Scene("schools", "school_star", "math", "sch", 3000, 1.0, ("read", "person")),
    Scene("states, all features", "lending_2007_2011", "int_rate", "addr_state", 1000, 3.0, _GRADES, features="auto"),
    Scene("airlines", "flights_2013", "arr_delay", "carrier", 3000, 1.0, ("dep_delay",), held_out=True),
    Scene("airlines, few public", "flights_2013", "arr_delay", "carrier", 200, 10.0, ("dep_delay",), held_out=True),
    Scene("specialties", *("hospital_2022", *_STAY), 1500, 1.0, _SPECIALTY, held_out=True),
    Scene("specialties, few public", *("hospital_2022", *_STAY), 150, 10.0, _SPECIALTY, held_out=True),
    Scene(
        "airlines, all features",
        *("flights_2013", "arr_delay", "carrier", 1000, 3.0, ("dep_delay",)),
        held_out=True,
        features="auto",
    ),
    Scene("authorities", "chemistry_1997", "score", "lea", 3000, 1.0, held_out=True),
    Scene("states, parties", "party_feelings", "therm_dem", "stateabb", 3000, 1.0, _PARTY, held_out=True),
    Scene("blocks of patients", "doctor_visits", "docvis", 20, 300, 10.0, ("person", "hospvis"), held_out=True),
    Scene("blocks of customers", "churn", "churn", 10, 300, 10.0, loss="logistic", held_out=True),
)


@dataclass(frozen=True)
class Judged:
    """One owner: what it was told, and its models' losses on its held-out records, record by record."""

    told: Comparison
    before: HomeAdvice
    losses: dict[ModelKind, FloatArray]

    def is_lower(self, one: ModelKind, other: ModelKind) -> bool:
        """Whether a model is better than another on the held-out records."""
        return float(self.losses[one].mean()) < float(self.losses[other].mean())

    def best(self, some: slice = ALL) -> ModelKind:
        """The best of own, own + public and joint on some of the held-out records."""
        return min(SIMPLE, key=lambda kind: float(self.losses[kind][some].mean()))

    def within(self, rival: ModelKind, some: slice = ALL) -> bool:
        """Whether the personal model is at or below another, within two standard errors, on some of these records."""
        apart = self.losses["personal"][some] - self.losses[rival][some]
        return bool(apart.mean() <= STANDARD_ERRORS * apart.std(ddof=1) / np.sqrt(apart.size) + 1e-15)

    @property
    def told_apart(self) -> float:
        """In which share of two comparisons it is at or below the best, as other records have it."""
        halves = slice(0, None, 2), slice(1, None, 2)
        return float(np.mean([self.within(self.best(one), other) for one, other in (halves, halves[::-1])]))

    @property
    def right(self) -> bool:
        """Whether a decided verdict after training holds."""
        return self.is_lower(*self.said)

    @property
    def said(self) -> tuple[ModelKind, ModelKind]:
        """Which model is better than which, by a decided verdict after training."""
        if self.told.paid == "joined":
            return self.told.together, self.told.without
        return self.told.without, "joint"

    @property
    def clear(self) -> bool:
        """Whether the held-out records show which of the two is better."""
        one, other = self.said
        apart = self.losses[one] - self.losses[other]
        return bool(abs(apart.mean()) > STANDARD_ERRORS * apart.std(ddof=1) / np.sqrt(apart.size))

    @property
    def right_before(self) -> bool:
        """Whether a decided verdict before training holds."""
        without = self.before.known.without
        if self.before.advice == "join":
            return self.is_lower(self.before.together, without)
        return self.is_lower(without, "joint")

    @property
    def choice(self) -> ModelKind:
        """What the verdict says to use."""
        return self.told.best


def divide(scene: Scene, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, str] | None:
    """Public rows, the rows that train, those that are held out, and the column of owners."""
    folder = data_folder()
    if folder is None:
        return None
    table = pl.read_parquet(folder / f"{scene.file}.parquet").sample(fraction=1.0, shuffle=True, seed=seed)
    table = table.drop([name for name in scene.without if name in table.columns]).head(MOST_ROWS)
    column = scene.owners if isinstance(scene.owners, str) else "block"
    if isinstance(scene.owners, int):
        table = table.with_columns((pl.int_range(pl.len()) % scene.owners).alias(column))
    table = table.drop_nulls(column).with_columns(pl.col(column).cast(pl.String))
    public, private = table.head(scene.public_rows).drop(column), table.slice(scene.public_rows)
    private = private.filter(pl.len().over(column) >= 2 * scene.fewest)
    place = pl.int_range(pl.len()).over(column) % 2
    return public, private.filter(place == 0), private.filter(place == 1), column


def judge(scene: Scene, seed: int) -> list[Judged]:
    """Train, and judge every owner."""
    parts = divide(scene, seed)
    if parts is None:
        return []
    public, kept, held_out, column = parts
    data = cp.read(kept, target=scene.target, owners=column, public=public, **_features(scene, public, kept[column]))
    run = cp.train(data, scene.epsilon, simulate=True, seed=seed, loss=scene.loss)
    home = run.owners
    if home is None:
        return []
    adviser = _adviser(data, scene)
    records = tuple(int(sample.records) for sample in home.samples.values())
    dictionary = run.model.file.dictionary
    found = []
    for name, sample in home.samples.items():
        features, targets = dictionary.records_of(held_out.filter(pl.col(column) == name))
        new = dictionary.sample(features, targets).usable()
        before = told_before(adviser, sample, Scenario(records, scene.epsilon), dictionary)
        found.append(_judge(home.objective, home.centres, sample, new, dictionary, before))
    return found


def _features(scene: Scene, public: pl.DataFrame, owners: pl.Series) -> dict[str, str]:
    """Ten components, or what the plan chooses for these owners, by its name."""
    if scene.features is None:
        return {"features": "10"}
    sizes = tuple(owners.value_counts()["count"].to_list())
    plan = cp.plan(
        public, Scenario(sizes, scene.epsilon), target=scene.target, features=scene.features, loss=scene.loss
    )
    return {"features": "10" if plan.features is None else str(plan.features.to_dict()["taken"])}


def _adviser(data: Data, scene: Scene) -> Adviser:
    spec = TrainingSpec(guarantees=(), rule="auto", loss=scene.loss)
    return Adviser(gather_evidence(data.intake(scene.loss).public, spec), spec)


def told_before(adviser: Adviser, sample: Sample, scenario: Scenario, dictionary: Dictionary) -> HomeAdvice:
    """What `copriv verdict` tells."""
    known, ruler = adviser.evidence, adviser.yardstick
    summary = summarise_public(known.sample, known.objective, known.start, ROW_NORM)
    fit = fit_at_home(sample, known.objective.loss, summary, dictionary)
    used = sample.usable()
    home = AtHome.of(used, ruler, dictionary.target, alike=fit.reading == "alike")
    own = ruler.look_at(used)
    sizes = list(scenario.records)
    sizes[sizes.index(sample.records)] = used.records
    psi = adviser.judge(own, Scenario(tuple(sizes), scenario.epsilon))
    return home.advise(psi, ruler, fits=fit.reading != "does not fit")


def _judge(
    objective: Objective, centres: Centres, sample: Sample, new: Sample, dictionary: Dictionary, before: HomeAdvice
) -> Judged:
    found = cross_validate(sample, objective, centres)
    losses = {kind: record_values(objective.loss, new, theta) for kind, theta in found.models.items()}
    return Judged(summarise(found, dictionary.target), before, losses)


def tally(found: Sequence[Judged]) -> dict[str, float]:
    """Shares, and losses over the joint model's; NaN where there is nothing to count."""
    decided = [each for each in found if each.told.paid != "undecided"]
    before = [each for each in found if each.before.advice != "either"]
    chosen = [min(SIMPLE, key=lambda kind, each=each: each.told.losses[kind]) for each in found]

    def over_joint(kinds: Sequence[ModelKind]) -> float:
        pairs = zip(found, kinds, strict=True)
        return float(np.mean([each.losses[kind].mean() / each.losses["joint"].mean() for each, kind in pairs]))

    return {
        "owners": len(found),
        "pays": _share([each.is_lower(each.told.together, each.told.without) for each in found]),
        "decided": len(decided) / len(found),
        "right": _share([each.right for each in decided]),
        "clear": _share([each.clear for each in decided]),
        "right if clear": _share([each.right for each in decided if each.clear]),
        "decided before": len(before) / len(found),
        "right before": _share([each.right_before for each in before]),
        "personal": _share([each.within(each.best()) for each in found]),
        "at home": _share([each.within(rival) for each, rival in zip(found, chosen, strict=True)]),
        "told apart": float(np.mean([each.told_apart for each in found])),
        "own": over_joint(["own"] * len(found)),
        "public": over_joint(["public"] * len(found)),
        "personal loss": over_joint(["personal"] * len(found)),
        "choice": over_joint([each.choice for each in found]),
    }


def _share(true: Sequence[bool]) -> float:
    return sum(true) / len(true) if true else float("nan")


def _rows(cells: dict[str, list[Judged]]) -> Iterator[list[object]]:
    groups = {
        "all that chose constants": [
            each for scene in SCENES if not scene.held_out for each in cells.get(scene.name, [])
        ],
        "all held out": [each for scene in SCENES if scene.held_out for each in cells.get(scene.name, [])],
        "all": [each for found in cells.values() for each in found],
    }
    for name, found in (cells | groups).items():
        if found:
            told = tally(found)
            yield [name, *("none" if np.isnan(told[column]) else told[column] for column in COLUMNS)]


def main() -> None:
    """Print the table."""
    started, cells = time.perf_counter(), {}
    bars = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*bars, console=Console(stderr=True)) as progress:
        task = progress.add_task("reading", total=len(SCENES))
        for scene in SCENES:
            progress.update(task, description=f"{scene.name}, ε = {scene.epsilon:g}")
            draws = DRAWS if scene.features is None else DRAWS[:1]
            found = [each for draw in draws for each in judge(scene, draw)]
            if found:
                cells[scene.name] = found
            progress.advance(task)
    if not cells:
        print("yardstick: no data; set COPRIV_DATA")
        return
    show(cells, time.perf_counter() - started)


def show(cells: dict[str, list[Judged]], seconds: float) -> None:
    """The table, and which aims are missed."""
    held = ", ".join(scene.name for scene in SCENES if scene.held_out)
    rows = list(_rows(cells))
    tell(
        "yardstick",
        "what owners are told about their own records, against the half of them that was held out; decided and right: "
        "verdicts after training, and before it; clear: of the decided, what the held-out half can tell; "
        "personal: within two standard errors of the best of own, own + public and joint, in hindsight, as chosen at "
        "home, and as other held-out records have it; last: losses over the joint model's. "
        f"Held out of every choice: {held}. {seconds:.0f} s",
        ["owners' table", *COLUMNS],
        rows,
        width=170,
    )
    for name, *figures in rows:
        told = dict(zip(COLUMNS, figures, strict=True))
        for column, aim in (
            ("right", AIM),
            ("right before", AIM),
            ("personal", PERSONAL_AIM),
        ):
            if isinstance(told[column], float) and told[column] < aim:
                print(f"below {aim:.0%}: {name}: {column} {told[column]:.1%}")
