"""The seven errors of the paper: each demonstration shows the defect, and shows it gone in the corrected version."""

import functools
import importlib.util
import inspect
import math
from pathlib import Path

import numpy as np
import pytest

from copriv.errors import CoprivError
from copriv.losses.objective import Objective
from copriv.losses.passes import average_gradient
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.privacy.laplace import Laplace
from copriv.privacy.sensitivity import of_average_gradient
from copriv.rules.paper import CentralStep, PaperRule
from copriv.vectors import Norm

THEORY = Path(__file__).parents[3] / "docs" / "theory"
SCRIPTS = sorted((THEORY / "demonstrations").glob("*.py"))
SEVEN = {
    "central_step", "constants", "large_horizon", "mixing", "theorem_1", "vacuous_bound", "wasted_budget",
}  # fmt: skip


@functools.cache
def load(name):
    """The script as a module; what its `demonstrate()` finds is computed once."""
    spec = importlib.util.spec_from_file_location(f"demonstration_{name}", THEORY / "demonstrations" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.demonstrate = functools.cache(module.demonstrate)
    return module


def test_errata_name_every_script_and_nothing_else():
    text = (THEORY / "errata.md").read_text(encoding="utf-8")
    assert {script.stem for script in SCRIPTS} == SEVEN
    for name in SEVEN:
        assert f".venv/bin/python docs/theory/demonstrations/{name}.py" in text
    assert text.count("\n## ") == text.count("\n**See it:**") == len(SEVEN)


@pytest.mark.parametrize("name", sorted(SEVEN))
def test_errata_show_what_the_scripts_print(name, capsys):
    load(name).main()
    printed = capsys.readouterr().out
    assert f"```text\n{printed}```\n" in (THEORY / "errata.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_demonstration_stays_small(script):
    assert len(script.read_text(encoding="utf-8").splitlines()) < 60
    module = load(script.stem)
    assert inspect.getdoc(module)
    assert callable(module.main)
    assert callable(module.demonstrate)


def test_theorem_1_promises_too_much_and_copriv_does_not():
    found = load("theorem_1").demonstrate()
    _, exact, seen, low = found["printed"]
    assert exact == pytest.approx(math.sqrt(10), rel=1e-9)
    assert low > 2, "two million draws alone refute the promise of 1"
    assert seen == pytest.approx(exact, abs=0.5)
    _, exact, seen, low = found["copriv"]
    assert 0.999 < exact <= 1
    assert low < 1
    assert seen == pytest.approx(1, abs=0.2)


def test_theorem_1_fails_by_the_root_of_the_parameters():
    module = load("theorem_1")
    for parameters in (1, 4, 25):
        one, other = module.neighbours(parameters)
        assert np.linalg.norm(one - other) == pytest.approx(2 / module.RECORDS)
        scale = 2 / (module.RECORDS * module.EPSILON)
        assert module.exact_epsilon(one, other, scale) == pytest.approx(math.sqrt(parameters))


def test_the_squared_loss_breaks_theorem_1_on_any_box():
    """A record with the longest gradient against an empty one: √p/2 times the promise."""
    p, limit = 10, 3.0
    bound = Objective(SquaredLoss(), 1e-5, limit).gradient_bound(row_norm=1, target=1, parameters=p, norm=Norm.L2)
    rows = np.full((1, p), p**-0.5)
    far = np.full(p, limit)
    longest = average_gradient(SquaredLoss(), Sample.of_rows(rows, [-1.0]), far)
    empty = average_gradient(SquaredLoss(), Sample.of_rows(0 * rows, [0.0]), far)
    assert np.linalg.norm(longest) == pytest.approx(bound)
    assert Norm.L1.of(longest - empty) / (2 * bound) == pytest.approx(math.sqrt(p) / 2)


def test_laplace_noise_takes_no_l2_bound():
    with pytest.raises(CoprivError):
        Laplace(1.0).cost(of_average_gradient(clip=1.0, records=100, parameters=10, norm=Norm.L2), 10)


def test_the_printed_central_step_overweights_the_regularizer():
    for owners, (due, as_printed, proof, cost, small) in load("central_step").demonstrate().items():
        assert due == pytest.approx(1.5 - 1 / owners)
        assert as_printed == pytest.approx(due, rel=0.01)
        assert proof == pytest.approx(1, rel=0.01)
        assert (cost > 1e-3) == (owners != 2)
        assert small < 1e-6
    assert inspect.signature(PaperRule).parameters["central"].default is CentralStep.PROOF


def test_a_fixed_rho_fails_for_large_horizons():
    found = load("large_horizon").demonstrate()
    transient, fixed, growing = (np.array(column) for column in zip(*found["rows"].values(), strict=True))
    assert np.all(np.diff(fixed) > 0)
    assert fixed[0] < 1e-3
    assert 0.9 * found["start"] < fixed[-1] < found["start"]
    assert np.all(np.diff(growing) < 0)
    assert np.all(np.diff(transient) > 0)
    assert transient[-1] > 0.9999


def test_the_root_is_multiplied_by_the_second_constant_over_the_horizon():
    found = load("constants").demonstrate()
    first, second = found["first"], found["second"]
    assert second > 100 * first
    for horizon, (rest, root, proof, relabelled, as_printed) in found["rows"].items():
        assert rest == pytest.approx(first, rel=1e-9)
        assert root * horizon == pytest.approx(second, rel=1e-9)
        assert proof < as_printed < relabelled
    assert found["noise"] == pytest.approx(math.sqrt(10))


def test_the_mixing_rate_has_a_closed_form():
    module = load("mixing")
    for owners, found in module.demonstrate((2, 3, 7, 10, 100)).items():
        assert found["second"] == pytest.approx(1 - 1 / (2 * owners), abs=1e-12)
        assert found["contraction"] == pytest.approx(found["closed"], abs=1e-12)
        assert found["projection_error"] < 1e-15
        assert found["as_printed"] == pytest.approx(1, abs=1e-12)
        assert found["row_sum"] == pytest.approx(1 - 1 / owners)
        assert found["asymmetry"] == pytest.approx(1 / owners)
        assert found["mean_asymmetry"] < 1e-12
        assert found["mean_row_error"] < 1e-12
    assert module.examine(1)["second"] == pytest.approx(0), "the closed form is for two owners or more"


def test_the_bound_says_nothing_where_the_rule_learns():
    found = load("vacuous_bound").demonstrate()
    tiny, useful, _, good = found["rows"]
    assert good[1] > 1e6 * found["box"]
    assert found["short"] > found["box"]
    assert good[3] < 0.01 * good[4], "and yet the model is good"
    assert useful[1] == pytest.approx(found["box"])
    assert useful[3] == pytest.approx(useful[4], rel=1e-3), "the ρ that makes the bound useful teaches nothing"
    assert tiny[1] < tiny[2], "without its transient the bound is false"


def test_capped_answers_keep_the_promise_with_less_noise():
    module = load("wasted_budget")
    for owners, ways in module.demonstrate().items():
        (all_answers, wide, little, poor), (few, narrow, most, good) = ways["T"], ways["K"]
        assert wide / narrow == pytest.approx(all_answers / few, rel=1e-6)
        assert owners / 2 < wide / narrow <= owners
        assert little == pytest.approx(10 / owners, rel=0.01)
        assert 5 < most <= 10
        assert good < poor / 5
        assert module.promise(few).epsilon_after(few) <= 10
