"""Serving records that are read anew: files that changed are noticed before anything is charged."""

import asyncio

import pytest

from copriv.errors import RecordsChanged
from copriv.runtime.owner_client import unchanged_first


class _Records:
    changed = False

    def require_unchanged(self):
        if self.changed:
            raise RecordsChanged("they changed", remedy="put them back")


def test_nothing_is_asked_of_an_owner_whose_files_have_changed():
    records, asked = _Records(), []
    handle = unchanged_first(records, lambda data: asked.append(data) or b"reply")
    assert asyncio.run(handle(b"one")) == b"reply"
    records.changed = True
    with pytest.raises(RecordsChanged):
        asyncio.run(handle(b"two"))
    assert asked == [b"one"]
