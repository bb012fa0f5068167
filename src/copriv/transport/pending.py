"""An owner's request that waits for the learner's answer; its key stays in the folder, for nobody else to read."""

from __future__ import annotations

from pathlib import Path

from copriv.errors import BadInput
from copriv.owner.pending import KEY, REQUEST, unfinished
from copriv.transport.authority import Pair
from copriv.transport.certificates import identity_in
from copriv.transport.credentials import replace_file
from copriv.transport.invitation import Invitation
from copriv.transport.request import Request, read_request, request_text


class Pending:
    """The request of an owner's folder, if there is one.

    Args:
        folder: the owner's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key, self._request = folder / KEY, folder / REQUEST

    def waits(self) -> bool:
        """Whether a request waits for its answer."""
        return self._key.is_file()

    def keep(self, key: str, request: Request) -> None:
        """Keep a key, and the request that was made with it."""
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        replace_file(self._key, key.encode())
        replace_file(self._request, request_text(request).encode())

    def pair_for(self, invitation: Invitation) -> Pair:
        """Certificate and key, if the invitation answers this request; in rehearsals it brings its own key."""
        kept = self._key.read_text(encoding="ascii") if self.waits() else None
        if invitation.key and kept is not None:
            raise BadInput(
                "the invitation brings a key, and this folder waits for the answer to a request",
                remedy="take the learner's answer to the request, or another --folder",
                value=str(self.folder),
            )
        pair = invitation.pair(kept)
        self._require_name(invitation)
        return pair

    def _require_name(self, invitation: Invitation) -> None:
        certified = identity_in(invitation.certificate).split(":")[2:3]
        asked = [read_request(self._request).name] if self.waits() else certified
        if not certified == asked == [invitation.owner]:
            raise BadInput(
                f"the invitation is for {invitation.owner!r}, and its certificate or the request is not",
                remedy="ask the learner for the answer to your own request",
                value=invitation.owner,
            )


def require_room_for_request(folder: Path, *, again: bool) -> None:
    """Refuse a folder that holds anything else; where there is a request or an owner already, ask for --again."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not unfinished(folder) and not (folder / "engagement.json").is_file():
        raise BadInput(f"{folder} is not an owner's folder", remedy="choose another --folder", value=str(folder))
    if not again:
        raise BadInput(
            f"{folder} has a request or a certificate already",
            remedy="add --again to make another request, or choose another --folder",
            value=str(folder),
        )
