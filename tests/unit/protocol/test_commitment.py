"""What an owner promises follows from the terms and from what it says of itself, in one place."""

import numpy as np
import pytest

from copriv.losses.moments import moment_count
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import commitment_of, make_commitment
from copriv.protocol.meeting import Hello
from copriv.protocol.plain_terms import plain_terms


@pytest.mark.parametrize(("delta", "accountant"), [(0.0, "pure"), (1e-6, "pld"), (1e-6, "zcdp")])
def test_a_hello_says_all_that_a_commitment_needs(delta, accountant):
    terms = plain_terms()
    hello = Hello(terms.digest(), "east", "a", 40, 2 * 10**9, delta, accountant, 5)
    worked_out = "zcdp" if accountant == "zcdp" else "pld"
    expected = make_commitment(terms, Guarantee.of(2, delta), records=40, answers=5, accountant=worked_out)
    assert commitment_of(hello, terms) == expected


@pytest.mark.parametrize("rule", ["statistics", "mine"])
def test_what_is_asked_decides_what_is_promised_not_the_rule_s_name(rule):
    terms = plain_terms(rule=rule, asks="moments")
    commitment = make_commitment(terms, Guarantee.of(1), records=40, answers=1)
    assert commitment.main == "moments"
    assert [part.kind for part in commitment.parts] == ["moments"]
    sample = Sample.of_rows(np.full((40, terms.parameters), 0.5), np.zeros(40))
    assert commitment.exact_answer(sample, np.zeros(terms.parameters)).size == moment_count(terms.parameters)


def test_a_rule_from_outside_gets_the_noise_of_any_rule_that_asks_for_gradients():
    ours, theirs = (
        make_commitment(plain_terms(rule=rule), Guarantee.of(1), records=40, answers=3) for rule in ("paper", "mine")
    )
    assert ours == theirs
