"""The person at the keyboard: who it is, what it says when it is asked, and when it has had enough."""

from __future__ import annotations

import getpass
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from copriv.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from copriv.runtime.local_request import Person

_QUESTION = "Do you approve these terms and make this promise?"


def who(signed_off_by: str | None = None) -> str:
    """Whoever signs: as named, else the user of this machine."""
    if signed_off_by is not None:
        return signed_off_by
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown user"


def person(console: Console, before: Callable[[], None] = lambda: None) -> Person:
    """Whoever sits here, to be asked after `before` is done."""
    from copriv.runtime.local_request import Person

    ask = asker(console)
    if ask is None:
        return Person(who())

    def put(question: str) -> bool:
        before()
        return ask(question)

    return Person(who(), put)


def asker(console: Console) -> Callable[[str], bool] | None:
    """Puts a question that is never answered by default; None if nobody is there."""
    if not (console.is_terminal and sys.stdin is not None and sys.stdin.isatty()):
        return None
    return lambda question: typer.confirm(question, default=False, err=True)


def ask_to_agree(console: Console, *, yes: bool) -> None:
    """Have a person agree to the terms on the screen; BadInput if it does not, or if nobody is there."""
    if yes:
        return
    if not console.is_terminal:
        raise BadInput("nobody is there to answer", remedy="add --yes if the terms above are approved", value="no tty")
    if not typer.confirm(_QUESTION, default=False, err=True):
        raise BadInput("not approved; nothing was written or spent", remedy="talk to the learner about the terms")


def heed_termination() -> None:
    """End on SIGTERM as on Ctrl-C: with goodbyes, and with what was started here stopped."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)
