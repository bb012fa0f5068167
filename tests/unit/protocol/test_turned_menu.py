"""Terms that turn gradients to other axes: what they may say, and that an owner promises what it did without them."""

import math

import msgspec
import numpy as np
import pytest
from tests import menu_study as study

from copriv.errors import BadInput
from copriv.losses.logistic import LogisticLoss
from copriv.losses.sample import Sample
from copriv.losses.turned import MOST_TURNED
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import expect_noise, make_commitment, told_gradient
from copriv.protocol.menu import MENU_KINDS
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, read_study, write_study

MENU = {"shares": (15, 20, 65), "kinds": MENU_KINDS[:2]}
PERSON = {"unit": "person", "person": "patient", "rows_cap": 5, "weigh": "person"}
AXES = ((0.5, 0.0, 0.1, 0.0), (0.0, 0.5, 0.0, 0.0), (0.0, 0.0, 0.5, 0.0), (-0.1, 0.0, 0.0, 0.4))
DICTIONARY = {"columns": []}
PLAIN = plain_terms(rule="newton", loss="logistic", dictionary=dictionary_digest(DICTIONARY), **MENU)
TURNED = msgspec.structs.replace(PLAIN, axes=AXES)
FILLED, BOTH = (msgspec.structs.replace(terms, fill=0.05) for terms in (PLAIN, TURNED))
pairs = pytest.mark.parametrize(("without", "terms"), [(PLAIN, TURNED), (FILLED, BOTH)])
noises = pytest.mark.parametrize(("delta", "accountant"), [(0.0, "pld"), (1e-6, "pld"), (1e-6, "zcdp")])


def promise(terms=TURNED, delta=0.0, accountant="pld", records=40):
    return make_commitment(terms, Guarantee.of(1, delta), records=records, answers=3, accountant=accountant)


def with_entry(row, column, value, axes=AXES):
    matrix = [list(axis) for axis in axes]
    matrix[row][column] = value
    return tuple(tuple(axis) for axis in matrix)


def test_terms_without_axes_have_the_digest_that_they_had():
    """Of the version before gradients could be turned: plain ones, with a menu, and with a menu and a fill."""
    before = {
        "759d3f6b55a9eb7b3230bca6fc2f1f7823d61a95aa41d8c9b7f465b4d05d9abc": {},
        "ea322ff8ddad4aeab6bd79b6a73f35fafe6ed2251b36c84bf305a94d484e3530": MENU,
        "2ee78a9b8efbbba5a592b35d7a88b77245177f5714c3e376ff60f07487249aea": MENU | {"fill": 0.05},
    }
    for digest, said in before.items():
        assert plain_terms(**said).digest() == plain_terms(**said, axes=()).digest() == digest
        assert "axes" not in plain_terms(**said).spelled()


def test_terms_with_axes_have_a_digest_of_their_own():
    """Fixed, so that learners and owners of other versions agree; and any entry changes it, by its last bit too."""
    assert plain_terms(**MENU, axes=AXES).digest() == "ef84394d0012d3dcbef8a2f811fd84106c8bca7ae324d8eae2ba4db118de2442"
    digests = {TURNED.digest(), PLAIN.digest(), BOTH.digest()}
    for row in range(4):
        for column in range(4):
            for value in (math.nextafter(AXES[row][column], 1.0), AXES[row][column] + 0.01):
                digests.add(msgspec.structs.replace(TURNED, axes=with_entry(row, column, value)).digest())
    digests.add(msgspec.structs.replace(TURNED, axes=AXES[::-1]).digest())
    digests.add(msgspec.structs.replace(TURNED, axes=tuple(zip(*AXES, strict=True))).digest())
    assert len(digests) == 3 + 32 + 2


@pytest.mark.parametrize("without", [{"shares": (), "kinds": ()}, PERSON])
@pytest.mark.parametrize("rule", ["paper", "newton"])
def test_gradients_are_turned_under_a_menu_and_where_a_record_is_a_row(without, rule):
    assert plain_terms(**MENU, rule=rule, axes=AXES).axes == AXES
    with pytest.raises(BadInput, match="turn gradients of records alone, under a menu"):
        plain_terms(**(MENU | {"axes": AXES, "rule": rule} | without))


