"""What a person has approved: everything that shapes the promise, so that nothing of it can be exchanged afterwards.

Where the broker is and how fast the owner's clock ticks do not shape it; both may change.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from copriv.owner.ledger_state import LedgerState, keyed
from copriv.records.file_format import PLAIN, FileFormat

_WORDS: Mapping[str, str] = {
    "terms": "the terms",
    "owner": "the owner's name",
    "data": "the path of the records",
    "dataset": "the records",
    "target": "the target column",
    "form": "how the file of the records is written",
    "ledger": "the path of the ledger",
    "ledger_id": "the ledger",
    "accountant": "the accountant",
    "nano_epsilon": "epsilon",
    "delta": "delta",
    "answers": "the number of answers",
    "blocks": "the blocks that are read",
}


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What an approval is about.

    Args:
        terms: the digest of the study's terms.
        owner: the owner's name in the study.
        data: the file of the records.
        dataset: their fingerprint, keyed with the ledger's salt.
        target: what the owner calls the column to predict; None if as the study does.
        form: how the file of the records is written.
        ledger: the file of the ledger.
        ledger_id: which ledger that is.
        accountant: how answers add up.
        nano_epsilon: what is promised about any one record.
        delta: likewise.
        answers: the most answers.
        blocks: the blocks that are read; none if the records never arrived in blocks.
    """

    terms: str
    owner: str = ""
    data: str = ""
    dataset: str = ""
    target: str | None = None
    form: FileFormat = PLAIN
    ledger: str = ""
    ledger_id: str = ""
    accountant: str = ""
    nano_epsilon: int
    delta: float
    answers: int
    blocks: tuple[str, ...] = ()


class Approval(Subject, frozen=True, kw_only=True):
    """Who has approved what, when; and how many records there were."""

    by: str
    at: str
    records: int = 0

    @property
    def complete(self) -> bool:
        """Whether it covers records and ledger; approvals of earlier versions do not."""
        return bool(self.dataset and self.ledger_id)


def seal_dataset(state: LedgerState, fingerprint: str) -> str:
    """A fingerprint of records that nobody without the ledger can recompute."""
    return keyed(state.salt, fingerprint)


def approve(subject: Subject, by: str, at: str, records: int) -> Approval:
    """An approval of everything that the subject says."""
    return Approval(**msgspec.structs.asdict(subject), by=by, at=at, records=records)


def differences(given: Subject, wanted: Subject) -> list[str]:
    """What is not as it was approved, in words.

    >>> differences(Subject(terms="a", nano_epsilon=1, delta=0, answers=2), Subject(terms="b", nano_epsilon=1,
    ...             delta=0, answers=3))
    ['the terms', 'the number of answers']
    """
    return [words for name, words in _WORDS.items() if getattr(given, name) != getattr(wanted, name)]
