"""The last test of `copriv audit`: an owner as the command line makes it, whose whole reply is compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console

from copriv.audit.house import House
from copriv.cli.owner_serve import Log, hello_of
from copriv.learner.checkpoint import Entry
from copriv.learner.roster import Roster
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Answer, Reply
from copriv.protocol.study_file import StudyFile
from copriv.report.network_run import JointRun, commitment_of, joint_figures
from copriv.report.statement import Heading, make_statement, owner_statement


def audited_house() -> House:
    """What really leaves: the hello and the log of `copriv owner serve`, and the statement of `copriv learner run`."""
    return House(hello=hello_of, state=state_study, log=lambda *given: Log(given[0], given[1], Console(file=given[2])))


def state_study(study: StudyFile, hello: Hello, replies: Sequence[Reply]) -> bytes:
    """What a learner that had nobody else would pass on: figures of the run, and the statement about the study."""
    log = [
        Entry(number, hello.owner, "answer", reply.id, float(number), reply.release.nano)
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
    owners = [owner_statement(spent, commitment_of(hello, study.terms)) for spent in figures.spent]
    heading = Heading(study.terms.name, study.terms.learner, "today", study.terms.public)
    return msgspec.json.encode([figures, make_statement(heading, study.terms.digest(), "secure", owners, [])])
