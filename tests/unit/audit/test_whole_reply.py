"""What leaves an owner is the same for two files that differ in one record; and twins that leak are caught."""

import hashlib
import logging
import math
import warnings
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.api.audited_owner import audited_house
from copriv.audit import encoder_studies, errands, hostile_studies, odd_records, turned_studies
from copriv.audit.hostile_studies import PLAIN, Study
from copriv.audit.house import live, receipt
from copriv.audit.raw_table import ALL, FORMATS, USUAL, Odd, write_table
from copriv.audit.whole_reply import Case, audit_whole_reply, compare_all, corpus
from copriv.losses.sample import Sample
from copriv.owner import workspace
from copriv.owner.ledger_opening import fingerprint_of_file
from copriv.owner.owner import Owner
from copriv.owner.workspace import OwnerWorkspace
from copriv.protocol import commitment, terms
from copriv.protocol.messages import Refusal
from copriv.protocol.wire import decode_reply, encode
from copriv.records.target import Target
from copriv.runtime.events import Note
from copriv.runtime.owner_log import OwnerLog

HOUSE = audited_house()
NO_TARGET, EXTREME, MISSING = odd_records.SHARP


def told(house, study=PLAIN, suffix="csv", odds=(NO_TARGET, EXTREME, MISSING), thorough=False):
    """Where files with these records are told apart from the usual one."""
    return [seen.where for _, seen in compare_all(house, Case(study, suffix, odds, thorough=thorough))]


def short(cases):
    """One of two records in turn where the records of a case are the same under many studies.

    `make audit` has all of them.
    """
    for place, case in enumerate(cases):
        hostile, rates, batches = case.base is not USUAL, case.study in hostile_studies.RATES, case.batch_rows > 0
        first = place // 2 % 2
        yield replace(case, odds=case.odds[first::2]) if hostile or rates or batches else case


def test_the_corpus_of_the_command_passes(of_menus):
    cases = tuple(short(corpus()))
    assert [case.study for case in cases] == [case.study for case in corpus()]
    verdict = audit_whole_reply(HOUSE, cases)
    assert verdict.passed, verdict.words
    assert (verdict.name, verdict.certified, verdict.false_alarms) == ("whole-reply", 0.0, 0.0)
    assert verdict.answers > 1000
    assert "nothing but noise" in verdict.words
    odds = {odd.name for case in cases for odd in case.odds}
    assert {odd.name for odd in (*odd_records.ALL, *odd_records.SHARP[1:], *odd_records.SIDES)} <= odds
    assert {odd.name for odd in odd_records.ROOMS[1:]} <= odds
    menus = (hostile_studies.MENU, hostile_studies.MENU_WITH_DELTA, *hostile_studies.WITH_MENUS)
    _menus_are_met(of_menus, (*menus, *hostile_studies.FILLED, *turned_studies.TURNED[1:3]))


def _menus_are_met(told, studies):
    """Every kind on a menu is answered, and some record moves the exact share of positives as far as declared."""
    for study in studies:
        assert set(study.content()["privacy"]["kinds"]) <= told[study.name].kinds
        assert 1 - 1e-6 < told[study.name].moved <= 1


def test_hostile_studies_are_refused_and_plain_ones_are_not(tmp_path, monkeypatch):
    """Refusing everything would pass too; so what an honest learner writes must be answered."""
    data = tmp_path / "records.csv"
    data.write_bytes(write_table("csv", USUAL, 0))
    refused = {"a box of 1.7e+308", "a target of scale 0", "a deviation of 0", "components that are no numbers"}
    plain = (PLAIN, hostile_studies.WITH_DELTA, hostile_studies.MOMENTS)
    hostile = [study for study in hostile_studies.HOSTILE if study.name in refused]
    assert len(hostile) == len(refused)
    traps = {
        "a tree in a circle",
        "a threshold that is no number",
        "weights that are no numbers",
        "buckets of a number",
    }
    lost = [study for study in (*encoder_studies.TREES, *encoder_studies.TRAPS) if study.name in traps]
    assert len(lost) == len(traps)
    plain += encoder_studies.ENCODED
    for place, study in enumerate((*plain, *hostile, *lost)):
        monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / f"registry-{place}"))
        life = live(HOUSE, tmp_path / str(place), data, study.text(), errands.brief)
        assert life.joined == (life.replies != []) == (study in plain)
        assert life.joined or life.said[0].what.startswith("BadInput")


def test_a_long_life_meets_every_kind_of_word(tmp_path):
    data = tmp_path / "records.csv"
    data.write_bytes(write_table("csv", NO_TARGET, 3))
    life = live(
        HOUSE,
        tmp_path / "owner",
        data,
        PLAIN.text(),
        lambda terms, owner, kinds: errands.thorough(terms, owner, kinds, receipt(0)),
    )
    reasons = {reply.reason for reply in life.replies if isinstance(reply, Refusal)}
    assert reasons == {"oversized", "malformed", "terms", "outside", "rollback", "exhausted", "conflict"}
    where = [said.where for said in life.said]
    assert [name for name in where if name.endswith(": bytes") and name.startswith("hello")] == [
        f"hello {number}: bytes" for number in (1, 2, 3)
    ]
    assert where[-1] == "statement"
    assert "log 3" in where


