"""A request proves that its owner holds the key, under the name that it asks for; the key itself stays at home."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from copriv.errors import BadInput
from copriv.transport.certificates import fingerprint, identity_in, is_for_key, life_of
from copriv.transport.invitation import read_invitation, write_invitation
from copriv.transport.pending import Pending
from copriv.transport.request import Request, make_request, public_key_of, read_request, request_text

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)  # when the learner's folder was made


def _signed(key, name="bank"):
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())


def _pem(request):
    return request.public_bytes(Encoding.PEM).decode()


def _forged():
    """A request that names a key and was signed with another."""
    honest = bytearray(_signed(ec.generate_private_key(ec.SECP256R1())).public_bytes(Encoding.DER))
    honest[-1] ^= 1
    return _pem(x509.load_der_x509_csr(bytes(honest)))


def test_a_request_is_read_as_it_was_written_and_holds_no_secret(tmp_path):
    key, request = make_request("first-bank")
    file = tmp_path / "first-bank.request"
    file.write_text(request_text(request))
    assert read_request(file) == request
    assert "PRIVATE" not in file.read_text()
    assert key.splitlines()[1] not in file.read_text()
    assert len(request.fingerprint.replace(" ", "")) == 32


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "other-bank"}, "another name"),
        ({"name": "a bank"}, "'a bank'"),
        ({"request": "nonsense"}, "cannot be read"),
        ({"request": "x" * 5000}, "5000 characters"),
        ({"request": _forged()}, "not signed with the key"),
        ({"request": _pem(_signed(ec.generate_private_key(ec.SECP384R1())))}, "P-256"),
        ({"request": _pem(_signed(rsa.generate_private_key(65537, 2048)))}, "P-256"),
        ({"format": 9}, "format 9"),
    ],
)
def test_a_bad_request_is_named(tmp_path, change, words):
    _, request = make_request("bank")
    file = tmp_path / "bank.request"
    file.write_text(request_text(msgspec.structs.replace(request, **change)))
    with pytest.raises(BadInput, match=words):
        read_request(file)


@pytest.mark.parametrize("text", ["", "name = 3", "name = [", "\x00"])
def test_what_is_no_request_is_refused(tmp_path, text):
    (tmp_path / "x").write_text(text)
    with pytest.raises(BadInput, match="not a request"):
        read_request(tmp_path / "x")


def test_the_answer_certifies_the_key_that_stays_at_home(quarters, tmp_path):
    key, request = make_request("bank")
    invitation = quarters.approve(request, "7", now=NOW, days=45)
    write_invitation(invitation, tmp_path / "bank.invitation")
    assert "PRIVATE" not in (tmp_path / "bank.invitation").read_text()
    assert read_invitation(tmp_path / "bank.invitation") == invitation
    assert is_for_key(invitation.certificate, key)
    assert identity_in(invitation.certificate) == "copriv:owner:bank:7"
    assert life_of(invitation.certificate).ends == NOW + timedelta(days=45)
    assert fingerprint(invitation.certificate) == request.fingerprint
    assert quarters.register().owners["bank"].identity == "copriv:owner:bank:7"


def test_a_key_inside_an_invitation_does_not_travel(quarters):
    with pytest.raises(BadInput, match=r"learner.example.org.*copriv owner request"):
        quarters.invite({"bank": "1"}, now=NOW)
    assert quarters.register().owners == {}


def test_only_the_answer_to_the_pending_request_is_taken(quarters, tmp_path):
    pending, other = Pending(tmp_path / "owner"), Pending(tmp_path / "other")
    requests = {}
    for place, name in ((pending, "bank"), (other, "shop")):
        key, requests[name] = make_request(name)
        place.keep(key, requests[name])
    answer = quarters.approve(requests["bank"], "1", now=NOW)
    assert pending.pair_for(answer).certificate == answer.certificate
    with pytest.raises(BadInput, match="not for the key"):
        other.pair_for(answer)
    with pytest.raises(BadInput, match="there is none"):
        Pending(tmp_path / "nowhere").pair_for(answer)
    renamed = quarters.approve(Request("shop", requests["bank"].request), "2", now=NOW)
    with pytest.raises(BadInput, match="'shop'"):
        pending.pair_for(renamed)
    with pytest.raises(BadInput, match="brings a key"):
        pending.pair_for(msgspec.structs.replace(answer, key="secret"))
    assert (tmp_path / "owner" / "pending.key").stat().st_mode & 0o077 == 0


def test_any_bytes_for_a_request_end_in_a_sentence():
    import numpy as np

    generator = np.random.default_rng(0)
    good = _signed(ec.generate_private_key(ec.SECP256R1())).public_bytes(Encoding.DER)
    refused = 0
    for _ in range(300):
        spoiled = bytearray(good)
        spoiled[int(generator.integers(len(good)))] = int(generator.integers(256))
        try:
            text = _pem(x509.load_der_x509_csr(bytes(spoiled)))
        except ValueError:
            continue
        try:
            public_key_of(text)
        except BadInput:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"host": "\x1b[2Jlearner"}, "the host"),
        ({"host": "fe80::1%\x1b[2J"}, "the host"),
        ({"host": "learner.example.org/x"}, "the host"),
        ({"host": "user@learner"}, "the host"),
        ({"host": ""}, "the host"),
        ({"port": 0}, "the port 0"),
        ({"port": 65_536}, "the port 65536"),
        ({"owner": "bank\x1b[2J"}, "the owner name"),
    ],
)
def test_an_invitation_leads_to_a_broker_or_nowhere(quarters, tmp_path, change, words):
    _, request = make_request("bank")
    invitation = quarters.approve(request, "7", now=NOW, days=45)
    write_invitation(msgspec.structs.replace(invitation, **change), tmp_path / "bank.invitation")
    with pytest.raises(BadInput, match=words) as refused:
        read_invitation(tmp_path / "bank.invitation")
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("host", ["learner", "learner.example.org", "127.0.0.1", "2001:db8::7"])
def test_names_and_addresses_of_brokers_are_read(quarters, tmp_path, host):
    _, request = make_request("bank")
    invitation = msgspec.structs.replace(quarters.approve(request, "7", now=NOW, days=45), host=host)
    write_invitation(invitation, tmp_path / "bank.invitation")
    assert read_invitation(tmp_path / "bank.invitation").host == host
