"""Hostile owners at a real broker: what they may not hear, write or send, and how soon the revoked are gone.

Every refusal has a control beside it, so that no test passes because nothing works at all.
"""

import asyncio
import json
import socket
from contextlib import suppress
from datetime import timedelta

import nats
import pytest
from hostile import (
    HOST,
    IDENTITIES,
    LARGEST,
    LOOSE,
    NOW,
    PATIENCE,
    REFUSED,
    Consortium,
    permissions_of,
    taken,
    users_of,
)

from copriv.transport import subjects
from copriv.transport.authority import Pair, identity_of, issue_client, make_authority
from copriv.transport.broker import reload


@pytest.fixture(scope="module")
def consortium(tmp_path_factory):
    made = Consortium(tmp_path_factory.mktemp("consortium"))
    with made.start():
        yield made


@pytest.fixture
def own_consortium(tmp_path):
    made = Consortium(tmp_path)
    with made.start():
        yield made


# --- (a) who gets in ---------------------------------------------------------------------------


def _strangers(consortium):
    elsewhere = make_authority(NOW)
    forged = issue_client(elsewhere, IDENTITIES["alpha"], NOW)
    long_ago = NOW - timedelta(days=900)
    return {
        "nobody": (None, "didn't provide a certificate"),
        "another authority": (forged, "unknown authority"),
        "expired": (
            issue_client(_aged(consortium.authority), IDENTITIES["alpha"], long_ago, days=30),
            "certificate has expired",
        ),
        "unknown identity": (
            issue_client(consortium.authority, identity_of("owner", "gamma", "04"), NOW),
            "authentication error",
        ),
        "the broker's own": (
            Pair(consortium.place.certificate.read_text(), consortium.place.key.read_text()),
            "incompatible key usage",
        ),
    }


def _aged(authority):
    """The same authority, as it would have been long ago: only its key signs."""
    return Pair(make_authority(NOW - timedelta(days=1000)).certificate, authority.key)


@pytest.mark.parametrize("stranger", ["nobody", "another authority", "expired", "unknown identity", "the broker's own"])
def test_strangers_do_not_get_in(consortium, stranger):
    pair, reason = _strangers(consortium)[stranger]
    before = consortium.log.stat().st_size

    async def attempt():
        with pytest.raises(REFUSED):
            async with consortium.knock(pair):
                pass
        async with consortium.connect("alpha") as control:
            await control.settle()

    asyncio.run(attempt())
    assert reason in consortium.log.read_text()[before:]


def test_nobody_is_greeted_in_clear(consortium):
    with socket.create_connection((HOST, consortium.place.port)) as line:
        line.sendall(b'CONNECT {"verbose":true}\r\nPING\r\n')
        line.settimeout(PATIENCE)
        assert b"INFO" not in line.recv(1024)


@pytest.mark.parametrize(("handshake_first", "heard"), [(True, False), (False, True)])
def test_nobody_in_between_talks_a_client_out_of_tls(consortium, handshake_first, heard):
    """Whoever sits in between promises a server without TLS; a client that does not insist speaks up in clear."""
    spoken = []

    async def pretend(reader, writer):
        info = {"server_id": "x", "version": "2.15.1", "max_payload": LARGEST, "tls_required": False, "headers": True}
        writer.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
        spoken.append(await reader.readexactly(7))
        writer.close()

    async def attempt():
        async with await asyncio.start_server(pretend, HOST, 0) as between:
            server = f"tls://{HOST}:{between.sockets[0].getsockname()[1]}"
            with suppress(*REFUSED):
                async with consortium.connect("alpha", servers=server, tls_handshake_first=handshake_first):
                    pass

    asyncio.run(attempt())
    assert (spoken == [b"CONNECT"]) is heard