# --- twins: each puts one old mistake back -----------------------------------------------------


def receipts_that_hash_the_file():
    """Finding 1: the head of a chain that begins with the hash of the file."""

    def open_ledger(workspace, draw):
        head = fingerprint_of_file(workspace.folder.parent / f"records.{workspace.enrollment.data.rpartition('.')[2]}")
        return OwnerWorkspace.open_ledger(workspace, lambda: hashlib.sha256((head + draw()).encode()).hexdigest())

    return replace(HOUSE, open_ledger=open_ledger)


def records_without_target_are_dropped():
    """Finding 2: what has no target is left out, and n counts the rest."""

    def prepare(enrollment, study):
        found = workspace.prepare(enrollment, study)
        used = found.sample.used
        sample = Sample.of_rows(found.sample.columns.T[used], found.sample.targets[used])
        return replace(
            found, sample=sample, commitment=workspace.commitment_of(enrollment, study.terms, sample.records)
        )

    return replace(HOUSE, prepare=prepare)


def a_hello_that_knows_the_records():
    def hello(enrollment, *given):
        size = len(open(enrollment.data, "rb").read())  # noqa: PTH123, SIM115
        return msgspec.structs.replace(HOUSE.hello(enrollment, *given), instance=f"{size:016x}")

    return replace(HOUSE, hello=hello)


def a_log_that_counts():
    """A line for others about what was found in the file."""

    def log(workspace, ledger, written):
        logging.getLogger("copriv").info("%s", fingerprint_of_file(workspace.folder.parent / "records.csv"))
        return HOUSE.log(workspace, ledger, written)

    return replace(HOUSE, log=log)


def a_session_log_that_counts():
    class Counting(OwnerLog):
        def contact(self, reply):
            super().contact(reply)
            data = open(self.home.enrollment.data, "rb").read()  # noqa: PTH123, SIM115
            self.report(Note(f"answered from {len(data)} bytes"))

    return replace(HOUSE, log=lambda home, ledger, file: Counting(home, ledger, HOUSE.log(home, ledger, file).report))


def metrics_that_count():
    """A gauge of records that can be used."""

    def metrics(home, ledger, log):
        usable = int(workspace.prepare(home.enrollment, home.study).sample.used.sum())
        return f"{HOUSE.metrics(home, ledger, log)}copriv_owner_usable_records {usable}\n"

    return replace(HOUSE, metrics=metrics)


def counters_that_know_the_file():
    """A reason of refusals that nobody has given, named after the file."""

    class Telling(OwnerLog):
        def vitals(self):
            size = len(open(self.home.enrollment.data, "rb").read())  # noqa: PTH123, SIM115
            return msgspec.structs.replace(super().vitals(), refusals={f"{size} bytes": 1})

    return replace(HOUSE, log=lambda home, ledger, file: Telling(home, ledger, HOUSE.log(home, ledger, file).report))


def a_warning_about_a_record():
    def handle(owner, query):
        if not owner._responder._records.used.all():
            warnings.warn("a record cannot be used", stacklevel=1)
        return Owner.handle(owner, query)

    return replace(HOUSE, handle=handle)


def a_join_that_minds_a_record():
    def prepare(enrollment, study):
        found = workspace.prepare(enrollment, study)
        if not found.sample.used.all():
            raise ValueError("a record has no target")
        return found

    return replace(HOUSE, prepare=prepare)


def a_refusal_that_minds_a_record():
    """The words are the same but for their length."""

    def handle(owner, query):
        reply = decode_reply(Owner.handle(owner, query))
        usable = int(owner._responder._records.used.sum())
        return encode(
            msgspec.structs.replace(reply, text=reply.text + " " * usable) if isinstance(reply, Refusal) else reply
        )

    return replace(HOUSE, handle=handle)


def a_statement_that_minds_a_record():
    prepared = []

    def prepare(enrollment, study):
        prepared.append(workspace.prepare(enrollment, study))
        return prepared[-1]

    def state(study, hello, replies):
        return HOUSE.state(study, hello, replies) + prepared[-1].sample.targets.tobytes()

    return replace(HOUSE, prepare=prepare, state=state)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("twin", "where"),
    [
        (receipts_that_hash_the_file, "reply 1.1: receipt"),
        (records_without_target_are_dropped, "hello 1: records"),
        (a_hello_that_knows_the_records, "hello 1: instance"),
        (a_session_log_that_counts, "log 1"),
        (a_warning_about_a_record, "log 1"),
        (metrics_that_count, "metrics 1"),
        (counters_that_know_the_file, "metrics 1"),
        (a_join_that_minds_a_record, "join"),
        (a_statement_that_minds_a_record, "statement"),
    ],
)
def test_every_twin_is_caught(twin, where, suffix):
    assert told(twin(), suffix=suffix, odds=(NO_TARGET,)) == [where]


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_owner_that_is_no_twin_is_not_caught(suffix):
    assert told(HOUSE, suffix=suffix, odds=(NO_TARGET,)) == [None]


