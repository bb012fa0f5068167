"""A setting knows the noise of its owners, as they will commit to it, and is changed only in what is named."""

from dataclasses import replace

import pytest

from copriv.forecast.setting import Setting
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.plain_terms import plain_terms

GUARANTEES = (Guarantee.of("1"), Guarantee.of("0.5"), Guarantee.of("1"))


def setting(**changes):
    return Setting(plain_terms(**changes), (300, 500, 300), GUARANTEES, (3, 3, 3))


@pytest.mark.parametrize("clip", [0.01, 1e6])
def test_noise_and_clip_are_those_of_the_commitments(clip):
    found = setting(clip=clip)
    for size, guarantee, noise_std in zip(found.records, GUARANTEES, found.noise_std, strict=True):
        made = make_commitment(found.terms, guarantee, records=size, answers=3)
        assert noise_std == pytest.approx(made.calibration.mechanism.noise_std, rel=1e-6)
        assert found.clip == made.clip


def test_noise_at_a_clip_of_one_does_not_depend_on_the_clip():
    short, long = setting(clip=0.01), setting(clip=0.1)
    assert short.unit_noise == pytest.approx(long.unit_noise, rel=1e-9)
    assert short.noise_std != pytest.approx(long.noise_std, rel=0.5)


def test_only_what_is_named_changes():
    before = setting(clip=0.1)
    moved = before.at(clip=0.05, step=0.25)
    assert (moved.terms.clip, moved.terms.step) == (0.05, 0.25)
    assert replace(moved, terms=before.terms) == before
    again = before.answering(6)
    assert again.answers == (6, 6, 6)
    assert replace(again, answers=before.answers) == before
    assert again.noise_std == pytest.approx([2 * noise_std for noise_std in before.noise_std], rel=1e-6)
