"""`audit` from Python: the tests of the command, few of them, and settings that are refused."""

from dataclasses import replace
from itertools import islice

import msgspec
import pytest

from copriv.api import audit as audit_api
from copriv.api.audit import audit
from copriv.audit.whole_reply import corpus
from copriv.errors import BadInput

QUICK = {"records": 50, "parameters": 3, "answers": 20, "draws": 200, "level": 1e-9, "replies": 1}


@pytest.fixture(scope="module")
def told():
    """An audit of a correct owner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_api, "corpus", lambda: islice(corpus(), 2, None))
        return audit(1.0, delta=1e-6, **QUICK)


def test_a_correct_owner_stands(told):
    assert told.passed
    assert told.to_polars().height == len(told.tests)
    assert told.to_dict()["claimed"] == {"epsilon": 1.0, "delta": 1e-6, "unit": "record", "adjacency": "replace-one"}
    assert "The claim stands" in told._repr_html_()
    assert "replace-one" in told._repr_html_()
    assert msgspec.json.encode(told.to_dict())
    assert "in 1 studies" in told.tests[-1].words


def test_a_claim_that_fails_is_told(told):
    assert "The claim is refuted" in replace(told, passed=False)._repr_html_()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"asks": "everything"}, "not asked for everything"),
        ({"replies": 0}, "under 0 studies"),
        ({"draws": 3}, "3 draws"),
        ({"records": 1}, "1 records"),
        ({"trials": 3}, "'trials'"),
        ({"epsilon": 0}, ""),
    ],
)
def test_bad_settings_are_refused(settings, named):
    with pytest.raises(BadInput) as refused:
        audit(**settings)
    assert named in str(refused.value)
