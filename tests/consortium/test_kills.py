"""A short version of `make kills`: real processes from the command line, killed at random, and nothing lost.

The learner chooses from a menu here; `make kills` also has a study in which every answer costs the same.
"""

from kills import OUTSIDE, World, findings, torture


def test_broker_learner_and_owners_may_be_killed_at_any_time(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(OUTSIDE))
    world = World(tmp_path, horizon=0, owners=2, menu=True)
    world.prepare()
    try:
        torture(world, kills=4, seed=1)
    finally:
        world.close()
    assert findings(world) == []
    assert all(world.killed.values())
    # The twin: the same check of a log that lacks one meeting.
    world.forget_a_meeting()
    wrong = findings(world)
    assert any("paid for and lost" in words for words in wrong)
    assert any("another model" in words for words in wrong)
