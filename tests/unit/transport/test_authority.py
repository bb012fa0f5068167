"""Certificates do what they are for and nothing else, judged by the TLS of Python at its strictest."""

import io
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from copriv.errors import BadInput
from copriv.transport.authority import (
    Pair,
    identity_of,
    issue_client,
    issue_server,
    make_authority,
)
from copriv.transport.certificates import life_of, require_valid

NOW = datetime.now(UTC).replace(microsecond=0)
IDENTITY = identity_of("owner", "first-bank", "9f3c")


@pytest.fixture(scope="module")
def authority():
    return make_authority(NOW)


@pytest.fixture
def shake_hands(authority, tmp_path):
    """A TLS handshake in memory, both sides strict: the client's view of the server, the server's of the client."""

    def context(kind, pair, purpose):
        made = ssl.SSLContext(kind)
        made.verify_mode = ssl.CERT_REQUIRED
        made.verify_flags |= ssl.VERIFY_X509_STRICT
        made.load_verify_locations(cadata=authority.certificate)
        file = tmp_path / f"{purpose}.pem"
        file.write_text(pair.certificate + pair.key)
        made.load_cert_chain(file)
        return made

    def shake(server, client, host):
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        caller = context(ssl.PROTOCOL_TLS_CLIENT, client, "client").wrap_bio(back, there, server_hostname=host)
        called = context(ssl.PROTOCOL_TLS_SERVER, server, "server").wrap_bio(there, back, server_side=True)
        for side in (caller, called, caller, called):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
        return caller.getpeercert(), called.getpeercert()

    return shake


def _extension(pair, kind):
    return x509.load_pem_x509_certificate(pair.certificate.encode()).extensions.get_extension_for_class(kind)


def test_server_and_client_accept_each_other(authority, shake_hands):
    server = issue_server(authority, ["learner.example.org", "192.0.2.7", "::1"], NOW)
    client = issue_client(authority, IDENTITY, NOW)
    for host in ("learner.example.org", "192.0.2.7", "::1"):
        _, owner = shake_hands(server, client, host)
        assert owner["subjectAltName"] == (("URI", IDENTITY),)


def test_a_server_of_another_name_is_not_accepted(authority, shake_hands):
    server = issue_server(authority, ["learner.example.org"], NOW)
    with pytest.raises(ssl.SSLCertVerificationError, match=r"not valid for 'other.example.org'"):
        shake_hands(server, issue_client(authority, IDENTITY, NOW), "other.example.org")


def test_an_owner_cannot_pass_for_the_broker_nor_the_broker_for_an_owner(authority, shake_hands):
    server, client = issue_server(authority, ["localhost"], NOW), issue_client(authority, IDENTITY, NOW)
    for pretender, other in ((client, client), (server, server)):
        with pytest.raises(ssl.SSLCertVerificationError, match="unsuitable certificate purpose"):
            shake_hands(pretender, other, "localhost")


