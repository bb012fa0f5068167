"""Terms outside their ranges are refused, whoever reads them."""

import math

import msgspec
import pytest

from copriv.errors import BadInput
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, read_study, write_study
from copriv.protocol.terms import RANGES

SHARED = {
    "evaluations": {"evaluation_share": 0.1, "loss_bound": 1.0},
    "evaluation_share": {"evaluations": 1, "loss_bound": 1.0},
}


@pytest.mark.parametrize("name", RANGES)
def test_every_number_has_a_range(name):
    lowest, highest = RANGES[name]
    wrong = [lowest - 1, highest * 2 + 1]
    if isinstance(getattr(plain_terms(), name), float):
        wrong += [math.nan, math.inf, -math.inf, 1.7e308]
    for value in wrong:
        with pytest.raises(BadInput, match=name.replace("_", " ")):
            plain_terms(**{name: value}, **SHARED.get(name, {}))


def test_a_huber_loss_without_a_threshold_is_refused():
    assert plain_terms(threshold=0.0).threshold == 0
    for threshold in (0.0, 5e-324):
        with pytest.raises(BadInput, match="threshold"):
            plain_terms(loss="huber", threshold=threshold)


def test_the_box_that_made_records_overflow_is_refused():
    for limit in (1.7e308, 1e155, 0.0, 5e-324):
        with pytest.raises(BadInput, match="limit"):
            plain_terms(limit=limit)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "hinge"),
        ("rule", ""),
        ("rule", "my rule"),
        ("rule", "mine\x1b[2J"),
        ("rule", "m" * 41),
        ("asks", "loss"),
        ("mechanisms", "none"),
        ("central", "\x1b[2J"),
        ("meeting", "never"),
        ("clock", "sun"),
        ("name", "a\x1b[31mb"),
        ("name", "two\nlines"),
        ("name", "n" * 201),
        ("dictionary", "\x1b"),
        ("dictionary", "a" * 65),
    ],
)
def test_words_and_names(name, value):
    with pytest.raises(BadInput) as caught:
        plain_terms(**{name: value})
    assert str(caught.value).isprintable()


def test_a_study_file_is_held_to_the_same_ranges():
    dictionary = {"columns": []}
    study = StudyFile(plain_terms(dictionary=dictionary_digest(dictionary)), dictionary)
    text = write_study(study)
    assert read_study(text) == study
    for line, hostile in (
        ("limit = 2.0", "limit = 1.7e308"),
        ("clip = 0.5", "clip = nan"),
        ("limit = 2.0", "limit = inf"),
    ):
        assert line in text
        with pytest.raises(BadInput):
            read_study(text.replace(line, hostile))


def test_what_is_agreed_otherwise_is_checked_too():
    with pytest.raises(BadInput, match="clip"):
        msgspec.structs.replace(plain_terms(), clip=0.0)


# Of the version before terms had words for what they ask and for the kind of noise.
OLD_DIGESTS = {
    "paper": "759d3f6b55a9eb7b3230bca6fc2f1f7823d61a95aa41d8c9b7f465b4d05d9abc",
    "statistics": "5b20c962e7b2ca5531a0a244d1f9d473183b33ced2125fd0fb33266a5ac95ae8",
}


@pytest.mark.parametrize("rule", OLD_DIGESTS)
def test_terms_of_the_version_before_keep_their_digest(rule):
    assert plain_terms(rule=rule).digest() == OLD_DIGESTS[rule]


@pytest.mark.parametrize("rule", OLD_DIGESTS)
def test_study_files_of_the_version_before_are_written_and_read_as_before(rule):
    study = StudyFile(plain_terms(rule=rule, dictionary=dictionary_digest({"columns": []})), {"columns": []})
    text = write_study(study)
    assert "asks" not in text.split("[learning]")[1]
    assert "mechanisms" not in text
    assert read_study(text) == study


def test_what_goes_without_saying_may_be_said():
    said = plain_terms(rule="statistics", asks="moments", mechanisms="asked")
    assert said == plain_terms(rule="statistics")
    assert said.digest() == OLD_DIGESTS["statistics"]
    assert said.kind == "moments"


def test_a_rule_from_outside_says_what_it_asks_for():
    terms = plain_terms(rule="mine", asks="moments", mechanisms="any", dictionary=dictionary_digest({"columns": []}))
    assert terms.kind == "moments"
    assert terms.suits(1e-6)
    assert terms.suits(0.0)
    text = write_study(StudyFile(terms, {"columns": []}))
    assert 'asks = "moments"' in text
    assert read_study(text).terms == terms
    assert len({plain_terms(rule="mine", asks=asks).digest() for asks in ("", "gradient", "moments")}) == 2
    assert not plain_terms(rule="mine").suits(1e-6)


def test_terms_follow_the_rule_when_it_is_replaced():
    assert msgspec.structs.replace(plain_terms(asks="gradient"), rule="statistics").kind == "moments"


PERSON = {"unit": "person", "person": "patient", "rows_cap": 5, "weigh": "person"}


def test_terms_of_records_say_nothing_of_people_and_keep_their_digest():
    assert not {"unit", "person", "rows_cap", "weigh"} & set(plain_terms().spelled())
    assert plain_terms(unit="record").digest() == plain_terms().digest()


def test_terms_of_people_have_a_digest_of_their_own_and_come_back_from_a_file():
    terms = plain_terms(**PERSON, dictionary=dictionary_digest({"columns": []}))
    study = StudyFile(terms, {"columns": []})
    assert read_study(write_study(study)) == study
    assert "Unit of privacy: one person (all of its rows at this owner)." in write_study(study)
    others = [
        terms,
        *(msgspec.structs.replace(terms, **one) for one in ({"weigh": "row"}, {"rows_cap": 6}, {"person": "pupil"})),
    ]
    assert len({each.digest() for each in others}) == 4


@pytest.mark.parametrize("missing", ["person", "rows_cap", "weigh", "unit"])
def test_half_a_unit_is_refused(missing):
    with pytest.raises(BadInput, match="unit of the terms"):
        plain_terms(**{name: value for name, value in PERSON.items() if name != missing})
