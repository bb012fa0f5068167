"""One file never spends more than its budget, whatever happens to its ledger; twins do."""

import pytest
from one_file import TWINS, live

from copriv.owner.watermark import Watermark


@pytest.fixture
def lives(tmp_path, monkeypatch):
    """Several lives, each on a machine of its own."""

    def call(seeds, steps, twin=None):
        if twin == "no watermark":
            for method in ("check", "raise_to"):
                monkeypatch.setattr(Watermark, method, lambda *_: None)
        for seed in seeds:
            monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / f"registry-{seed}"))
            yield live(tmp_path / f"machine-{seed}", seed, steps, twin)

    return call


def test_never_more_than_the_budget(lives):
    ended = list(lives(range(6), 50))
    assert not any(world.overspent for world in ended)
    # The sequences have teeth only if something was answered, and something refused.
    assert all(world.lost > 0 and world.denied > 0 for world in ended)
    assert sum(len(world.displaced) for world in ended) > 0


@pytest.mark.parametrize("twin", TWINS)
def test_twins_are_caught(lives, twin):
    assert any(world.overspent for world in lives(range(8), 50, twin))
