"""The one door for chance.

`secure` serves everything that touches records or identities; it cannot be seeded. `seeded` serves schedules and
simulations; the same seed and purpose give the same stream on every machine, and different purposes are independent.
"""

from __future__ import annotations

import secrets

import numpy as np

from copriv.errors import BadInput


def secure() -> secrets.SystemRandom:
    """The operating system's randomness."""
    return secrets.SystemRandom()


def token() -> str:
    """A random 256-bit word in hexadecimal that says nothing.

    >>> len(token()), token() == token()
    (64, False)
    """
    return secrets.token_hex(32)


def fresh_seed() -> int:
    """A seed nobody chose, to be written down so that a schedule can be drawn again."""
    return secure().getrandbits(53)


def seeded(seed: int, purpose: str) -> np.random.Generator:
    """A reproducible stream for one purpose.

    >>> a, b = seeded(1, "schedule"), seeded(1, "schedule")
    >>> bool(a.random() == b.random())
    True
    >>> bool(seeded(1, "schedule").random() == seeded(1, "noise").random())
    False
    """
    if seed < 0:
        raise BadInput(f"the seed is {seed}", remedy="give a whole number of at least 0", value=seed)
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=tuple(purpose.encode())))