@pytest.mark.parametrize(
    "axes",
    [
        AXES[:3],
        (*AXES, AXES[0]),
        tuple(axis[:3] for axis in AXES),
        (AXES[0], AXES[1], AXES[2], AXES[3][:2]),
        with_entry(0, 1, math.nan),
        with_entry(0, 1, math.inf),
        with_entry(0, 1, -1e308),
        with_entry(0, 1, 0.9),
        with_entry(3, 3, 0.0, with_entry(3, 0, 0.0)),
        with_entry(3, 3, 1e-5, with_entry(3, 0, 0.0)),
        tuple(tuple(0.4 * entry for entry in axis) for axis in AXES),
    ],
)
def test_axes_that_rows_cannot_be_turned_to_are_refused(axes):
    """By everybody who reads the terms, before anybody approves, and without printing a matrix."""
    with pytest.raises(BadInput, match="axes") as caught:
        plain_terms(**MENU, axes=axes)
    assert len(str(caught.value)) < 300


def test_long_models_are_not_turned():
    for parameters in (MOST_TURNED, MOST_TURNED + 1):
        said = {
            "shares": (10,),
            "kinds": MENU_KINDS[:1],
            "parameters": parameters,
            "axes": tuple(tuple(axis) for axis in (np.eye(parameters) / math.sqrt(parameters)).tolist()),
        }
        if parameters == MOST_TURNED:
            assert len(plain_terms(**said).axes) == MOST_TURNED
            continue
        with pytest.raises(BadInput, match="axes for models of 201 numbers"):
            plain_terms(**said)


def text_of(terms):
    return write_study(StudyFile(terms, DICTIONARY))


def test_axes_survive_the_study_file():
    """Every bit of them: digits that no short form has, a denormal, whole numbers."""
    axes = ((1.0, 0.0, 0.0, 5e-324), (0.0, 0.1 + 0.2, 0.0, 0.0), (0.0, -1 / 3, 1 / 7, 0.0), (0.0, 0.0, 0.0, 2e-3))
    scaled = tuple(tuple(entry / 1.2 for entry in axis) for axis in axes)
    for given in (AXES, scaled, tuple(tuple(axis) for axis in (0.5 * np.eye(4)).tolist())):
        terms = msgspec.structs.replace(BOTH, axes=given)
        text = text_of(terms)
        assert "axes = [" in text.split("[privacy]")[1].split("[learning]")[0]
        assert read_study(text).terms == terms
        assert read_study(text).terms.digest() == terms.digest()


def test_axes_that_people_write_on_one_line_and_as_whole_numbers_are_the_same_terms():
    said = {"shares": (10,), "kinds": MENU_KINDS[:1], "dictionary": dictionary_digest(DICTIONARY)}
    one = plain_terms(**said, parameters=1, axes=((1.0,),))
    text = text_of(one)
    [written] = [text[at : text.index("clip")] for at in [text.index("axes")]]
    found = read_study(text.replace(written, "axes = [[1]]\n")).terms
    assert (found, found.digest()) == (one, one.digest())


OLD = """
[study]
format = 2
[model]
loss = "squared"
threshold = 0.0
parameters = 4
regularization = 1e-05
limit = 2.0
row_norm = 1.0
target_bound = 1.0
[privacy]
shares = [15, 20, 65]
kinds = ["gradient", "second_moments"]
fill = 0.05
clip = 0.5
[learning]
rule = "paper"
horizon = 10
step = 0.1
central = "proof"
[dictionary]
columns = []
"""


def test_a_study_file_from_before_there_were_axes_is_read_with_the_digest_that_it_had():
    terms = read_study(OLD).terms
    assert (terms.axes, terms.fill) == ((), 0.05)
    assert terms.digest() == "bff4cc3d833d202aaaa2d31fcde404c175cb6e707d763e2bf391e27411df4326"
    assert "axes" not in text_of(terms)


