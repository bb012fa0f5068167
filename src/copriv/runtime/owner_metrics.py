"""What an owner's page gives to those that count: budgets, answers, refusals, contact, certificates, disk.

All of it follows from the terms, the ledger, the queries that came and the clock. How long answers take is not among
it: that may depend on records. The whole-reply audit compares this text for files that differ in one record.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import account_of
from copriv.owner.pause import is_paused
from copriv.owner.workspace import OwnerWorkspace, Vitals
from copriv.privacy.guarantee import ADJACENCY, NANO
from copriv.protocol.messages import Kind
from copriv.runtime.owner_request import expiries_of
from copriv.runtime.prometheus import Metric, Sample, as_text
from copriv.transport.expiry import Expiry

_KINDS: tuple[Kind, ...] = ("gradient", "moments", "loss", "validation")
_DAY = 86_400


def owner_metrics(home: OwnerWorkspace, book: LedgerState, vitals: Vitals | None, now: datetime | None = None) -> str:
    """The text of an owner's /metrics.

    Args:
        home: the owner's folder.
        book: what its ledger says.
        vitals: what the serving process has counted, if one was there.
        now: the time.
    """
    counted = vitals or Vitals(since="")
    metrics = (*_budget(home, book), *_replies(counted), *_contact(home), *_disk(counted))
    return as_text((*metrics, certificate_days("copriv_owner", certificates_at(home), now or datetime.now(UTC))))


def certificate_days(prefix: str, expiries: list[Expiry], now: datetime) -> Metric:
    """How many days each certificate still lasts; below 0 if it has ended."""
    days = tuple(
        Sample(
            round((datetime.fromisoformat(each.expires) - now).total_seconds() / _DAY, 4), {"certificate": each.holder}
        )
        for each in expiries
    )
    return Metric(f"{prefix}_certificate_days", "gauge", "Days until a certificate ends.", days)


def _budget(home: OwnerWorkspace, book: LedgerState) -> Iterator[Metric]:
    about = {"unit": home.study.terms.unit, "adjacency": ADJACENCY}
    declared = [(measure, account) for measure, account in book.accounts.items() if not account.open]
    yield Metric(
        "copriv_owner_budget_left",
        "gauge",
        "What the ledger has left for any one unit, over all studies.",
        tuple(Sample(account.left / NANO, {"measure": measure, **about}) for measure, account in declared),
    )
    yield Metric(
        "copriv_owner_budget_spent",
        "gauge",
        "What any one unit has lost, over all studies.",
        tuple(Sample(account.spent / NANO, {"measure": name, **about}) for name, account in book.accounts.items()),
    )
    digest, guarantee = home.study.terms.digest(), home.enrollment.guarantee
    spent = sum(map(book.spent_by, {account_of(digest, kind) for kind in _KINDS})) / NANO
    measure = "epsilon" if guarantee.pure else "rho"
    yield Metric(
        "copriv_owner_study_spent",
        "gauge",
        "What this study has cost any one unit.",
        (Sample(spent, {"measure": measure, **about}),),
    )


def _replies(counted: Vitals) -> Iterator[Metric]:
    yield Metric(
        "copriv_owner_answers_total",
        "counter",
        "Queries answered since the process started.",
        (Sample(counted.answers),),
    )
    refusals = tuple(Sample(count, {"reason": reason}) for reason, count in sorted(counted.refusals.items()))
    yield Metric("copriv_owner_refusals_total", "counter", "Queries refused since the process started.", refusals)


def _contact(home: OwnerWorkspace) -> Iterator[Metric]:
    contact = home.last_contact()
    at = () if contact is None else (Sample(datetime.fromisoformat(contact.at).timestamp()),)
    yield Metric("copriv_owner_last_contact_timestamp_seconds", "gauge", "When the study was last heard of.", at)
    paused = (Sample(float(is_paused(home.folder))),)
    yield Metric("copriv_owner_paused", "gauge", "1 if a person has paused this owner.", paused)


def _disk(counted: Vitals) -> Iterator[Metric]:
    words = "Seconds that the ledger has waited for the disk to keep answers."
    yield Metric("copriv_owner_fsync_seconds_total", "counter", words, (Sample(counted.fsync_seconds),))
    words = "How often the ledger has waited for the disk to keep an answer."
    yield Metric("copriv_owner_fsyncs_total", "counter", words, (Sample(counted.fsyncs),))


def certificates_at(home: OwnerWorkspace) -> list[Expiry]:
    """When the certificates of an owner's folder end; none in a folder that has no key."""
    return expiries_of(home.folder) if (home.folder / "owner.key").is_file() else []
