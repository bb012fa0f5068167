"""The subjects on which learner and owners speak, and who may use which. Nothing is wider than it must be.

A query goes to one process of one owner, so that a copy of an owner never hears it. Replies go to inboxes that only
their holder may listen to; an owner may write to the learner's only in reply to a message it was sent.
"""

from __future__ import annotations

import re

from copriv.errors import BadInput
from copriv.protocol.meeting import NAME

CALL = "copriv.call"
LEARNER = "copriv.learner"
LEARNER_INBOX = "copriv.inbox.learner"
EVERY_HELLO = "copriv.hello.*"
EVERY_CLAIM = "copriv.claim.*"
EVERY_QUERY = "copriv.query.*.*"
EVERY_RENEWAL = "copriv.renewal.*.*"
EVERY_INBOX = "copriv.inbox.owner.*.>"

_NAME = re.compile(NAME)


def require_name(name: str) -> str:
    """An owner's name is part of subjects, files and certificates, so it is plain.

    >>> require_name("first-bank")
    'first-bank'
    """
    if not _NAME.match(name):
        raise BadInput(
            f"the owner name {name!r}",
            remedy="use letters, digits, - and _, at most 60 of them, beginning with a letter or digit",
            value=name,
        )
    return name


def hello(owner: str) -> str:
    """Where an owner says that it is there."""
    return f"copriv.hello.{owner}"


def claim(owner: str) -> str:
    """Where an owner says that it is ready."""
    return f"copriv.claim.{owner}"


def query(owner: str, instance: str) -> str:
    """Where one process of an owner is asked."""
    return f"copriv.query.{owner}.{instance}"


def renewal(owner: str, serial: str) -> str:
    """Where an owner asks for another certificate: for this identity of it, and no other that bears its name."""
    return f"copriv.renewal.{owner}.{serial}"


def renewing(subject: str) -> tuple[str, str]:
    """The owner that asks for another certificate, and the serial of its identity: the broker knows it by both.

    >>> renewing(renewal("bank", "9f3c"))
    ('bank', '9f3c')
    """
    owner, serial = subject.rsplit(".", 2)[1:]
    return owner, serial


def inbox(owner: str) -> str:
    """Where an owner receives replies to what it says."""
    return f"copriv.inbox.owner.{owner}"


def sender(subject: str) -> str:
    """The owner that a hello or claim comes from: the broker lets nobody else write there.

    >>> sender(claim("bank"))
    'bank'
    """
    return subject.rsplit(".", 1)[1]


def learner_permissions() -> dict[str, object]:
    """What the learner may write and hear.

    It may write to inboxes by name and not "in reply to": an owner chooses the subject of a reply, and could have the
    learner speak for it elsewhere.
    """
    return {
        "publish": {"allow": [CALL, LEARNER, EVERY_QUERY, EVERY_INBOX, f"{LEARNER_INBOX}.>"]},
        "subscribe": {"allow": [LEARNER, EVERY_HELLO, EVERY_CLAIM, EVERY_RENEWAL, f"{LEARNER_INBOX}.>"]},
    }


def owner_permissions(owner: str, serial: str) -> dict[str, object]:
    """What one owner may write and hear, under the serial of its identity."""
    return {
        "publish": {"allow": [hello(owner), claim(owner), renewal(owner, serial)]},
        "subscribe": {"allow": [CALL, query(owner, "*"), f"{inbox(owner)}.>"]},
        "allow_responses": {"max": 1, "expires": "10m"},
    }