@pytest.mark.parametrize(
    "hostile",
    [
        "0.5",
        '"axes"',
        "[0.5, 0.5, 0.5, 0.5]",
        "[[0.5]]",
        "[[[0.5]]]",
        '[["0.5", 0.0], [0.0, 0.5]]',
        "[[true, 0.0, 0.0, 0.0]]",
        "[[nan, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.4]]",
        "[[inf, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.4]]",
        f"[[{10**400}, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.4]]",
        "[[0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0]]",
        "{ first = 0.5 }",
    ],
)
def test_a_study_file_with_other_axes_is_refused(hostile):
    with pytest.raises(BadInput) as caught:
        read_study(OLD.replace("fill = 0.05", f"axes = {hostile}"))
    assert len(str(caught.value)) < 300


def test_no_axes_in_a_study_file_are_none():
    assert (
        read_study(OLD.replace("fill = 0.05", "axes = []\nfill = 0.05")).terms.digest()
        == read_study(OLD).terms.digest()
    )


@noises
@pairs
def test_turned_gradients_have_the_price_the_noise_and_the_sensitivity_of_plain_ones(delta, accountant, without, terms):
    turned, plain = (promise(each, delta, accountant) for each in (terms, without))
    for share in terms.shares:
        one, other = (each.part("gradient", share) for each in (turned, plain))
        assert (one.calibration, one.sensitivity, one.bound) == (other.calibration, other.sensitivity, other.bound)
        assert (one.numbers, one.allowance) == (other.numbers, other.allowance)
        assert turned.part("second_moments", share) == plain.part("second_moments", share)
    assert (turned.clip, turned.budget, turned.sensitivity) == (plain.clip, plain.budget, plain.sensitivity)
    assert (turned.axes, plain.axes) == (AXES, ())
    said = [(40, Guarantee.of(1, delta), 3)]
    assert expect_noise(terms, said, accountant) == expect_noise(without, said, accountant)


def test_the_clip_of_turned_gradients_is_no_larger_than_any_gradient():
    """T makes no row longer, so the bound on gradients along the features holds along T."""
    terms = msgspec.structs.replace(TURNED, clip=1e6)
    assert promise(terms).clip == promise(msgspec.structs.replace(PLAIN, clip=1e6)).clip < 1e6


@pairs
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_exact_answer_is_told_along_the_axes_and_nothing_else_is(delta, without, terms):
    commitment, plain, sample = promise(terms, delta), promise(without, delta), study.sample_of(0)
    theta, bounds = np.linspace(-1, 1, 4), (commitment.clip, terms.fill, AXES)
    expected = told_gradient(LogisticLoss(), sample, theta, bounds, commitment.norm)
    for share in terms.shares:
        assert commitment.part("gradient", share).exact(sample, theta).tobytes() == expected.tobytes()
        squares = [each.part("second_moments", share).exact(sample, theta) for each in (commitment, plain)]
        assert squares[0].tobytes() == squares[1].tobytes()
    assert commitment.exact_answer(sample, theta).tobytes() == expected.tobytes()
    assert np.abs(expected - plain.exact_answer(sample, theta)).max() > 0.01
    for level in commitment.levels("gradient", 15):
        assert level.exact(sample, theta).tobytes() == expected.tobytes()
    finer = commitment.part("gradient", 45, before=20) if delta == 0 else commitment.part("gradient", 65)
    assert finer.exact(sample, theta).tobytes() == expected.tobytes()


def test_records_are_held_to_the_bounds_of_the_terms_as_they_are():
    """Before they are turned: a row too long is refused, also where axes would make it short enough."""
    commitment = promise()
    commitment.require_bounded(study.sample_of(0))
    with pytest.raises(BadInput, match="outside the terms"):
        commitment.require_bounded(Sample.of_rows([[1.1, 0.0, 0.0, 0.0]], [0.5]))


@pytest.mark.parametrize("name", ["axes", "shares"])
def test_a_study_file_of_thousands_of_brackets_is_refused_in_a_line(name):
    with pytest.raises(BadInput, match="is not TOML"):
        read_study(f"[privacy]\n{name} = " + 20_000 * "[")