def test_an_owner_cannot_sign_certificates(authority, shake_hands):
    owner = issue_client(authority, IDENTITY, NOW)
    forged = issue_client(owner, identity_of("learner", "learner", "1"), NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(
            issue_server(authority, ["localhost"], NOW),
            Pair(forged.certificate + owner.certificate, forged.key),
            "localhost",
        )


def test_another_authority_is_not_accepted(authority, shake_hands):
    foreign = issue_client(make_authority(NOW), IDENTITY, NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(issue_server(authority, ["localhost"], NOW), foreign, "localhost")


def test_the_authority_signs_certificates_and_nothing_else(authority):
    constraints, usage = _extension(authority, x509.BasicConstraints), _extension(authority, x509.KeyUsage)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert usage.critical
    assert usage.value.key_cert_sign
    assert usage.value.crl_sign
    assert not usage.value.digital_signature


@pytest.mark.parametrize(
    ("issue", "subject", "purpose"),
    [
        (issue_server, ["localhost"], ExtendedKeyUsageOID.SERVER_AUTH),
        (issue_client, IDENTITY, ExtendedKeyUsageOID.CLIENT_AUTH),
    ],
)
def test_every_certificate_has_one_purpose(authority, issue, subject, purpose):
    pair = issue(authority, subject, NOW)
    assert list(_extension(pair, x509.ExtendedKeyUsage).value) == [purpose]
    assert not _extension(pair, x509.BasicConstraints).value.ca
    assert _extension(pair, x509.KeyUsage).value.digital_signature
    assert not _extension(pair, x509.KeyUsage).value.key_cert_sign


def test_keys_are_new_on_p256_and_fit_their_certificates(authority):
    pairs = [authority, issue_client(authority, IDENTITY, NOW), issue_client(authority, IDENTITY, NOW)]
    keys = [load_pem_private_key(pair.key.encode(), password=None) for pair in pairs]
    assert all(isinstance(key.curve, ec.SECP256R1) for key in keys)
    assert len({pair.key for pair in pairs}) == 3
    for pair, key in zip(pairs, keys, strict=True):
        assert x509.load_pem_x509_certificate(pair.certificate.encode()).public_key() == key.public_key()


def test_printing_a_pair_does_not_show_its_key(authority):
    from rich.console import Console
    from rich.pretty import Pretty

    console = Console(file=io.StringIO(), width=200)
    console.print(Pretty(authority))
    for shown in (repr(authority), str(authority), f"{[authority]}", console.file.getvalue()):
        assert "PRIVATE" not in shown
        assert authority.key.splitlines()[1] not in shown
        assert "<secret>" in shown


def test_certificates_begin_a_day_early_and_end_with_their_authority():
    authority = make_authority(NOW, days=40)
    pair = issue_client(authority, IDENTITY, NOW)
    assert life_of(authority.certificate).ends == NOW + timedelta(days=40) == life_of(pair.certificate).ends
    assert life_of(issue_client(authority, IDENTITY, NOW, days=7).certificate).ends == NOW + timedelta(days=7)
    for behind in (timedelta(0), timedelta(hours=23)):
        require_valid(pair.certificate, NOW - behind)
    require_valid(pair.certificate, NOW + timedelta(days=40))


def test_an_expired_certificate_names_its_day_and_the_remedy(authority):
    pair = issue_client(authority, IDENTITY, datetime(2030, 5, 1, 12, 30, tzinfo=UTC), days=7)
    with pytest.raises(BadInput, match=r"expired on 2030-05-08 12:30 UTC .*copriv owner request NAME --again"):
        require_valid(pair.certificate, datetime(2030, 5, 9, tzinfo=UTC))


def test_a_clock_that_is_far_behind_is_named(authority):
    with pytest.raises(BadInput, match=r"not valid before .*clock"):
        require_valid(authority.certificate, NOW - timedelta(days=2))


def test_an_expired_authority_issues_nothing():
    old = make_authority(NOW - timedelta(days=20), days=10)
    with pytest.raises(BadInput, match=r"expired.*authority roll"):
        issue_client(old, IDENTITY, NOW)


def test_every_invitation_has_an_identity_of_its_own():
    assert identity_of("owner", "alpha", "01") != identity_of("owner", "alpha", "02")
    assert identity_of("owner", "alpha", "01") != identity_of("learner", "alpha", "01")


@pytest.mark.parametrize(
    ("role", "name", "serial"),
    [("king", "alpha", "1"), ("owner", "al:pha", "1"), ("owner", "alpha", ""), ("owner", "alpha", "1:2")],
)
def test_identities_are_plain(role, name, serial):
    with pytest.raises(BadInput):
        identity_of(role, name, serial)


@pytest.mark.parametrize(
    "identity", ["", "alpha", "copriv:owner:alpha", "other:owner:alpha:1", f"{IDENTITY}:x", "a:b:c:d"]
)
def test_only_identities_are_certified(authority, identity):
    with pytest.raises(BadInput):
        issue_client(authority, identity, NOW)


def test_the_longest_identity_is_certified(authority):
    longest = identity_of("learner", "n" * 60, "f" * 64)
    names = _extension(issue_client(authority, longest, NOW), x509.SubjectAlternativeName).value
    assert [name.value for name in names] == [longest]


@pytest.mark.parametrize(
    "hosts", [[], "localhost", ["host:4222"], ["tls://host"], ["a b"], [""], ["*.example.org"], ["é"]]
)
def test_hosts_are_names_or_addresses(authority, hosts):
    with pytest.raises(BadInput):
        issue_server(authority, hosts, NOW)


def test_what_is_no_certificate_is_refused_without_repeating_it(authority):
    with pytest.raises(BadInput, match="cannot be read") as caught:
        require_valid(authority.key, NOW)
    assert authority.key.splitlines()[1] not in f"{caught.value} {caught.value.value}"
    with pytest.raises(BadInput, match="key cannot be read"):
        issue_client(Pair(authority.certificate, "nonsense"), IDENTITY, NOW)