def test_an_owner_that_breaks_off_does_not_pass():
    def state(study, hello, replies):
        raise TypeError("always the same")

    [where] = told(replace(HOUSE, state=state), odds=(NO_TARGET,))
    assert where == "an honest study ends early, at serve: TypeError: always the same"


def test_an_offset_that_knows_other_records_is_caught(monkeypatch):
    """Exposures in units of the owner's own mean: one record moves the margins of all."""
    rates = hostile_studies.RATES[1]
    zero = next(odd for odd in odd_records.NUMBERS if odd.name == "huge")
    assert told(HOUSE, rates, odds=(zero,)) == [None]
    plain = Target.offsets
    monkeypatch.setattr(Target, "offsets", lambda self, table: plain(self, table) - np.nanmean(plain(self, table)))
    assert told(HOUSE, rates, odds=(zero,)) == ["a record moves the row of another"]


def test_a_line_in_a_log_is_caught():
    assert told(a_log_that_counts()) == ["log 1"] * 3


def test_a_refusal_whose_length_depends_on_a_record_is_caught():
    [where] = told(a_refusal_that_minds_a_record(), odds=(NO_TARGET,), thorough=True)
    assert where.endswith(": bytes")


def _naive_gradient(loss, sample, theta, clip, norm):
    """Clipping as it was: the norm of a gradient in plain doubles, which overflows and underflows."""
    with np.errstate(all="ignore"):
        slopes = 2 * (theta @ sample.columns - sample.targets)
        gradients = sample.columns * slopes
        lengths = np.linalg.norm(gradients, ord=norm.value, axis=0)
        return (gradients * np.minimum(1, clip / lengths)).mean(axis=1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_box_without_bound_is_caught(monkeypatch, delta):
    """Finding 3: at the end of doubles a record overflows, and the owner says so or not."""
    study = Study("wide", {("model", "limit"): 1.7e308, ("privacy", "delta"): delta, ("privacy", "clip"): 1e-3})
    assert told(HOUSE, study, odds=(EXTREME,)) == [None]
    monkeypatch.setattr(terms, "RANGES", dict(terms.RANGES) | {"limit": (0.0, math.inf)})
    monkeypatch.setattr(commitment, "clipped_average_gradient", _naive_gradient)
    [where] = told(HOUSE, study, odds=(EXTREME,))
    assert where is not None


def test_an_answer_that_moves_too_far_is_caught(monkeypatch):
    honest = commitment.clipped_average_gradient
    monkeypatch.setattr(commitment, "clipped_average_gradient", lambda *given: 3 * honest(*given))
    assert told(HOUSE, odds=(EXTREME,)) == ["an exact answer moves further than declared"]


def test_the_verdict_names_where_and_not_what():
    case = Case(PLAIN, "csv", (NO_TARGET,))
    verdict = audit_whole_reply(records_without_target_are_dropped(), (case,))
    assert not verdict.passed
    assert verdict.certified == math.inf
    assert verdict.words == (
        "1 of 1 files are told from their neighbours: "
        "'no target, new category' (csv, row 4) under 'plain': hello 1: records"
    )


def test_a_record_that_moves_another_is_caught():
    """A standardisation fitted on the records themselves: every row depends on every record."""

    def prepare(enrollment, study):
        found = workspace.prepare(enrollment, study)
        targets = found.sample.targets
        return replace(found, sample=Sample.of_rows(found.sample.columns.T, (targets - targets.mean()) / 4))

    assert told(replace(HOUSE, prepare=prepare), odds=(EXTREME,)) == ["a record moves the row of another"]


def test_a_file_that_is_read_in_pieces():
    """Where the pieces are cut must not depend on a record either."""
    quotes = b",".join([b'"a,""b"', b'",,,,"'] * 2000)
    case = Case(
        PLAIN, "csv", (Odd("quotes", line=quotes),), Odd("nothing", line=b""), place=30_000, records=40_000, columns=ALL
    )
    assert len(write_table("csv", USUAL, 0, 100)) * (case.records // 100) > 4 << 20
    assert [seen.where for _, seen in compare_all(HOUSE, case)] == [None]


@pytest.mark.parametrize("odd", [odd for odd in odd_records.LINES if not odd.fits], ids=lambda odd: odd.name)
def test_what_does_not_fit_on_its_line_is_refused_at_home(tmp_path, odd):
    data = tmp_path / "records.csv"
    data.write_bytes(write_table("csv", odd, 3))
    life = live(HOUSE, tmp_path / "owner", data, PLAIN.text(), errands.brief)
    assert not life.joined
    assert life.said[0].what.startswith("BadTable: records.csv, line 5")
    assert not (tmp_path / "owner").exists()
