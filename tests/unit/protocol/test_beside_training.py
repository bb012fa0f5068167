"""Questions beside training: a validation counts records, and a person with several rows would count several times."""

import pytest

from copriv.errors import BadInput
from copriv.protocol.plain_terms import plain_terms

VALIDATION = {
    "held_back": 0.5,
    "validations": 1,
    "validation_share": 0.2,
    "validation_grid": (0.1, 0.4, 0.7),
}


def test_records_may_be_validated_on():
    assert plain_terms(**VALIDATION).validations == 1


def test_people_may_not():
    with pytest.raises(BadInput, match="one person"):
        plain_terms(unit="person", person="patient", rows_cap=5, weigh="person", **VALIDATION)


@pytest.mark.parametrize("change", [{"validations": 0}, {"held_back": 0.0}, {"validation_share": 0.0}])
def test_half_a_validation_is_none(change):
    with pytest.raises(BadInput, match="validations"):
        plain_terms(**VALIDATION | change)
