"""What a study says of its public rows: part of the file and of the digest, and of nothing in older studies."""

import msgspec
import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.public_summary import PublicSummary, summarise
from copriv.protocol.study_file import StudyFile, dictionary_digest, read_study, write_study

SUMMARY = PublicSummary(rows=90, shortened=0.01, model=(0.1, -0.2, 0.3, 1 / 3), gradient=(1e-7, 0.0, -2.0, 0.1))
DICTIONARY = {"columns": []}


def _study(summary):
    digest = "" if summary is None else dictionary_digest(summary)
    return StudyFile(plain_terms(dictionary=dictionary_digest(DICTIONARY), summary=digest), DICTIONARY, summary)


def test_a_study_file_keeps_it_to_the_last_bit_and_the_terms_have_its_digest():
    study = _study(SUMMARY)
    again = read_study(write_study(study))
    assert again == study
    assert again.terms.digest() == study.terms.digest()
    changed = write_study(study).replace("rows = 90\nshort", "rows = 91\nshort")
    assert read_study(changed).terms.digest() != study.terms.digest()


def test_without_one_nothing_is_said():
    text = write_study(_study(None))
    assert "[public]" not in text
    assert "summary" not in text
    assert read_study(text).public is None


@pytest.mark.parametrize(
    "change",
    [
        *({"rows": rows} for rows in (0, -1, 2**63 - 1024, 10**400)),
        *({"shortened": share} for share in (-0.1, 1.1, float("nan"))),
        *({"model": (0.0, 0.0, 0.0, number)} for number in (float("nan"), float("inf"), 2e6)),
        {"gradient": (0.0, float("-inf"), 0.0, 0.0)},
        {"model": (0.0,) * 3},
        {"gradient": (0.0,) * 5},
    ],
)
def test_what_is_no_summary_is_refused(change):
    plain = msgspec.to_builtins(SUMMARY) | change
    text = write_study(StudyFile(plain_terms(dictionary=dictionary_digest(DICTIONARY)), DICTIONARY))
    lines = "".join(f"{name} = {_toml(value)}\n" for name, value in plain.items())
    with pytest.raises(BadInput, match="public rows"):
        read_study(f"{text}\n[public]\n{lines}")


def _toml(value):
    return f"[{', '.join(map(repr, map(float, value)))}]" if isinstance(value, list | tuple) else repr(value)


def test_an_unknown_word_is_refused():
    with pytest.raises(BadInput, match="covariance"):
        read_study(write_study(_study(SUMMARY)).replace("[public]\n", "[public]\ncovariance = 1\n"))


def test_rows_without_a_usable_target_say_nothing():
    generator = np.random.default_rng(0)
    rows = np.hstack([0.3 * generator.normal(size=(60, 2)), np.full((60, 1), 0.5)])
    rows[:3] = [0.8, 0.0, 0.6]
    full = Sample.of_rows(rows, generator.uniform(-1, 1, 60))
    holes = Sample.of_rows(np.vstack([rows, np.zeros((40, 3))]), np.append(full.targets, np.zeros(40)))
    objective = Objective(SquaredLoss(), 1e-5, 10.0)
    model = minimise(objective, full)
    found = summarise(holes, objective, model, 1.0)
    assert found == summarise(full, objective, model, 1.0)
    assert (found.rows, found.shortened) == (60, 3 / 60)
    assert found.gradient == pytest.approx((-2e-5 * model).tolist(), abs=1e-9)
