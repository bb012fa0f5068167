"""Who is there, waited for, done and out: from events alone, readable while a learner works and after a kill."""

import fcntl

import msgspec
import pytest

from copriv.errors import BadInput
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, write_study
from copriv.report.network_sheets import learner_lines
from copriv.runtime.events import Answered, Done, Waiting
from copriv.runtime.learner_board import Board, State, after, at_work, lock_of, read_state
from copriv.runtime.learner_status import learner_status
from copriv.runtime.network_events import Arrived, Began, Expelled, Finished, Silent, TurnedAway
from copriv.runtime.rehearsal import make_quarters

NAMES = ("east", "north", "south", "west")
DICTIONARY = {"columns": []}


@pytest.fixture(scope="module")
def quarters(tmp_path_factory):
    terms = plain_terms(horizon=10, dictionary=dictionary_digest(DICTIONARY), answers=5)
    study = write_study(StudyFile(terms, DICTIONARY))
    return make_quarters(tmp_path_factory.mktemp("learner") / "learner", study, NAMES)


def _board(folder, *events):
    told = []
    board = Board(folder, NAMES, told.append, clock=lambda: "2026-01-01T00:00:00+00:00")
    for event in events:
        board(event)
    return board, told


TRAINING = (
    *map(Arrived, NAMES),
    Began(NAMES),
    Answered(1, "east"),
    Silent("north"),
    Finished("south"),
    Expelled(4, "west", "its answer is 1e308"),
)


def test_the_state_follows_from_the_events(tmp_path):
    board, _ = _board(tmp_path, *TRAINING)
    state = read_state(tmp_path)
    assert msgspec.structs.replace(board.state, at=state.at) == state
    assert (state.stage, state.connected, state.waited_for, state.done) == (
        "training",
        ("east", "south"),
        ("north",),
        ("south",),
    )
    assert [(out.owner, out.why) for out in state.expelled] == [("west", "its answer is 1e308")]
    assert (tmp_path / "state.json").stat().st_mode & 0o077 == 0


def test_every_change_in_who_is_waited_for_is_told_once(tmp_path):
    _, told = _board(tmp_path, Arrived("east"), Arrived("east"), Silent("west"), TurnedAway("north"), Arrived("west"))
    waited = [event.owners for event in told if isinstance(event, Waiting)]
    assert waited == [NAMES, ("north", "south", "west"), ("north", "south")]


def test_an_answer_writes_nothing(tmp_path):
    board, _ = _board(tmp_path, Arrived("east"))
    (tmp_path / "state.json").unlink()
    board(Answered(1, "east"))
    assert not (tmp_path / "state.json").exists()
    board(Silent("east"))
    assert (tmp_path / "state.json").exists()


def test_a_finished_study_waits_for_nobody_and_a_stopped_one_is_said_to_be(tmp_path):
    assert after(State(stage="training", expected=NAMES), Done(10)).waited_for == ()
    board, _ = _board(tmp_path, *TRAINING)
    board.close()
    assert (read_state(tmp_path).stage, read_state(tmp_path).connected) == ("stopped", ())


def test_status_says_who_is_where_while_a_learner_works(quarters):
    _board(quarters.folder, *TRAINING)
    with lock_of(quarters.folder).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        status = learner_status(quarters)
        assert at_work(quarters.folder)
    assert status.running
    places = {owner.owner: owner.place for owner in status.owners}
    assert places == {"east": "connected", "north": "waited for", "south": "done", "west": "expelled"}
    assert status.waited_for == ["north"]
    shown = "\n".join(learner_lines(status))
    for words in (
        "at work: training (last change",
        "waiting   for north",
        "expelled, 0 answers",
        "its answer is 1e308",
    ):
        assert words in shown


def test_after_a_kill_nobody_is_connected_and_the_status_says_so(quarters):
    """The file is as the killed learner left it; the lock is free, so that it is not believed."""
    _board(quarters.folder, *TRAINING)
    status = learner_status(quarters)
    assert (status.running, status.stage, status.waited_for) == (False, "stopped", [])
    places = {owner.owner: owner.place for owner in status.owners}
    assert places == {"east": "invited", "north": "invited", "south": "done", "west": "expelled"}
    assert "not at work: stopped" in "\n".join(learner_lines(status))


def test_before_the_first_run_there_is_nothing_to_tell(quarters):
    (quarters.folder / "state.json").unlink(missing_ok=True)
    assert "has not run yet" in "\n".join(learner_lines(learner_status(quarters)))
    (quarters.folder / "state.json").write_text("{")
    with pytest.raises(BadInput, match="cannot be read"):
        learner_status(quarters)
    (quarters.folder / "state.json").unlink()
