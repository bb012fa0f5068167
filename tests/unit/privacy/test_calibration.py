"""Calibrations keep the guarantee, agree with dp-accounting's PLD (never below it), and waste little."""

import itertools
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import BadGuarantee, BadInput
from copriv.privacy.accounting import allowed_rho
from copriv.privacy.calibration import calibrate
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.laplace import Laplace
from copriv.privacy.sensitivity import Sensitivity
from copriv.vectors import Norm

GRID = list(itertools.product([0.1, 1.0, 10.0], [1, 10, 100, 1000]))


def _calibrate(epsilon, answers, delta=0.0, accountant="pld", sensitivity=0.5, portion=Fraction(1)):
    norm = Norm.L2 if delta else Norm.L1
    return calibrate(
        Guarantee.of(epsilon, delta),
        answers=answers,
        sensitivity=Sensitivity(sensitivity, norm),
        parameters=10,
        accountant=accountant,
        portion=portion,
    )


@given(
    epsilon=st.decimals("0.001", "50", places=6),
    answers=st.integers(1, 5000),
    sensitivity=st.floats(1e-9, 1e3),
)
def test_pure_answers_add_up_to_the_promise_exactly(epsilon, answers, sensitivity):
    found = _calibrate(str(epsilon), answers, sensitivity=sensitivity)
    assert isinstance(found.mechanism, Laplace)
    assert found.charge.nano * answers <= found.budget.nano <= found.guarantee.nano_epsilon
    assert sensitivity / found.mechanism.scale <= found.charge.nano / 1e9
    assert found.epsilon_after(answers) <= found.guarantee.epsilon


@pytest.mark.parametrize(("epsilon", "answers"), GRID)
def test_pure_noise_is_no_larger_than_it_must_be(epsilon, answers):
    assert _calibrate(epsilon, answers).mechanism.scale == pytest.approx(0.5 * answers / epsilon, rel=2e-5)


@pytest.mark.parametrize(("epsilon", "answers"), GRID)
@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_gaussian_answers_never_cost_more_than_pld_says(epsilon, answers, accountant):
    """The PLD of all answers together stays within the guarantee, and is not far below it."""
    found = _calibrate(epsilon, answers, 1e-6, accountant)
    spent = _composed(found.mechanism.scale / 0.5, answers, epsilon)
    assert epsilon * (0.98 if accountant == "pld" else 0.85) <= spent <= epsilon * (1 + 2e-3)
    assert spent <= found.epsilon_after(answers) * (1 + 2e-3) <= epsilon * (1 + 2e-3)


def _composed(ratio, answers, epsilon):
    """ε at δ = 1e-6 of so many Gaussian answers, composed one by one; discretised finely enough for 0.2 %."""
    one = pld.from_gaussian_mechanism(ratio, value_discretization_interval=epsilon / 1000 / max(1, answers**0.5))
    return one.self_compose(answers).get_epsilon_for_delta(1e-6)


def test_a_calibration_with_too_little_noise_would_be_caught():
    """The comparison with PLD above rejects noise that is 2 % too small."""
    assert _composed(_calibrate(1.0, 100, 1e-6).mechanism.scale / 0.5 * 0.98, 100, 1.0) > 1 + 2e-3


@pytest.mark.parametrize(
    ("epsilon", "answers", "zcdp", "tight"),
    [(0.1, 10, 125, 115), (1, 100, 45.3, 42.2), (10, 1000, 18, 17.1)],
)
def test_the_known_table_is_met(epsilon, answers, zcdp, tight):
    """Deviations for a change of L2 length 1 at δ = 1e-6, as measured independently."""
    assert _calibrate(epsilon, answers, 1e-6, "zcdp", 1.0).mechanism.scale == pytest.approx(zcdp, rel=0.02)
    assert _calibrate(epsilon, answers, 1e-6, "pld", 1.0).mechanism.scale == pytest.approx(tight, rel=0.02)


