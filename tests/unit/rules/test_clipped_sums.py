"""Sums under many clips at once are those of one clip after another."""

import numpy as np
import pytest

from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.rules import clipped_sums
from copriv.rules.clipped_sums import GradientsToClip

CLIPS = (0.5, 1.0, 1.3, 2.0, 9.0)


def records(seed=0):
    """Gradients of 300 records, some of them long, one of them 0 and one as long as a clip."""
    chance = np.random.default_rng(seed)
    columns, slopes = chance.normal(size=(4, 300)), chance.standard_t(2, size=300)
    slopes[0], columns[:, 1] = 0.0, 0.0
    columns[0, 1], slopes[1] = 1.0, 1.3
    gradients = columns * slopes
    lengths = np.linalg.norm(gradients, axis=0)
    public = Sample.of_rows(columns.T, np.zeros(300))
    return GradientsToClip(public, gradients, lengths, chance.random(300), chance.random(300))


def people(seed=0):
    """The same of 100 people with three rows each."""
    rows = records(seed)
    public = rows.public.grouped(Whose(np.repeat(np.arange(100), 3), 3, "person"))
    gradients = public.by_record(rows.gradients)
    lengths = np.linalg.norm(gradients, axis=0)
    return GradientsToClip(public, gradients, lengths, public.weights * rows.strays, public.weights * rows.curvatures)


def by_definition(known, clip):
    """Σ_cc, Σ_gc, and what is shortened of strays and curvatures."""
    clipped = known.gradients * np.minimum(1, clip / np.maximum(known.lengths, 1e-300))
    both = np.cov(known.gradients, clipped, bias=True)
    long = known.public.by_row(known.lengths > clip)
    columns = known.public.columns[:, long]
    outer = [(columns * each[long]) @ columns.T / known.lengths.size for each in weights(known)]
    return both[4:, 4:], both[:4, 4:], *outer


def weights(known):
    return known.strays, known.curvatures


def agree(known):
    found = {sums.clip: sums for sums in known.under(CLIPS)}
    return list(found) == sorted(CLIPS, reverse=True) and all(
        np.allclose(mine, wanted, rtol=1e-10, atol=1e-12)
        for clip, sums in found.items()
        for mine, wanted in zip(
            (sums.within, sums.across, sums.strayed, sums.hidden), by_definition(known, clip), strict=True
        )
    )


def test_each_clip_has_its_sums():
    assert agree(records())
    assert agree(people())


def test_a_clip_alone_says_the_same():
    known = records()
    for sums in known.under(CLIPS):
        (alone,) = known.under((sums.clip,))
        np.testing.assert_allclose(alone.within, sums.within, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(alone.across, sums.across, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("forgotten", ["long records", "bands"])
def test_a_broken_twin_is_noticed(monkeypatch, forgotten):
    if forgotten == "long records":
        monkeypatch.setattr(clipped_sums._Shortened, "and_of", lambda self, _known, _rows: self)
    else:
        monkeypatch.setattr(GradientsToClip, "_spared", lambda self, _bands, clips: [(np.eye(4), np.zeros(4))] * clips)
    assert not agree(records())
