"""What report.html tells depends on records through the noisy answers alone: neighbours with the same answers agree."""

from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import msgspec
import numpy as np
import polars as pl
import pytest

import copriv as cp
from copriv.entropy import seeded
from copriv.planning.expected_quality import ExpectedQuality
from copriv.report import run_folder
from copriv.report.gather_facts import local_facts
from copriv.report.inference import INFERENCE
from copriv.report.kept_run import find_run, read_passable
from copriv.report.report_facts import Predicted
from copriv.report.report_files import FACTS
from copriv.report.report_page import report_html
from copriv.runtime import local, local_validation
from copriv.runtime.simulated_responder import SimulatedResponder

PASSED_ON = ("report.html", "report.json", "privacy.json", "privacy.html", "model.json", "schedule.json")


def _table(rows, seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.3 * generator.normal(size=rows)
    columns = {f"x{k}": x[:, k] for k in range(3)} | {"y": y, "bank": ["east", "north", "west"] * (rows // 3)}
    return pl.DataFrame(columns)


TABLE, PUBLIC = _table(240, 1), _table(150, 2).drop("bank")
# One record is replaced: by one without a target and with a value that no other has.
ODD = pl.DataFrame({"x0": 900.0, "x1": -900.0, "x2": 0.0, "y": None, "bank": "east"}, schema=TABLE.schema)
NEIGHBOUR = pl.concat([ODD, TABLE[1:]])


class _Clock(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 11, 17, 12, 0, tzinfo=UTC)


class _Replayed:
    """Gives the answers that were given first, whatever its records are."""

    def __init__(self, answers, name, exact):
        self._answers, self._name, self._exact, self._asked = answers, name, exact, 0

    def respond(self, *question):
        return self._first(self._exact.respond(*question))

    def respond_levels(self, *question):
        return self._first(self._exact.respond_levels(*question))

    def _first(self, answer):
        self._asked += 1
        return self._answers.setdefault((self._name, self._asked), answer)


def _train(folder, table, answers, read=MappingProxyType({"features": 2}), **settings):
    """Train with ledgers, at one time of day, on noise from a fixed seed: the folder, and the run itself."""
    runs = []

    def gather(run):
        runs.append(run)
        return local_facts(run)

    def responder(owner, commitment, _noise, _seed):
        simulated = SimulatedResponder(owner.sample, commitment, seeded(0, owner.name), owner.held_back)
        return _Replayed(answers, owner.name, simulated)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COPRIV_REGISTRY", str(folder / "registry"))
        patch.setattr(run_folder, "datetime", _Clock)
        patch.setattr(run_folder, "local_facts", gather)
        patch.setattr(local, "_responder", responder)
        patch.setattr(local_validation, "held_back_key", lambda: b"one key")
        data = cp.read(table, target="y", owners="bank", **{"public": PUBLIC, **read})
        cp.train(data, 2, out=folder / "study", **settings)
    return folder / "study", runs[0]


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory):
    """Two runs with the same answers, on tables that differ in one record."""
    answers = {}
    return [_train(tmp_path_factory.mktemp("neighbour"), table, answers) for table in (TABLE, NEIGHBOUR)]


def test_neighbouring_tables_with_the_same_answers_have_the_same_report(neighbours):
    (one, _), (other, _) = neighbours
    for name in PASSED_ON:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    internal = [(folder / "report-internal.html").read_bytes() for folder in (one, other)]
    assert internal[0] != internal[1], "the tables do not differ in anything that is measured"


# One person of two rows is replaced by one of twenty, who is elsewhere in the file.
PEOPLE = TABLE.with_columns(who=pl.int_range(240) // 6 * 3 + pl.int_range(240) % 3)
CROWD = pl.concat([ODD.with_columns(who=pl.lit(777))] * 20).cast(PEOPLE.schema)
REPLACED = pl.concat([PEOPLE[3:100].filter(pl.col("who") != 0), CROWD, PEOPLE[100:], PEOPLE[1:3]])

KNOWN = PUBLIC.with_columns(who=pl.int_range(150) // 2)
BY_ROWS = {"features": "all", "person": "who", "weigh": "row", "rows_cap": 3, "public": KNOWN}


@pytest.mark.parametrize(
    ("tables", "read", "settings"),
    [
        ((TABLE, NEIGHBOUR), {"features": "all"}, {"validate": 0.2}),
        ((PEOPLE, REPLACED), {"features": "all", "person": "who"}, {}),
        ((PEOPLE, REPLACED), BY_ROWS, {}),
    ],
    ids=["validation", "people", "rows of people"],
)
def test_findings_validations_and_people_tell_no_more(tmp_path, tables, read, settings):
    answers, folders = {}, []
    for place, table in enumerate(tables):
        (tmp_path / str(place)).mkdir()
        folder, _ = _train(tmp_path / str(place), table, answers, read, **settings)
        folders.append(folder)
    one, other = folders
    for name in (*PASSED_ON, INFERENCE):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert (one / INFERENCE).read_bytes().count(b"standard_error") > 3
    assert (one / "run.json").read_bytes() != (other / "run.json").read_bytes()


def test_earlier_folders_of_neighbours_have_the_same_report(neighbours):
    """What is gathered anew where there is no report.json takes nothing from run.json that was measured."""
    pages = []
    for folder, _ in neighbours:
        kept = (folder / FACTS).read_bytes()
        (folder / FACTS).unlink()
        pages.append(report_html(read_passable(find_run(folder))))
        (folder / FACTS).write_bytes(kept)
    assert pages[0] == pages[1]


def _distance(run, facts):
    return msgspec.structs.replace(facts, predicted=Predicted(run.findings.relative))


def _notices(run, facts):
    return msgspec.structs.replace(facts, few_rows="; ".join(run.intake.notices))


def _quality(run, facts):
    return msgspec.structs.replace(facts, quality=ExpectedQuality(run.quality.joint, run.quality.joint))


@pytest.mark.parametrize("leak", [_distance, _notices, _quality])
def test_a_report_that_tells_what_was_measured_on_records_is_caught(neighbours, leak):
    files = []
    for folder, run in neighbours:
        kept = read_passable(find_run(folder))
        leaking = replace(kept, facts=leak(run, kept.facts))
        files.append((report_html(leaking), msgspec.json.encode(leaking.facts)))
    assert files[0] != files[1]


def test_facts_are_gathered_without_a_look_at_what_was_measured(neighbours):
    """Everything that was measured is taken away, and the facts are the same."""
    for folder, run in neighbours:
        blind = local_facts(replace(run, findings=None, quality=None, dataset=None, seconds=None))
        assert blind == read_passable(find_run(folder)).facts
