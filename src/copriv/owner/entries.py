"""What a ledger is made of: dated entries, each sealed by the hash of everything before it.

The seal stays at home. What leaves with an answer is its receipt: a random token that only this ledger can place.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import msgspec

from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Measure
from copriv.protocol.public_rows import PublicRows

START = "0" * 64
# No budget was declared: spending is noted, and nothing is refused for it.
OPEN = 1 << 62


class Opening(msgspec.Struct, frozen=True, tag="genesis"):
    """The first entry: whose budget it is, for which dataset, under which guarantee.

    Args:
        id: a random name of the ledger; copies of it keep it.
        salt: random; fingerprints are keyed with it, so that none of them can be recomputed elsewhere.
        owner: whose budget it is.
        dataset: keyed fingerprint of the records.
        nano_epsilon: promised in all.
        delta: likewise.
        accountant: how answers with Gaussian noise add up.
        budgets: what each account may spend: billionths of ε (pure) or of ρ (Gaussian).
    """

    id: str
    salt: str
    owner: str
    dataset: str
    nano_epsilon: int
    delta: float
    accountant: Accountant
    budgets: dict[Measure, int]


class Enrolled(msgspec.Struct, frozen=True, tag="enrolled", omit_defaults=True):
    """A study that may be charged from now on.

    Args:
        study: the digest of its terms.
        name: what people call it.
        learner: who asks.
        approved_by: who has approved.
        asks: what training asks for: gradient or moments; empty if that was not noted.
        public: the rows that the study takes as public; None if that was not noted.
        unit: what the study protects as one: a record or a person.
        blocks: the blocks that it reads; none if it reads all that there are.
        person: the column that says who people are; empty if records are protected, or if that was not noted.
        axes: along how many sums of features gradients are told; 0 if along the features.
    """

    study: str
    name: str
    learner: str
    approved_by: str
    asks: str = ""
    public: PublicRows | None = None
    unit: str = "record"
    blocks: tuple[str, ...] = ()
    person: str = ""
    axes: int = 0


class Charge(msgspec.Struct, frozen=True, tag="charge", omit_defaults=True):
    """A query is paid for; it has not been answered yet.

    Every block in `blocks` pays the whole price; every block that there is, if none is named.
    """

    query: str
    question: str
    nano: int
    measure: Measure
    study: str
    blocks: tuple[str, ...] = ()


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """A charged query has its answer: the hash of its bytes, which lie beside the entries, and its receipt."""

    query: str
    payload: str
    receipt: str


class Epoch(msgspec.Struct, frozen=True, tag="epoch"):
    """A new guarantee, signed off by a person; the spending carries over."""

    nano_epsilon: int
    delta: float
    budgets: dict[Measure, int]
    signed_off_by: str


class Version(msgspec.Struct, frozen=True, tag="version"):
    """A changed dataset, signed off by a person; it inherits the spending."""

    dataset: str
    signed_off_by: str


class Block(msgspec.Struct, frozen=True, tag="block", omit_defaults=True):
    """Records that arrived together, with an account of their own.

    The first one names the records that the ledger was opened for, and keeps what they have spent. Every other one
    starts unspent. A block that is named again, with the same file, lies elsewhere now.

    Args:
        name: what people call it: 2026-01, say.
        dataset: keyed fingerprint of the file that it arrived in.
        path: where that lies.
        units: how many records, or people who were in no block before, arrived in it. This number is public.
        signed_off_by: who says that these records are new.
        person: the column that says whose a row is; empty if every row is a unit of its own.
        index: SHA-256 of the keyed ids of the people of the block, which lie beside the entries.
        key: a check value of the key under which they are hashed.
        form: how the file is written, as JSON; empty if it tells itself.
    """

    name: str
    dataset: str
    path: str
    units: int
    signed_off_by: str
    person: str = ""
    index: str = ""
    key: str = ""
    form: str = ""


class Renewed(msgspec.Struct, frozen=True, tag="renewed"):
    """A larger budget for one block, signed by a person with a reason; what was spent stays spent."""

    block: str
    nano_epsilon: int
    delta: float
    budgets: dict[Measure, int]
    signed_off_by: str
    why: str


class Expired(msgspec.Struct, frozen=True, tag="expired"):
    """A block that no study reads any more, signed by a person with a reason."""

    block: str
    signed_off_by: str
    why: str


Body: TypeAlias = Opening | Enrolled | Charge | Answered | Epoch | Version | Block | Renewed | Expired


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A body in its place: after the entry whose seal is `previous`.

    Args:
        sequence: counts from 1.
        previous: the seal of the entry before.
        body: what happened.
        at: when, in UTC; empty if that was not noted.
        was: the receipt of this entry in a ledger of format 1, NUMBER:HEAD, if it was taken over from one.
    """

    sequence: int
    previous: str
    body: Body
    at: str = ""
    was: str = ""

    @property
    def head(self) -> str:
        """The seal: the hash of this entry and, through `previous`, of all before it."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()
