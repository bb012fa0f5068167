"""What is predicted decides, and leaves have to be better by more than their forecast is off."""

from dataclasses import replace

import numpy as np

from copriv.losses.metrics import Metrics
from copriv.planning.entrant import Prospect
from copriv.planning.feature_choice import LEAVES_MUST_GAIN, FeatureChoice, WeighedFeatures, take
from copriv.records.feature_spec import FeatureSpec


def _weighed(parameters, losses, psi, public=0.0):
    r2, ratio = 1 - float(np.mean(losses)), Prospect(psi, public, 1.25 * public).ratio
    spec = FeatureSpec(pls=parameters - 1)
    return WeighedFeatures(spec, parameters, losses, psi, ratio, "newton", Metrics(100, r2=r2))


def test_what_owners_bring_counts_once():
    """L holds what few public rows cost already; the twin L·(1 + ψ) counts it again, and takes too few features."""
    short, long = _weighed(4, (0.50,) * 5, 0.001, 0.004), _weighed(101, (0.49,) * 5, 0.05, 0.1)
    assert take([short, long]) is long
    assert min([short, long], key=lambda each: each.loss * (1 + each.relative_fitness)) is short
    # With as much noise, the longer model is the worse one: its own public rows are all it has.
    drowned = _weighed(101, (0.51,) * 5, 0.1, 0.1)
    assert take([short, drowned]) is short
    unknown = _weighed(101, (0.4,) * 5, float("nan"))
    assert take([short, unknown]) is short
    assert take([unknown]) is unknown


def test_leaves_must_gain_more_than_their_forecast_is_off():
    plain, leafy = _weighed(101, (0.5,) * 5, 0.01), _weighed(261, (0.5,) * 5, 0.01)
    spec = FeatureSpec.parse("all+score+leaves:20")
    little = replace(leafy, spec=spec, losses=(0.5 / LEAVES_MUST_GAIN + 0.001,) * 5)
    enough = replace(leafy, spec=spec, losses=(0.5 / LEAVES_MUST_GAIN - 0.001,) * 5)
    assert take([plain, little]) is plain
    assert take([plain, enough]) is enough
    # The twin that believes its forecast takes them for any gain.
    assert min([plain, little], key=lambda each: each.predicted_loss) is little
    assert FeatureChoice((plain, little), plain).runner_up is little
