"""A link that breaks is noticed, also where the broker's client closes without telling anybody.

It does so if its last words cannot be sent, or if nobody confirms that it hangs up: an owner that only listened then
waited for ever on a link that was gone.
"""

import asyncio
import os
import signal

import pytest
from stage import stage

from copriv.runtime import rehearsal
from copriv.transport.link import Session, connect

LONG_ENOUGH, LONG_FOR_A_TWIN = 20.0, 1.0


def last_words_fail(client):
    """Something is still to be sent when the link breaks."""

    async def unsent():
        client._pending, client._pending_data_size = [b"PING\r\n"], 6

    async def drain():
        raise ConnectionResetError

    client._flush_pending, client._transport.drain = unsent, drain


def nobody_hangs_up(client):
    """The other side never confirms the end."""
    client._transport.wait_closed = asyncio.Event().wait


async def is_noticed(link, broker, spoil, seconds, *, speaks):
    """Whether a session knows, some time after the broker was killed, that its link is gone."""
    async with connect(link, link.context()) as session:
        spoil(session.client)
        os.kill(broker.pid, signal.SIGKILL)
        if speaks:
            async with asyncio.timeout(LONG_ENOUGH):
                while session.client.is_connected:  # noqa: ASYNC110 - the client tells nobody
                    await asyncio.sleep(0.01)
            await session.request("nobody", b"", seconds)
            return session.lost.is_set()
        try:
            async with asyncio.timeout(seconds):
                return await session.lost.wait()
        except TimeoutError:
            return False


@pytest.mark.parametrize("speaks", [False, True])
@pytest.mark.parametrize("spoil", [last_words_fail, nobody_hangs_up])
def test_a_client_that_closes_in_silence_is_noticed(tmp_path, spoil, speaks, monkeypatch):
    for twin in (False, True):
        if twin:  # what it took to be told
            monkeypatch.setattr(Session, "notice", lambda _session: None)
        with stage(tmp_path / f"{twin}") as (quarters, _, broker):
            link = rehearsal.link_of(quarters, "east")
            seconds = LONG_FOR_A_TWIN if twin else LONG_ENOUGH
            assert asyncio.run(is_noticed(link, broker, spoil, seconds, speaks=speaks)) is not twin
