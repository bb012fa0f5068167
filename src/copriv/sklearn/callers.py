"""The calls above an estimator's own on the stack, and what a user calls them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType


def callers() -> Iterator[FrameType]:
    """The frames above, the innermost first; only the way to know who fits or predicts."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - a clone is told nothing else
    while frame is not None:
        yield frame
        frame = frame.f_back


def module_of(frame: FrameType) -> str:
    """In which module the function of a frame is."""
    return str(frame.f_globals.get("__name__", ""))


def actor_of(frame: FrameType) -> object | None:
    """Whose method it is, or the ensemble that a function works for; None for a function by itself."""
    local = frame.f_locals
    return next((local[name] for name in ("self", "ensemble") if name in local), None)


def caller_name(frame: FrameType) -> str:
    """What a user calls it: a class, or a function."""
    actor = actor_of(frame)
    return frame.f_code.co_name if actor is None else type(actor).__name__
