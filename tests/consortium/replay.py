"""A finished consortium, run again in one process: from the answers in the ledgers, and without noise from the records.

Whatever the network did, the model must be the one that the recorded meetings and answers give, bit for bit.
"""

import json
from pathlib import Path

import numpy as np

from copriv.learner.checkpoint import Checkpoint
from copriv.learner.learner import Session, train
from copriv.learner.public_rows import read_sample
from copriv.learner.roster import Roster, rule_of
from copriv.owner.ledger_opening import begin
from copriv.owner.ledger_state import Answered, Charge
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.payload import unpack
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import OwnerWorkspace, prepare
from copriv.protocol.commitment import commitment_of
from copriv.protocol.study_file import read_study
from copriv.rules.rule import learn_from
from copriv.rules.setting import NoiseModel
from copriv.runtime.simulated_responder import SilentResponder
from copriv.schedule.trace import Trace
from copriv.transport.in_process import InProcessTransport


def model_of(learner):
    """The model that came of a run."""
    return np.asarray(json.loads((learner / "run" / "model.json").read_text())["theta"])


def from_ledgers(learner, homes):
    """The model that the answers in the owners' ledgers give, absorbed in the order of the learner's log."""
    terms = read_study((learner / "study.toml").read_text()).terms
    roster = Roster.from_json((learner / "run" / "roster.json").read_bytes())
    answers = {name: _answers(home) for name, home in homes.items()}
    rule, checkpoint = _rule(learner, terms, roster), Checkpoint(learner / "run" / "checkpoint.sqlite")
    state, used = rule.begin(), []
    answered = [entry for entry in checkpoint.log() if entry.outcome == "answer"]
    for entry, told in zip(answered, checkpoint.answers(), strict=True):
        used.append((entry.owner, entry.query))
        values = np.asarray(answers[entry.owner][entry.query])
        state = learn_from(rule, state, roster.names.index(entry.owner), values, told.ask)
    checkpoint.close()
    return rule.model(state), used, answers


def without_noise(learner, homes):
    """The model that the recorded schedule gives in one process, from the records themselves."""
    study = read_study((learner / "study.toml").read_text())
    roster = Roster.from_json((learner / "run" / "roster.json").read_bytes())
    trace = Trace.from_json((learner / "run" / "schedule.json").read_bytes())
    transport = InProcessTransport(_silent(OwnerWorkspace(home)) for home in homes.values())
    learning = Session(_rule(learner, study.terms, roster), roster.names, study.terms.digest(), "replay")
    *_, last = train(learning, trace.meetings, transport)
    return learning.rule.model(last.state)


def _rule(learner, terms, roster):
    """The rule, with what the learner knew of the owners' noise and of the public rows."""
    commitments = [commitment_of(hello, terms) for hello in roster.owners]
    public = read_sample((learner / "public.npz").read_bytes())
    return rule_of(terms, roster, NoiseModel.of(commitments, public))


def _silent(home):
    prepared = prepare(home.enrollment, home.study)
    ledger = MemoryLedger(begin(home.enrollment.owner, "simulated", home.enrollment.guarantee))
    responder = SilentResponder(prepared.sample, prepared.commitment)
    return Owner(home.enrollment.owner, home.study.terms, prepared.commitment, responder, ledger)


def _answers(home):
    """Every answer in an owner's ledger, by the id of its query."""
    return {query: payload.values for query, payload in stored_in(home).items()}


def stored_in(home):
    """All that an owner's ledger keeps of its answers, by the id of the query; the ledger is verified first."""
    ledger = SqliteLedger(Path(OwnerWorkspace(home).enrollment.ledger))
    ledger.verify()
    found = {}
    for entry in ledger.entries():
        if isinstance(entry.body, Answered):
            found[entry.body.query] = unpack(ledger.answer_to(entry.body.query))
    ledger.close()
    return found


def charges_of(home):
    """The ids and prices of everything an owner was charged for, and its whole budget."""
    ledger = SqliteLedger(Path(OwnerWorkspace(home).enrollment.ledger))
    charged = [(entry.body.query, entry.body.nano) for entry in ledger.entries() if isinstance(entry.body, Charge)]
    budget = ledger.state().budget.nano
    ledger.close()
    return charged, budget
