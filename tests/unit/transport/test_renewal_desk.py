"""The learner signs for whoever the broker says is asking, and for nobody else, whatever the message says."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.protocol.renewal import InUse, NotRenewed, Renewal, Renewed, decode_errand, encode_errand
from copriv.transport.authority import issue_client, make_authority
from copriv.transport.certificates import identity_in, is_for_key, life_of
from copriv.transport.renewal import require_ours
from copriv.transport.renewal_desk import RenewalDesk
from copriv.transport.request import make_request
from copriv.transport.rollover import roll

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)  # when the learner's folder was made

LATER = NOW + timedelta(days=30)


@pytest.fixture
def desk(quarters):
    for name, serial in (("alpha", "a1"), ("beta", "b1")):
        quarters.approve(make_request(name)[1], serial, now=NOW)
    return RenewalDesk(quarters, lambda _words: None, clock=lambda: LATER)


def _ask(desk, owner, serial, errand):
    return decode_errand(desk.reply(owner, serial, encode_errand(errand)))


def _renewal(name):
    key, request = make_request(name)
    return key, Renewal(request.request)


def test_a_renewal_is_for_the_identity_that_asks(desk):
    key, renewal = _renewal("beta")  # whatever name stands in the request
    renewed = _ask(desk, "alpha", "a1", renewal)
    assert identity_in(renewed.certificate) == "copriv:owner:alpha:a1"
    assert is_for_key(renewed.certificate, key)
    assert life_of(renewed.certificate).ends == LATER + timedelta(days=60)


@pytest.mark.parametrize(("owner", "serial"), [("alpha", "b1"), ("alpha", "a2"), ("gamma", "a1")])
def test_an_identity_that_is_not_listed_gets_nothing(desk, owner, serial):
    assert isinstance(_ask(desk, owner, serial, _renewal(owner)[1]), NotRenewed)


def test_a_revoked_identity_does_not_become_the_next_one_of_its_name(desk, quarters):
    """A broker that has not reloaded yet still lets the old certificate write, on the subject of its own serial."""
    quarters.approve(make_request("alpha")[1], "a2", now=NOW)
    assert "revoked" in _ask(desk, "alpha", "a1", _renewal("alpha")[1]).text
    assert isinstance(_ask(desk, "alpha", "a2", _renewal("alpha")[1]), Renewed)
    quarters.revoke("beta")
    assert "revoked" in _ask(desk, "beta", "b1", _renewal("beta")[1]).text


def test_what_was_signed_is_not_what_is_used_until_its_owner_says_so(desk, quarters):
    [first] = quarters.issued.held("alpha")
    renewed = _ask(desk, "alpha", "a1", _renewal("alpha")[1])
    assert quarters.issued.held("alpha") == (first, renewed.certificate)
    assert _ask(desk, "alpha", "a1", InUse(renewed.certificate)) == InUse()
    assert quarters.issued.held("alpha") == (renewed.certificate,)


def test_only_our_own_certificate_for_this_identity_is_put_on_record(desk, quarters):
    held = quarters.issued.held("alpha")
    foreign = issue_client(make_authority(NOW), "copriv:owner:alpha:a1", NOW).certificate
    for certificate in (foreign, quarters.issued.held("beta")[0], quarters.keys.own()["learner"], "nonsense", ""):
        assert isinstance(_ask(desk, "alpha", "a1", InUse(certificate)), NotRenewed)
        desk.last.clear()
    assert quarters.issued.held("alpha") == held


def test_an_owner_that_asks_all_the_time_gets_one_signature(desk):
    replies = [_ask(desk, "alpha", "a1", _renewal("alpha")[1]) for _ in range(20)]
    assert [isinstance(reply, Renewed) for reply in replies] == [True] + [False] * 19
    assert isinstance(_ask(desk, "beta", "b1", _renewal("beta")[1]), Renewed)


def test_an_authority_that_ends_first_is_named(desk, quarters):
    desk.clock = lambda: life_of(quarters.keys.signing().certificate).ends - timedelta(days=20)
    assert "authority roll" in _ask(desk, "alpha", "a1", _renewal("alpha")[1]).text


def test_garbage_is_answered_with_a_sentence(desk):
    generator = np.random.default_rng(0)
    good = encode_errand(_renewal("alpha")[1])
    pieces = [b"", b"\xc1", bytes(9000), encode_errand(NotRenewed("x")), encode_errand(Renewed("a", "b"))]
    for _ in range(300):
        spoiled = bytearray(good)
        spoiled[int(generator.integers(len(good)))] = int(generator.integers(256))
        pieces.append(bytes(spoiled))
    for piece in pieces:
        desk.last.clear()
        reply = decode_errand(desk.reply("alpha", "a1", piece))
        assert isinstance(reply, NotRenewed | Renewed)


def test_an_owner_takes_only_what_is_its_own(desk, quarters):
    roll(quarters, NOW)
    key, renewal = _renewal("alpha")
    renewed = _ask(desk, "alpha", "a1", renewal)
    held = issue_client(quarters.keys.signing(), "copriv:owner:alpha:a1", NOW)
    require_ours(renewed, key, held, LATER)
    others = issue_client(quarters.keys.signing(), "copriv:owner:beta:b1", NOW)
    with pytest.raises(BadInput, match="our key"):
        require_ours(renewed, _renewal("alpha")[0], held, LATER)
    with pytest.raises(BadInput, match="our key"):
        require_ours(Renewed(others.certificate, renewed.authority), others.key, held, LATER)
    with pytest.raises(BadInput, match="expired"):
        require_ours(renewed, key, held, LATER + timedelta(days=61))
    with pytest.raises(BadInput, match="no authority"):
        require_ours(Renewed(renewed.certificate, make_authority(NOW).certificate), key, held, LATER)
