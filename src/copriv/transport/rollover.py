"""One authority takes over from another, without a day on which somebody is locked out.

`roll` makes the second: everybody who renews gets its certificates from it and trusts both. `retire` drops the first,
when nobody holds one of its certificates any more: everybody who is still let in knows the second then.
"""

from __future__ import annotations

from datetime import datetime

from copriv.errors import BadInput
from copriv.transport.authority import AUTHORITY_DAYS, make_authority
from copriv.transport.certificates import life_of
from copriv.transport.learner_workspace import LearnerWorkspace


def roll(quarters: LearnerWorkspace, now: datetime, days: float = AUTHORITY_DAYS) -> None:
    """A second authority, which signs from now on. The broker trusts it before anybody has a certificate of it."""
    with quarters.locked():
        keys = quarters.keys
        if len(keys.roots()) > 1:
            raise BadInput(
                "two authorities are trusted already",
                remedy="first drop the old one: copriv learner authority retire",
                value=len(keys.roots()),
            )
        made = make_authority(now, days)
        keys.add(made)
        quarters.reload_broker()
        keys.sign_with(made)


def retire(quarters: LearnerWorkspace, now: datetime, *, force: bool = False) -> list[str]:
    """Drop every authority but the one that signs; who depends on one of them is named, and locked out if forced."""
    with quarters.locked():
        keys = quarters.keys
        if len(keys.roots()) == 1:
            raise BadInput(
                "only one authority is trusted", remedy="make a second first: copriv learner authority roll", value=1
            )
        left = dependents(quarters, now)
        if left and not force:
            raise BadInput(
                f"the old authority is still needed by {', '.join(left)}",
                remedy="wait until they have renewed, or their certificates have expired (copriv learner status); "
                "--force locks them out",
                value=left,
            )
        keys.hand_over(now, quarters.register().days)
        quarters.reload_broker()  # the broker shows what all trust before anybody distrusts what it showed
        keys.keep_only_signing()
        quarters.reload_broker()
        return left


def dependents(quarters: LearnerWorkspace, now: datetime) -> list[str]:
    """The owners that may hold a certificate of an authority that no longer signs. Who is not on record may, too."""
    keys, owners = quarters.keys, quarters.register().owners
    if len(keys.roots()) == 1:
        return []
    return sorted(
        name
        for name in owners
        if not owners[name].revoked
        and (
            not quarters.issued.held(name)
            or any(
                not life_of(certificate).over(now) and not keys.signs(certificate)
                for certificate in quarters.issued.held(name)
            )
        )
    )