def test_a_claimed_user_name_changes_nothing(consortium):
    async def attempt():
        async with consortium.connect("alpha", user=IDENTITIES["learner"], password="") as alpha:
            await alpha.hear(subjects.EVERY_CLAIM)
            await alpha.say(subjects.CALL)
            return alpha

    alpha = asyncio.run(attempt())
    assert alpha.was_denied("subscription", subjects.EVERY_CLAIM)
    assert alpha.was_denied("publish", subjects.CALL)


# --- (b) what an owner hears -------------------------------------------------------------------

OTHERS_EARS = [
    ">",
    "*",
    "copriv.>",
    "copriv.*",
    "copriv.*.*",
    "copriv.*.*.*",
    "*.*.*.*",
    subjects.query("beta", "*"),
    subjects.query("beta", "x"),
    subjects.EVERY_QUERY,
    subjects.LEARNER,
    subjects.LEARNER_INBOX,
    f"{subjects.LEARNER_INBOX}.>",
    f"{subjects.LEARNER_INBOX}.x",
    f"{subjects.inbox('beta')}.>",
    f"{subjects.inbox('beta')}.x",
    "copriv.inbox.>",
    subjects.EVERY_HELLO,
    subjects.EVERY_CLAIM,
    subjects.EVERY_RENEWAL,
    subjects.renewal("alpha", "02"),
    subjects.renewal("beta", "03"),
    subjects.hello("alpha"),
    subjects.hello("beta"),
    subjects.claim("alpha"),
    subjects.claim("beta"),
    "_INBOX.>",
    "$SYS.>",
    "$JS.>",
]
OWN_EARS = [subjects.CALL, subjects.query("alpha", "*"), subjects.query("alpha", "x"), f"{subjects.inbox('alpha')}.>"]


def test_an_owner_listens_to_nothing_but_what_is_meant_for_it(consortium):
    async def attempt():
        async with consortium.connect("alpha") as alpha:
            for subject in OWN_EARS:
                await alpha.hear(subject)
            assert alpha.complaints == []
            for subject in OTHERS_EARS:
                await alpha.hear(subject)
            await alpha.hear(subjects.query("beta", "*"), queue="workers")
            return alpha

    alpha = asyncio.run(attempt())
    assert [subject for subject in OTHERS_EARS if not alpha.was_denied("subscription", subject)] == []
    assert len(alpha.complaints) == len(OTHERS_EARS) + 1


# --- (c) what an owner writes ------------------------------------------------------------------

OTHERS_MOUTHS = [
    subjects.hello("beta"),
    subjects.claim("beta"),
    subjects.renewal("beta", "03"),
    subjects.renewal("beta", "02"),
    subjects.renewal("alpha", "03"),
    subjects.renewal("alpha", "04"),
    subjects.CALL,
    subjects.LEARNER,
    subjects.query("beta", "x"),
    subjects.query("alpha", "x"),
    f"{subjects.LEARNER_INBOX}.x",
    f"{subjects.inbox('beta')}.x",
    f"{subjects.inbox('alpha')}.x",
    "$SYS.REQ.USER.INFO",
    "$JS.API.INFO",
]


def test_an_owner_writes_nowhere_but_on_its_own_subjects(consortium):
    async def attempt():
        async with consortium.everybody("alpha", "beta", "learner") as (alpha, beta, learner):
            ears = [await learner.hear(f"{subjects.LEARNER_INBOX}.>"), await learner.hear(subjects.LEARNER)]
            ears += [await beta.hear(subjects.CALL), await beta.hear(subjects.query("beta", "*"))]
            ears += [await beta.hear(f"{subjects.inbox('beta')}.>")]
            own = (subjects.EVERY_CLAIM, subjects.EVERY_HELLO, subjects.EVERY_RENEWAL)
            claims = [await learner.hear(subject) for subject in own]
            for subject in OTHERS_MOUTHS:
                await alpha.say(subject)
            denied = list(alpha.complaints)
            await alpha.say(subjects.claim("alpha"), b"mine")
            await alpha.say(subjects.hello("alpha"), b"mine")
            await alpha.say(subjects.renewal("alpha", "02"), b"mine")
            assert alpha.complaints == denied
            await learner.settle()
            await beta.settle()
            return alpha, [await taken(ear) for ear in ears], [await taken(ear) for ear in claims]

    alpha, heard, claimed = asyncio.run(attempt())
    assert [subject for subject in OTHERS_MOUTHS if not alpha.was_denied("publish", subject)] == []
    assert heard == [[]] * len(heard)
    assert claimed == [[b"mine"]] * 3


