"""Terms of a small study of Algorithm 1, for rehearsals, tests and benchmarks that are about something else."""

from __future__ import annotations

import msgspec

from copriv.protocol.terms import Terms

_PLAIN = Terms(
    loss="squared",
    threshold=0.0,
    parameters=4,
    regularization=1e-5,
    limit=2.0,
    clip=0.5,
    row_norm=1.0,
    target_bound=1.0,
    rule="paper",
    horizon=10,
    step=0.1,
    central="proof",
    dictionary="none",
)


def plain_terms(**agreed: object) -> Terms:
    """The plain terms, but for what is agreed otherwise.

    >>> plain_terms(horizon=7).horizon, plain_terms().rule
    (7, 'paper')
    """
    return msgspec.structs.replace(_PLAIN, **agreed)
