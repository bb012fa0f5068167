"""What the public rows foretell: a clip is undone by what many records say, never by what one record does."""

import numpy as np
import pytest

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.rules.outlook import Outlook
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)
START = np.zeros(4)


def rows_with_rare_ones(rare, seed=0, records=4000):
    """Three ordinary features, and one that only some records have, with targets far off the others'."""
    generator = np.random.default_rng(seed)
    rows = np.column_stack([generator.normal(size=(records, 3)) / 8, 1e-3 * generator.normal(size=records)])
    targets = 0.1 * generator.standard_t(4, size=records)
    rows[:rare, 3], targets[:rare] = 0.8, np.sign(generator.normal(size=rare))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, np.clip(targets, -1, 1))


def look(public, quantile=0.95):
    lengths = gradient_norms(OBJECTIVE.loss, public, START, Norm.L1)
    return Outlook.of(public, OBJECTIVE, float(np.quantile(lengths, quantile)), Norm.L1, START)


def amplified(restoring, outlook):
    """How many times longer the rare feature's deviation becomes when the clip is undone."""
    return float((restoring @ outlook.basis.T)[3, 3])


def test_one_record_does_not_tell_how_to_undo_a_clip():
    for seed in range(4):
        outlook = look(rows_with_rare_ones(1, seed))
        assert amplified(outlook.sampled, outlook) > 5
        assert 1 <= amplified(outlook.cautious, outlook) < 2


def test_many_records_do():
    outlook = look(rows_with_rare_ones(150))
    assert amplified(outlook.sampled, outlook) > 1.5
    assert amplified(outlook.cautious, outlook) == pytest.approx(amplified(outlook.sampled, outlook), rel=0.05)
    ordinary = (outlook.cautious @ outlook.basis.T)[:3, :3]
    np.testing.assert_allclose(ordinary, (outlook.sampled @ outlook.basis.T)[:3, :3], rtol=0.05, atol=0.02)


def test_without_a_clip_there_is_nothing_to_undo():
    outlook = Outlook.of(rows_with_rare_ones(1), OBJECTIVE, 1e9, Norm.L1, START)
    np.testing.assert_allclose(outlook.cautious, outlook.basis, atol=1e-9)


def test_caution_lies_between_the_two():
    """Column by column, on the way from U to B U, and neither beyond."""
    for rare in (1, 3, 10, 40):
        outlook = look(rows_with_rare_ones(rare, seed=rare))
        way, taken = outlook.sampled - outlook.basis, outlook.cautious - outlook.basis
        share = np.sum(way * taken, axis=0) / np.sum(way * way, axis=0)
        assert np.all((share >= 0) & (share <= 1))
        np.testing.assert_allclose(taken, way * share, atol=1e-12)
