"""The short version of `torture.py`: kills, power cuts, and the twins that must not get away with it."""

import creation_kills
import learner_kills
import numpy as np
import owner_kills
import power_cuts
import pytest
import twins

from copriv.owner import sqlite_ledger


@pytest.fixture
def chance():
    return np.random.default_rng(2026)


def test_a_killed_owner_gives_no_answer_without_a_charge_and_never_two(fork_server, tmp_path, chance):
    toll = owner_kills.torment(fork_server, tmp_path, chance, 60)
    assert toll.violations == []
    assert toll.faults == 60
    # How many answers get out before the kills depends on the machine; that some do is what makes the test one.
    assert toll.counts["answers"] > 3
    assert toll.counts["menus"] > 0
    # A copy of the main file alone showed all of them, or said that it is damaged; mostly it is whole.
    assert toll.counts["shown_alone"] > toll.counts["refused_alone"]


def test_a_killed_creation_leaves_a_whole_ledger_or_none(fork_server, tmp_path, chance):
    toll = creation_kills.torment(fork_server, tmp_path, chance, 15)
    assert toll.violations == []
    assert toll.faults == 15


def test_a_killed_learner_loses_and_doubles_nothing(fork_server, tmp_path, chance):
    toll = learner_kills.torment(fork_server, tmp_path, chance, 60)
    assert toll.violations == []
    assert toll.faults == 60
    assert toll.counts["runs"] > toll.counts["menus"] > 0


def test_a_power_cut_takes_nothing_back_that_was_sent(tmp_path, chance):
    toll = power_cuts.torment(tmp_path, chance, 40)
    assert toll.violations == []
    assert toll.faults == 40
    assert toll.counts["sent"] > 100


def test_a_log_that_begins_anew_is_never_mixed_with_what_it_was(tmp_path, chance, monkeypatch):
    toll = power_cuts.torment_beginnings(tmp_path, chance, 1)
    assert toll.violations == []
    assert toll.faults > 100
    monkeypatch.setattr(sqlite_ledger, "_CHARGING", "OFF")
    (tmp_path / "twin").mkdir()
    # Three of four recordings show it.
    assert power_cuts.torment_beginnings(tmp_path / "twin", chance, 8).violations


@pytest.mark.parametrize("twin", twins.OWNERS)
def test_an_unsafe_owner_is_caught(fork_server, tmp_path, chance, twin):
    assert owner_kills.torment(fork_server, tmp_path, chance, 150, twin=twin).violations


@pytest.mark.parametrize("twin", twins.LEARNERS)
def test_an_unsafe_learner_is_caught(fork_server, tmp_path, chance, twin):
    assert learner_kills.torment(fork_server, tmp_path, chance, 150, twin=twin).violations


@pytest.mark.parametrize("twin", twins.DISKS)
def test_a_disk_that_is_not_waited_for_is_caught(tmp_path, chance, twin):
    assert power_cuts.torment(tmp_path, chance, 150, twin=twin).violations