def test_the_trace_of_a_message_goes_nowhere_its_sender_may_not_write(consortium):
    async def attempt():
        async with consortium.everybody("alpha", "learner") as (alpha, learner):
            claims = await learner.hear(subjects.EVERY_CLAIM)
            for target in (subjects.claim("beta"), subjects.claim("alpha")):
                await alpha.say(subjects.hello("alpha"), headers={"Nats-Trace-Dest": target})
            await learner.settle()
            return alpha, [await claims.next_msg(PATIENCE) for _ in range(1)], claims.pending_msgs

    alpha, [traced], others = asyncio.run(attempt())
    assert alpha.was_denied("publish", subjects.claim("beta"))
    assert (traced.subject, others) == (subjects.claim("alpha"), 0)


def test_an_owner_replies_once_and_only_where_it_was_asked(consortium):
    asked_at, elsewhere = f"{subjects.LEARNER_INBOX}.asked", f"{subjects.LEARNER_INBOX}.elsewhere"

    async def attempt():
        async with consortium.everybody("alpha", "learner") as (alpha, learner):
            replies = await learner.hear(f"{subjects.LEARNER_INBOX}.>")
            questions = await alpha.hear(subjects.query("alpha", "x"))
            await learner.say(subjects.query("alpha", "x"), b"question", reply=asked_at)
            question = await questions.next_msg(PATIENCE)
            await alpha.say(elsewhere, b"unasked")
            await alpha.say(question.reply, b"first")
            assert alpha.was_denied("publish", elsewhere)
            assert not alpha.was_denied("publish", asked_at)
            await alpha.say(question.reply, b"second")
            await learner.settle()
            return alpha, await taken(replies)

    alpha, replies = asyncio.run(attempt())
    assert alpha.was_denied("publish", asked_at)
    assert replies == [b"first"]


def test_a_question_to_one_owner_lets_no_other_reply(consortium):
    async def attempt():
        async with consortium.everybody("alpha", "beta", "learner") as (alpha, beta, learner):
            replies = await learner.hear(f"{subjects.LEARNER_INBOX}.>")
            questions = await beta.hear(subjects.query("beta", "x"))
            await learner.say(subjects.query("beta", "x"), b"question", reply=f"{subjects.LEARNER_INBOX}.asked")
            reply_at = (await questions.next_msg(PATIENCE)).reply
            await alpha.say(reply_at, b"forged")
            await beta.say(reply_at, b"true")
            await learner.settle()
            return alpha, await taken(replies)

    alpha, replies = asyncio.run(attempt())
    assert alpha.was_denied("publish", f"{subjects.LEARNER_INBOX}.asked")
    assert replies == [b"true"]


# --- (d) eavesdropping, and the twin that shows it would be noticed ----------------------------


async def _overheard(consortium):
    """What alpha hears of a question to beta and its answer, listening wherever it is let."""
    async with consortium.everybody("alpha", "beta", "learner") as (alpha, beta, learner):
        ears = [await alpha.hear(subject) for subject in OTHERS_EARS + OWN_EARS]
        await beta.answer(subjects.query("beta", "*"), b"gradient")
        answer = await learner.client.request(subjects.query("beta", "x"), b"model", timeout=PATIENCE)
        assert answer.data == b"gradient"
        for voice in (learner, beta, alpha):
            await voice.settle()
        return {data for ear in ears for data in await taken(ear)}


