"""The key that decides which records are held back: drawn once for each user, and derived from the registry's."""

from __future__ import annotations

import hashlib

from copriv.owner.registry_store import Store


def held_back_key() -> bytes:
    """The same in every study and every folder of this user, so that a record that validates never trains."""
    store = Store(None)
    try:
        return hashlib.blake2b(digest_size=32, key=store.key, person=b"copriv held").digest()
    finally:
        store.close()
