"""Certificates that live for seconds, over a real broker: they renew themselves, and nobody notices."""

import asyncio
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import msgspec
from stage import RECORDS, TERMS, Course, make_owner, stage

from copriv.protocol.messages import Query
from copriv.protocol.wire import encode
from copriv.runtime import rehearsal
from copriv.transport.certificates import life_of
from copriv.transport.credentials import read_credentials
from copriv.transport.link import connect
from copriv.transport.renewal import Renewals
from copriv.transport.rollover import dependents, retire, roll
from copriv.transport.upkeep import kept_up

LIFE = timedelta(seconds=6)
RENEWING, TWIN = ("east", "north", "west"), "south"
PACED = msgspec.structs.replace(TERMS, clock="poisson", horizon=100_000)


@dataclass
class Company:
    """Owners on a stage, and what each of them and the learner were told."""

    quarters: object
    crowd: object
    owners: dict = field(default_factory=dict)
    heard: dict = field(default_factory=dict)

    def enter(self, name, terms, *, renews=True, rate=4.0):
        owner, words, link = make_owner(name, terms), [], rehearsal.link_of(self.quarters, name)
        desk = replace(rehearsal.desk_of(rehearsal.Guest(owner, RECORDS, rate), terms), tell=words.append)
        renewals = Renewals(name, link, lambda: 0.5, words.append)
        self.crowd.enter(owner, desk=replace(desk, attend=renewals.attend if renews else None), link=link)
        self.owners[name], self.heard[name] = owner, words

    def count(self, name, words):
        return sum(words in heard for heard in list(self.heard[name]))

    def renewed(self, times):
        """Whether owners, learner and broker have all renewed so often."""
        own = [self.count("learner", f"certificate of the {name} is renewed") for name in ("broker", "learner")]
        return min(own + [self.count(name, "our certificate is renewed") for name in RENEWING]) >= times


@contextmanager
def company_of(folder, names, terms):
    warm = make_owner("warm", terms)
    warm.handle(encode(Query("q", terms.digest(), "warm", (0.0,) * terms.parameters)))
    begun, days = datetime.now(UTC) - LIFE / 2, LIFE / timedelta(days=1)
    with stage(folder, terms, names, now=begun, days=days) as (quarters, crowd, broker):
        yield Company(quarters, crowd, heard={"learner": []}), broker


def test_certificates_renew_three_times_in_a_paced_study_and_everybody_comes_back(tmp_path):
    """No meeting and no session is lost by renewals; the twin, which does not renew, is refused after the kill."""
    with company_of(tmp_path, (*RENEWING, TWIN), PACED) as (company, broker):
        quarters, say = company.quarters, company.heard["learner"].append
        with kept_up(quarters, say), rehearsal.learner_of(quarters, PACED, tell=say) as learner:
            for name in (*RENEWING, TWIN):
                company.enter(name, PACED, renews=name != TWIN)
            course = Course(tmp_path, learner, names=(*RENEWING, TWIN), terms=PACED)
            while not company.renewed(3):
                course.go(1)
            assert all(company.count(name, "connected to the broker") == 1 for name in company.owners)
            assert company.count("learner", "lost") == 0
            assert {iteration.query.owner for iteration in course.go(40)} == {*RENEWING, TWIN}

            learner.dismiss(TWIN)  # nobody waits for it
            broker._process.kill()
            broker._process.wait()
            with quarters.start_broker():
                back = set()
                while back != set(RENEWING) or not company.count(TWIN, "does not accept our certificate"):
                    back |= {course.go(1)[0].query.owner}
                learner.end((0.0,) * 4, seconds=0.5)
                log = course.close()
                company.crowd.close()
    assert [company.count(name, "connected to the broker") for name in RENEWING] == [2, 2, 2]
    assert company.count(TWIN, "connected to the broker") == 1
    assert [entry.number for entry in log] == list(range(1, len(log) + 1))
    assert {entry.outcome for entry in log} == {"answer"}
    paid = [(name, query) for name, owner in company.owners.items() for query in owner.ledger.state().queries]
    assert sorted(paid) == sorted((entry.owner, entry.query) for entry in log)


def test_an_authority_takes_over_while_everybody_is_connected(tmp_path):
    with company_of(tmp_path, RENEWING, PACED) as (company, _):
        quarters, say = company.quarters, company.heard["learner"].append
        with kept_up(quarters, say), rehearsal.learner_of(quarters, PACED, tell=say) as learner:
            for name in RENEWING:
                company.enter(name, PACED)
            course = Course(tmp_path, learner, names=RENEWING, terms=PACED)
            course.go(5)
            [old] = quarters.keys.roots()
            roll(quarters, datetime.now(UTC))
            assert dependents(quarters, datetime.now(UTC)) == sorted(RENEWING)
            while dependents(quarters, datetime.now(UTC)):
                course.go(1)
            assert retire(quarters, datetime.now(UTC)) == []
            [new] = quarters.keys.roots()
            assert new != old
            _dial(quarters, RENEWING)
            course.go(5)
            learner.end((0.0,) * 4, seconds=0.5)
            course.close()
        assert all(company.count(name, "connected to the broker") == 1 for name in RENEWING)


def test_the_broker_shows_its_new_certificate_without_a_new_start(tmp_path):
    with company_of(tmp_path, RENEWING, TERMS) as (company, _):
        first = _shown(company.quarters)
        with kept_up(company.quarters, company.heard["learner"].append):
            while _shown(company.quarters) == first:
                time.sleep(0.05)
            assert not life_of(read_credentials(company.quarters.keys.server_file).certificate).over(datetime.now(UTC))


def _dial(quarters, names):
    """Everybody can make a new link with what is on disk now."""

    async def dial(link):
        async with connect(link, link.context()):
            pass

    for link in (quarters.link(), *(rehearsal.link_of(quarters, name) for name in names)):
        asyncio.run(dial(link))


def _shown(quarters):
    """The certificate that the broker shows, as its client sees it."""

    async def look(link):
        async with connect(link, link.context()) as session:
            return session.client._transport._io_writer.get_extra_info("ssl_object").getpeercert(binary_form=True)

    return asyncio.run(look(quarters.link()))
