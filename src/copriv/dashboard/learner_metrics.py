"""What a learner's page gives to those that count. The learner has seen no record, so nothing here depends on one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from copriv.dashboard.learner_shown import LearnerShown
from copriv.privacy.guarantee import ADJACENCY
from copriv.runtime.diary import read_vitals
from copriv.runtime.prometheus import Metric, Sample, as_text


def learner_metrics(shown: LearnerShown, folder: Path) -> str:
    """The text of a learner's /metrics; it has every owner of the study."""
    return as_text((*_study(shown), *_owners(shown), *_disk(folder)))


def _study(shown: LearnerShown) -> Iterator[Metric]:
    yield Metric("copriv_learner_running", "gauge", "1 if a learner is at work.", (Sample(float(shown.running)),))
    yield Metric("copriv_learner_meetings_total", "counter", "Meetings so far.", (Sample(shown.meetings),))
    yield Metric("copriv_learner_horizon", "gauge", "Meetings that the study has at most.", (Sample(shown.horizon),))
    counts = tuple(Sample(count, {"place": place}) for place, count in sorted(shown.counts.items()))
    yield Metric("copriv_learner_owners", "gauge", "Owners by where they are.", counts)
    refusals = tuple(Sample(count, {"reason": reason}) for reason, count in shown.refusals.items())
    yield Metric("copriv_learner_refusals_total", "counter", "Meetings without an answer, by reason.", refusals)
    at = () if shown.seen is None else (Sample(datetime.fromisoformat(shown.seen).astimezone(UTC).timestamp()),)
    yield Metric("copriv_learner_last_change_timestamp_seconds", "gauge", "When somebody last came or went.", at)


def _owners(shown: LearnerShown) -> Iterator[Metric]:
    rows = shown.owners
    yield Metric(
        "copriv_learner_answers_total",
        "counter",
        "Answers of an owner.",
        tuple(Sample(row.answers, {"owner": row.owner}) for row in rows),
    )
    yield Metric(
        "copriv_learner_silence_seconds",
        "gauge",
        "Seconds of the run since an owner was met last.",
        tuple(Sample(row.silence, {"owner": row.owner}) for row in rows if row.silence is not None),
    )
    about = {"unit": shown.unit, "adjacency": ADJACENCY}
    yield Metric(
        "copriv_learner_budget_left",
        "gauge",
        "What an owner has left of its promise to this study.",
        tuple(
            Sample(row.left, {"owner": row.owner, "measure": row.measure, **about})
            for row in rows
            if row.left is not None
        ),
    )
    owners = [({"certificate": "owner", "owner": row.owner}, row.days) for row in rows]
    days = [*owners, *(({"certificate": each.holder}, each.days) for each in shown.certificates)]
    yield Metric(
        "copriv_learner_certificate_days",
        "gauge",
        "Days until a certificate ends.",
        tuple(Sample(left, labels) for labels, left in days if left is not None),
    )


def _disk(folder: Path) -> Iterator[Metric]:
    vitals = read_vitals(folder)
    if vitals is not None:
        words = "Seconds that the learner has waited for the disk, as last counted."
        yield Metric("copriv_learner_fsync_seconds_total", "counter", words, (Sample(vitals.seconds),))
        words = "How often the learner has put its run on record, as last counted."
        yield Metric("copriv_learner_fsyncs_total", "counter", words, (Sample(vitals.commits),))
