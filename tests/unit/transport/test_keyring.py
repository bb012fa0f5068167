"""The learner's keys: renewed at half-life counted from their making, taken over by a second authority, never mixed."""

from datetime import UTC, datetime, timedelta

import pytest

from copriv.errors import BadInput
from copriv.transport.authority import identity_of, issue_client, make_authority
from copriv.transport.certificates import hosts_in, identity_in, is_for_key, life_of, require_valid, signed_by, split
from copriv.transport.credentials import read_credentials, write_credentials
from copriv.transport.renewal_desk import RenewalDesk
from copriv.transport.request import make_request
from copriv.transport.rollover import dependents, retire, roll
from copriv.transport.upkeep import Upkeep

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)  # when the learner's folder was made

DAY = timedelta(days=1)


def _admit(quarters, name, now=NOW, serial="1"):
    key, request = make_request(name)
    return key, quarters.approve(request, serial, now=now)


def test_half_life_is_counted_from_the_making_and_not_from_the_backdated_beginning():
    pair = issue_client(make_authority(NOW), identity_of("owner", "bank", "1"), NOW, days=60)
    life = life_of(pair.certificate)
    assert (life.issued, life.half, life.ends) == (NOW, NOW + 30 * DAY, NOW + 60 * DAY)
    assert not life.running_out(NOW + 39 * DAY)
    assert life.running_out(NOW + 41 * DAY)
    seconds = issue_client(make_authority(NOW), identity_of("owner", "bank", "1"), NOW, days=10 / 86400)
    assert life_of(seconds.certificate).half == NOW + timedelta(seconds=5)


def test_broker_and_learner_are_renewed_at_half_life_under_their_names(quarters):
    keys, told = quarters.keys, []
    before = {name: read_credentials(path) for name, path in _files(keys).items()}
    Upkeep(quarters, told.append).look(NOW + 29 * DAY)
    assert {name: read_credentials(path) for name, path in _files(keys).items()} == before
    Upkeep(quarters, told.append).look(NOW + 31 * DAY)
    after = {name: read_credentials(path) for name, path in _files(keys).items()}
    assert all(after[name].key != before[name].key for name in after)
    assert all(is_for_key(pair.certificate, pair.key) for pair in after.values())
    assert hosts_in(after["broker"].certificate) == ("learner.example.org", "192.0.2.7")
    assert identity_in(after["learner"].certificate) == quarters.register().learner
    assert {life_of(pair.certificate).ends for pair in after.values()} == {NOW + 91 * DAY}
    assert len(told) == 2


def test_a_learner_that_was_off_for_months_helps_itself(quarters):
    later = NOW + 500 * DAY
    Upkeep(quarters, lambda _words: None).look(later)
    for certificate in quarters.keys.own().values():
        require_valid(certificate, later)


def test_certificates_that_end_with_their_authority_are_not_renewed_over_and_over(quarters):
    end = life_of(quarters.keys.signing().certificate).ends
    upkeep = Upkeep(quarters, lambda _words: None)
    upkeep.look(end - 20 * DAY)
    assert quarters.keys.due(end - 2 * DAY) == []
    assert upkeep.pause(end - 2 * DAY) > 60


def _files(keys):
    return {"broker": keys.server_file, "learner": keys.learner_file}


def test_a_folder_of_an_earlier_version_is_joined(quarters):
    keys = quarters.keys
    pair = read_credentials(keys.learner_file)
    keys.learner_file.write_text(pair.key)
    keys.learner_file.with_suffix(".pem").write_text(pair.certificate)
    assert read_credentials(keys.learner_file) == pair
    assert not keys.learner_file.with_suffix(".pem").exists()
    assert read_credentials(keys.learner_file) == pair