def test_spending_grows_with_answers_and_starts_at_nothing():
    for delta in (0.0, 1e-6):
        found = _calibrate(1.0, 50, delta)
        spent = [found.epsilon_after(k) for k in (0, 1, 10, 50)]
        assert spent[0] == 0
        assert spent == sorted(spent)
        assert spent[-1] <= 1.0


def test_a_budget_too_small_to_divide_is_refused():
    with pytest.raises(BadGuarantee, match="billionth"):
        _calibrate("0.000001", 2000)


def test_answers_and_accountants_are_checked():
    with pytest.raises(BadInput, match="0 answers"):
        _calibrate(1, 0)
    with pytest.raises(BadGuarantee, match="pure account"):
        _calibrate(1, 5, 1e-6, accountant="pure")


@pytest.mark.parametrize("mechanism", [Laplace(1.0), Gaussian(1.0)])
def test_a_sensitivity_in_another_norm_is_refused(mechanism):
    """The mistake of the paper's Theorem 1 cannot be made by accident."""
    wrong = Norm.L2 if mechanism.norm is Norm.L1 else Norm.L1
    with pytest.raises(BadInput, match=wrong.name):
        mechanism.cost(Sensitivity(1.0, wrong), 3)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_a_scale_that_is_no_noise_is_refused(kind, scale):
    with pytest.raises(BadInput, match="scale"):
        kind(scale)


shares = st.fractions(Fraction(1, 1000), Fraction(999, 1000))


@given(epsilon=st.decimals("0.01", "50", places=9), share=shares, answers=st.integers(1, 500), few=st.integers(1, 9))
def test_portions_of_a_pure_guarantee_never_come_to_more_than_the_whole(epsilon, share, answers, few):
    one, other = _calibrate(str(epsilon), answers, portion=1 - share), _calibrate(str(epsilon), few, portion=share)
    whole = one.guarantee.nano_epsilon
    _check_portions(one, other, share, whole)


@given(
    epsilon=st.sampled_from([0.1, 1, 2.5, 10]),
    delta=st.sampled_from([1e-9, 1e-6]),
    accountant=st.sampled_from(["zcdp", "pld"]),
    share=shares,
    answers=st.integers(1, 500),
    few=st.integers(1, 9),
)
def test_portions_of_a_guarantee_with_delta_never_come_to_more_than_the_whole(
    epsilon, delta, accountant, share, answers, few
):
    one = _calibrate(epsilon, answers, delta, accountant, portion=1 - share)
    other = _calibrate(epsilon, few, delta, accountant, portion=share)
    _check_portions(one, other, share, allowed_rho(one.guarantee, accountant))


def _check_portions(one, other, share, whole):
    """In whole numbers: no tolerance anywhere."""
    assert one.budget.nano + other.budget.nano <= whole
    assert one.budget.nano <= (1 - share) * whole
    assert other.budget.nano <= share * whole
    for found, portion in ((one, 1 - share), (other, share)):
        assert found.charge.nano * found.answers <= found.budget.nano
        assert found.budget.nano > portion * whole - 1 - found.answers


def test_the_whole_is_what_it_was_without_portions():
    for delta in (0.0, 1e-6):
        norm = Norm.L2 if delta else Norm.L1
        plain = calibrate(Guarantee.of(1, delta), answers=7, sensitivity=Sensitivity(0.5, norm), parameters=10)
        assert plain == _calibrate(1, 7, delta)


def test_half_the_budget_means_twice_the_laplace_noise():
    whole, half = _calibrate(1, 10), _calibrate(1, 10, portion=Fraction(1, 2))
    assert half.mechanism.scale == pytest.approx(2 * whole.mechanism.scale, rel=1e-6)
    assert half.charge.nano * 2 == whole.charge.nano


@pytest.mark.parametrize("portion", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_a_portion_is_a_part_of_the_whole(portion):
    with pytest.raises(BadInput, match="portion"):
        _calibrate(1, 5, portion=portion)


def test_a_portion_too_small_to_divide_is_refused_by_its_size():
    with pytest.raises(BadGuarantee, match=r"0.001 of epsilon = 1e-06 .* billionth"):
        _calibrate("0.000001", 2, portion=Fraction(1, 1000))