def test_an_owner_overhears_neither_question_nor_answer(consortium):
    assert asyncio.run(_overheard(consortium)) == set()


def test_loose_permissions_would_be_noticed(tmp_path):
    loose = Consortium(tmp_path, users_of(IDENTITIES, alpha=LOOSE))
    with loose.start():
        assert asyncio.run(_overheard(loose)) == {b"model", b"gradient"}


# --- (e) messages that are too large -----------------------------------------------------------


def test_a_message_too_large_costs_its_sender_the_connection_and_nobody_else(consortium):
    async def attempt():
        async with consortium.everybody("alpha", "beta", "learner") as (alpha, beta, learner):
            claims = await learner.hear(subjects.EVERY_CLAIM)
            await alpha.say(subjects.claim("alpha"), bytes(LARGEST))
            alpha.client._max_payload = 10 * LARGEST
            await alpha.client.publish(subjects.claim("alpha"), bytes(LARGEST + 1))
            await asyncio.wait_for(alpha.closed.wait(), PATIENCE)
            await beta.say(subjects.claim("beta"), b"still here")
            await learner.settle()
            return await taken(claims), learner.complaints + beta.complaints

    claims, complaints = asyncio.run(attempt())
    assert "maximum payload exceeded" in consortium.log.read_text()
    assert claims == [bytes(LARGEST), b"still here"]
    assert complaints == []


# --- (f) revocation ----------------------------------------------------------------------------


def test_revocation_takes_effect_at_once_and_others_stay(own_consortium):
    async def attempt():
        async with own_consortium.everybody("alpha", "beta", "learner") as (alpha, beta, learner):
            await beta.answer(subjects.query("beta", "*"), b"gradient")
            own_consortium.write(users_of(["learner", "beta"]))
            assert reload(own_consortium.place.pid_file, own_consortium.log)
            await asyncio.wait_for(alpha.closed.wait(), PATIENCE)
            with pytest.raises(nats.errors.Error, match="Authorization Violation"):
                async with own_consortium.connect("alpha"):
                    pass
            answer = await learner.client.request(subjects.query("beta", "x"), b"model", timeout=PATIENCE)
            assert answer.data == b"gradient"
            return beta, learner

    for voice in asyncio.run(attempt()):
        assert voice.complaints == []


def test_who_is_invited_again_gets_in_with_the_new_certificate_only(own_consortium):
    again = identity_of("owner", "alpha", "09")
    anew = issue_client(own_consortium.authority, again, NOW)

    async def attempt():
        own_consortium.write(users_of(["learner", "beta"]) | {again: permissions_of("alpha")})
        assert reload(own_consortium.place.pid_file, own_consortium.log)
        with pytest.raises(nats.errors.Error, match="Authorization Violation"):
            async with own_consortium.connect("alpha"):
                pass
        async with own_consortium.connect("alpha", anew) as alpha, own_consortium.connect("learner") as learner:
            claims = await learner.hear(subjects.EVERY_CLAIM)
            await alpha.say(subjects.claim("alpha"), b"back")
            await learner.settle()
            assert await taken(claims) == [b"back"]

    asyncio.run(attempt())


def test_permissions_that_were_narrowed_silence_a_listener_at_once(tmp_path):
    consortium = Consortium(tmp_path, users_of(IDENTITIES, alpha=LOOSE))

    async def attempt():
        async with consortium.everybody("alpha", "learner") as (alpha, learner):
            ear = await alpha.hear("copriv.query.>")
            await learner.say(subjects.query("beta", "x"), b"before")
            consortium.write(users_of(IDENTITIES))
            assert reload(consortium.place.pid_file, consortium.log)
            await learner.say(subjects.query("beta", "x"), b"after")
            await alpha.settle()
            return await taken(ear)

    with consortium.start():
        assert asyncio.run(attempt()) == [b"before"]
