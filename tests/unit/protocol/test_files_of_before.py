"""Study and model files that the version before has written are read, and mean what they meant."""

from pathlib import Path

import pytest

import copriv as cp
from copriv.protocol.study_file import read_study

BEFORE = Path(__file__).parent / "before"


@pytest.mark.parametrize(
    ("rule", "digest", "kind"),
    [
        ("statistics", "aac88cc4deb1a77c7b44fef62fc978c35602e4673ac95f00b9a22feda0e55097", "moments"),
        ("paper", "8658fb9adcc3fa04f7824821b9ef0d8fdb27fb13077ebf3b4db6f393d8c27c4b", "gradient"),
    ],
)
def test_a_study_has_the_digest_it_had(rule, digest, kind):
    terms = read_study((BEFORE / f"{rule}.toml").read_text(encoding="utf-8")).terms
    assert (terms.rule, terms.kind, terms.digest()) == (rule, kind, digest)


def test_a_model_predicts_what_it_predicted():
    model = cp.load(BEFORE / "model.json")
    found = model.predict({"age": [20, 21], "grade": ["A", "B"]})
    assert found.tolist() == pytest.approx([5.085764531712597, 6.130624831672599], rel=1e-12)
