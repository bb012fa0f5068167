"""`plan(months=)`: the study of a month, and models of several months as one."""

import numpy as np
import pytest

import copriv.api.plan as planned
from copriv.api.model import Model
from copriv.api.plan import plan
from copriv.errors import BadInput
from copriv.planning.scenario import Scenario
from copriv.planning.search import rank
from copriv.privacy.accounting import allowed_rho, pld_epsilon
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.report.lifetime import lifetime_as_dict, show_lifetime
from copriv.report.model_file import ModelFile, Promised


@pytest.fixture(scope="module")
def found():
    table = lending_like.generate(400, np.random.default_rng(0))
    return plan(table, Scenario([300] * 2), target="int_rate", months=3, window=1, features=2, rule="newton")


def model(found, theta, **other):
    promised = (Promised("a", 1.0, 0.0),)
    given = {"dictionary": found.dictionary, "noise": "secure", **other}
    return Model(ModelFile(theta=tuple(theta), terms=found.terms, promised=promised, **given))


def test_the_study_is_that_of_one_month(found, capsys):
    assert (found.terms.epsilon, found.terms.records) == (1.0, 300)
    told = found.to_dict()["lifetime"]
    assert told == lifetime_as_dict(found.lifetime)
    assert [month["month"] for month in told["months"]] == [1, 2, 3]
    from rich.console import Console

    show_lifetime(found.lifetime, Console(width=150))
    assert "a block is read in 1 of 3 retrainings, for ε = 1 each" in capsys.readouterr().out


def test_models_are_combined(found):
    first, second = model(found, [0.1, 0.2, 0.0]), model(found, [0.3, 0.0, 0.0])
    carried = found.carry([first, second])
    mixed = found.lifetime.combination(2)
    assert mixed.weights[0] == pytest.approx(mixed.weights[1])
    assert carried.no_interval == "the model combines those of several months"
    assert carried.file.promised[0].epsilon == 1.0
    assert found.carry([first]).file.theta == pytest.approx(first.file.theta)


def test_other_models_are_refused(found):
    with pytest.raises(BadInput, match="0 models of 3"):
        found.carry([])
    table = lending_like.generate(400, np.random.default_rng(1))
    other = plan(table, Scenario([300] * 2), target="int_rate", features=3, rule="newton")
    with pytest.raises(BadInput, match="other features"):
        found.carry([model(other, [0.1] * 4, dictionary=other.dictionary)])
    with pytest.raises(BadInput, match="1 models of 0"):
        other.carry([model(other, [0.1] * 4)])
    with pytest.raises(BadInput, match="window without months"):
        plan(table, Scenario([300] * 2), target="int_rate", window=2, features=2, rule="newton")


def test_months_that_share_a_promise_with_delta_have_no_pure_noise(monkeypatch):
    """A month's ε is the share of Gaussian noise in the lifetime's; pure ε of as much would add up to more."""
    table = lending_like.generate(400, np.random.default_rng(0))
    who = Scenario([250], 1.0, delta=1e-6)

    def total():
        found = plan(table, who, target="int_rate", months=3, window=3, features=2, rule="newton")
        if found.terms.delta == 0:
            return 3 * found.terms.epsilon
        share = allowed_rho(Guarantee.of(found.terms.epsilon, found.terms.delta), "pld")
        return pld_epsilon(3 * share, 1e-6)

    assert total() <= 1.0
    monkeypatch.setattr(planned, "rank", lambda outline, **_with_pure: rank(outline))
    assert total() > 1.5