def test_what_holds_no_key_and_certificate_is_refused_without_repeating_it(tmp_path):
    pair = make_authority(NOW)
    (tmp_path / "x.key").write_text(pair.key)
    with pytest.raises(BadInput) as caught:
        read_credentials(tmp_path / "x.key")
    assert pair.key.splitlines()[1] not in str(caught.value)
    write_credentials(tmp_path / "x.key", pair)
    assert read_credentials(tmp_path / "x.key") == pair
    assert (tmp_path / "x.key").stat().st_mode & 0o077 == 0


def test_one_authority_takes_over_from_another(quarters):
    _admit(quarters, "early")
    [old] = quarters.keys.roots()
    roll(quarters, NOW + DAY)
    new = quarters.keys.signing().certificate
    assert quarters.keys.roots() == (new, old)
    _, invitation = _admit(quarters, "late", NOW + 2 * DAY)
    assert signed_by(invitation.certificate, new)
    assert split(invitation.authority) == (new, old)
    quarters.keys.renew(["broker", "learner"], NOW + 2 * DAY, 60)
    assert signed_by(quarters.keys.own()["broker"], old)  # who has not been there since knows no other
    assert signed_by(quarters.keys.own()["learner"], new)
    with pytest.raises(BadInput, match="retire"):
        roll(quarters, NOW + 2 * DAY)


def test_an_authority_is_not_retired_while_somebody_depends_on_it(quarters):
    with pytest.raises(BadInput, match="only one"):
        retire(quarters, NOW)
    _admit(quarters, "early")
    _admit(quarters, "gone")
    quarters.revoke("gone")
    roll(quarters, NOW + DAY)
    _admit(quarters, "late", NOW + DAY)
    with pytest.raises(BadInput, match="needed by early"):
        retire(quarters, NOW + 59 * DAY)
    assert dependents(quarters, NOW + 61 * DAY) == []
    assert retire(quarters, NOW + 61 * DAY) == []
    [root] = quarters.keys.roots()
    assert all(signed_by(certificate, root) for certificate in quarters.keys.own().values())
    assert not (quarters.folder / "authority.old.key").exists()


def test_who_is_locked_out_by_force_is_named(quarters):
    _admit(quarters, "early")
    roll(quarters, NOW)
    assert retire(quarters, NOW, force=True) == ["early"]


@pytest.mark.parametrize("change", ["approve", "again", "renew", "confirm", "revoke", "roll"])
def test_what_happens_to_one_owner_leaves_the_others_byte_identical(quarters, change):
    for name in ("alpha", "beta", "gamma"):
        _admit(quarters, name)
    before = _traces(quarters, ("alpha", "gamma"))
    if change in {"approve", "again"}:
        _admit(quarters, "beta" if change == "again" else "bet", NOW + DAY, "2")
    elif change == "revoke":
        quarters.revoke("beta")
    elif change == "roll":
        roll(quarters, NOW + DAY)
    else:
        _renew(quarters, "beta", confirms=change == "confirm")
    assert _traces(quarters, ("alpha", "gamma")) == before


def _renew(quarters, name, *, confirms):
    from copriv.protocol.renewal import InUse, Renewal, decode_errand, encode_errand

    desk = RenewalDesk(quarters, lambda _words: None, clock=lambda: NOW + DAY)
    _, request = make_request(name)
    renewed = decode_errand(desk.reply(name, "1", encode_errand(Renewal(request.request))))
    if confirms:
        desk.reply(name, "1", encode_errand(InUse(renewed.certificate)))


def _traces(quarters, names):
    """All that a learner's folder holds of these owners, byte by byte."""
    found = {}
    for name in names:
        lines = [line for line in (quarters.folder / "broker.conf").read_text().splitlines() if f":{name}:" in line]
        register = (quarters.folder / "members.json").read_text()
        entry = register.split(f'"{name}": ')[1].split("}")[0]
        found[name] = lines, entry, (quarters.folder / "issued" / f"{name}.pem").read_bytes()
    assert all(len(lines) == 1 for lines, _, _ in found.values())
    return found
