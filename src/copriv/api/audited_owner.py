"""The last test of `copriv audit`: an owner as the command line makes it, whose whole reply is compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec
import numpy as np

from copriv.audit.house import House, Log
from copriv.learner.checkpoint import Entry
from copriv.learner.roster import Roster
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import OwnerWorkspace
from copriv.privacy.release import describe
from copriv.protocol.commitment import Commitment, commitment_of
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Answer, Reply
from copriv.protocol.study_file import StudyFile
from copriv.report.network_run import joint_figures
from copriv.report.statement import Heading, make_statement, owner_statement
from copriv.runtime.learner_outcome import JointRun
from copriv.runtime.network_events import NetworkEvent, dated_line
from copriv.runtime.owner_client import hello_of
from copriv.runtime.owner_log import OwnerLog
from copriv.runtime.owner_metrics import owner_metrics

# A time, or how long the disk took.
_SECONDS = re.compile(r"^(copriv_\w*_seconds\w*) .*$", flags=re.MULTILINE)


def audited_house() -> House:
    """What really leaves: hello, log and metrics of `copriv owner serve`, and the statement of `copriv learner run`."""
    return House(hello=hello_of, state=state_study, log=log_to, metrics=metrics_of)


def log_to(home: OwnerWorkspace, ledger: SqliteLedger, written: TextIO) -> OwnerLog:
    """The log of an owner, every event of it, as text; only the times are left out."""

    def write(event: NetworkEvent, /) -> None:
        written.write(dated_line(event, "now").decode())

    return OwnerLog(home, ledger, write)


def metrics_of(home: OwnerWorkspace, ledger: SqliteLedger, log: Log) -> str:
    """The metrics of an owner after what its log has counted; only times are left out."""
    counted = log.vitals() if isinstance(log, OwnerLog) else None
    return _SECONDS.sub(r"\1 now", owner_metrics(home, ledger.state(), counted))


def state_study(study: StudyFile, hello: Hello, replies: Sequence[Reply]) -> bytes:
    """What a learner that had nobody else would pass on: figures of the run, and the statement about the study."""
    commitment = commitment_of(hello, study.terms)
    log = [
        Entry(number, hello.owner, "answer", reply.id, float(number), reply.release.nano, *_asked(commitment, reply))
        if isinstance(reply, Answer)
        else Entry(number, hello.owner, reply.reason, reply.id, float(number), 0)
        for number, reply in enumerate(replies)
    ]
    run = JointRun(
        study=study,
        roster=Roster((hello,)),
        expelled=(),
        log=log,
        model=np.zeros(study.terms.parameters),
        evaluation=None,
        evaluated={},
        seconds=0.0,
        folder=Path("run"),
    )
    figures = joint_figures(run)
    owners = [owner_statement(spent, commitment) for spent in figures.spent]
    heading = Heading(study.terms.name, study.terms.learner, "today", study.terms.public, study.terms.people)
    return msgspec.json.encode([figures, make_statement(heading, study.terms.digest(), "secure", owners, [])])


def _asked(commitment: Commitment, answer: Answer) -> tuple[str, int, int]:
    """Kind, share and the level before of what an answer is to, by the record of its release."""
    steps = (fine.after(coarse) for fine in commitment.menu for coarse in commitment.menu)
    for part in (*commitment.parts, *filter(None, steps)):
        if describe(answer.id, part.calibration, part.sensitivity) == answer.release:
            return part.kind, part.share, part.before
    return commitment.main, 0, 0
