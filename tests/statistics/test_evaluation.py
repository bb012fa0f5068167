"""Is the noise on an average loss of the promised size? Through the whole owner; rejects 0.7 and 1.3 times the scale.

The tests are those of test_noise, at a level of 1e-7: the two together fail by chance less than once in a million runs.
With so many draws a scale that is off by 30 % is accepted with a probability far below that.
"""

import numpy as np
import pytest
from scipy import stats

from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.privacy.accounting import allowed_rho
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Query
from copriv.protocol.plain_terms import plain_terms

LEVEL = 1e-7
DRAWS, RECORDS = 1500, 200
THETA = (0.1, -0.2, 0.3, 0.0)
TERMS = plain_terms(loss="logistic", evaluations=DRAWS, evaluation_share=0.25, loss_bound=1.5)


def _noise(sample, delta):
    """What one owner adds to its exact loss over all the evaluations it has promised."""
    commitment = make_commitment(TERMS, Guarantee.of(2, delta), records=RECORDS, answers=3)
    ledger = MemoryLedger(begin("bank", "records", commitment.calibration.guarantee))
    owner, digest = Owner("bank", TERMS, commitment, PrivateResponder(sample, commitment), ledger), TERMS.digest()
    answers = [owner.answer(Query(f"q{k}", digest, "bank", THETA, kind="loss")) for k in range(DRAWS)]
    return np.array([answer.values[0] for answer in answers]) - commitment.part("loss").exact(sample, np.array(THETA))


def _plausible(noise, delta, scale):
    if delta == 0:
        statistic, law = np.sum(np.abs(noise)) / scale, stats.gamma(noise.size)
    else:
        statistic, law = np.sum(noise**2) / scale**2, stats.chi2(noise.size)
    return law.ppf(LEVEL / 2) <= statistic <= law.isf(LEVEL / 2)


def test_the_scale_of_a_pure_evaluation_is_what_its_share_of_the_budget_asks_for(make_sample):
    """b = (B/n) K/(share · ε), worked out here and not by the owner."""
    noise = _noise(make_sample(records=RECORDS, labels=True), 0.0)
    scale = 1.5 / RECORDS * DRAWS / (0.25 * 2)
    assert _plausible(noise, 0.0, scale)
    assert not _plausible(noise, 0.0, 0.7 * scale)
    assert not _plausible(noise, 0.0, 1.3 * scale)


def test_the_scale_of_a_gaussian_evaluation_is_what_its_share_of_the_budget_asks_for(make_sample):
    """s = (B/n) √(K/(2 · share · ρ)), with the ρ that the guarantee allows."""
    noise = _noise(make_sample(records=RECORDS, labels=True), 1e-6)
    rho = allowed_rho(Guarantee.of(2, 1e-6), "pld") / 1e9
    scale = 1.5 / RECORDS * (DRAWS / (2 * 0.25 * rho)) ** 0.5
    assert _plausible(noise, 1e-6, scale)
    assert not _plausible(noise, 1e-6, 0.7 * scale)
    assert not _plausible(noise, 1e-6, 1.3 * scale)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_an_owner_that_spends_the_whole_budget_on_evaluations_is_caught(make_sample, delta):
    """Seeded: noise for the whole guarantee instead of a quarter of it is too small, and is seen to be."""
    commitment = make_commitment(TERMS, Guarantee.of(2, delta), records=RECORDS, answers=3)
    scale, generator = commitment.part("loss").calibration.mechanism.scale, np.random.default_rng(5)
    draw = generator.laplace if delta == 0 else generator.normal
    assert _plausible(draw(scale=scale, size=DRAWS), delta, scale)
    assert not _plausible(draw(scale=scale * (0.25 if delta == 0 else 0.5), size=DRAWS), delta, scale)
