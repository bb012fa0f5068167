"""Sliders: what is read from an address, patterns that are kept, and the same as a command and as Python."""

import asyncio
import threading

import numpy as np
import pytest
from asking import ask
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import copriv as cp
from copriv.dashboard import what_if_view
from copriv.dashboard.pages import in_turn, make_app
from copriv.dashboard.what_if_page import what_if_app
from copriv.dashboard.what_if_view import Studio, break_even
from copriv.errors import BadInput
from copriv.records import lending_like
from copriv.report.forecast_report import Varying


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    path = tmp_path_factory.mktemp("public") / "loans.parquet"
    lending_like.generate(400, np.random.default_rng(0)).write_parquet(path)
    who = cp.Scenario([2000, 1000, 4000], epsilon=[1, 0.5, 2])
    return Studio(path, "int_rate", who, {"features": 2, "rule": "statistics", "skip": ["title"]})


@pytest.mark.parametrize(
    "given",
    [
        {"owners": "0"}, {"owners": "many"}, {"owners": "nan"}, {"records": "-5"}, {"epsilon": "0"}, {"epsilon": "inf"},
        {"delta": "1"}, {"rows": "401"}, {"features": "shoes"}, {"rule": "x" * 1000}, {"colour": "red"},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_a_sentence(studio, given):
    with pytest.raises(BadInput) as said:
        studio.read(given)
    assert len(said.value.problem) < 100


def test_owners_that_differ_keep_their_pattern(studio):
    assert studio.scenario(studio.first).records == (2000, 1000, 4000)
    moved = studio.scenario(studio.read({"records": "200", "epsilon": "4", "owners": "4"}))
    assert moved.records == (200, 100, 400, 200)
    assert moved.epsilons == (2.0, 1.0, 4.0, 2.0)


def test_the_same_elsewhere(studio):
    told = studio.show(studio.read({"rows": "300", "delta": "1e-6"}))
    assert "--records 2000,1000,4000 --epsilon 1,0.5,2 --delta 1e-06" in told.command
    assert told.command.startswith("# with the first 300 rows")
    assert told.command.endswith("--skip title")
    assert "records=[2000, 1000, 4000], epsilon=[1.0, 0.5, 2.0], delta=1e-06" in told.python
    assert ".head(300)" in told.python
    assert studio.read(dict(part.split("=") for part in told.link.partition("?")[2].split("&"))) == told.setting


def test_a_promise_that_means_little_is_said_to_be_one(studio):
    assert studio.show(studio.read({"epsilon": "1"})).weakness is None
    assert "ε = 100 means little" in ask(what_if_app(studio), "/what-if?curve=some&epsilon=100").text


def test_bad_addresses_are_answered_with_a_sentence(studio):
    said = ask(what_if_app(studio), "/what-if.json?epsilon=<b>")
    assert (said.status, said.headers["content-type"]) == (400, "text/plain; charset=utf-8")


def test_a_study_settles_what_sliders_move(tmp_path):
    with pytest.raises(BadInput, match="a study settles"):
        Studio(tmp_path, "y", cp.Scenario([100] * 2), {"study": "study.toml"})


def _row(epsilon, joint, alone=0.1, public=0.2):
    return Varying(epsilon, 2, 100, epsilon, joint, (0.0, 1.0), alone, public, "", "newton")


def test_break_even_lies_where_the_curve_crosses_what_needs_nobody():
    assert break_even([_row(0.1, 1.0), _row(10.0, 0.01)]) == pytest.approx(1.0)
    assert break_even([_row(0.1, 0.01), _row(10.0, 0.001)]) is None
    assert break_even([_row(0.1, 1.0), _row(10.0, 0.5)]) is None


def test_a_point_that_breaks_is_left_out_and_the_curve_goes_on(studio, monkeypatch):
    real = what_if_view.what_if_at

    def breaks(known, scenario, epsilon):
        if epsilon == 1.0:
            raise MemoryError
        return real(known, scenario, epsilon)

    monkeypatch.setattr(what_if_view, "what_if_at", breaks)
    told = studio.show(studio.read({"records": "2345"}), whole=True)
    assert told.complete
    assert [row.value for row in told.curve if not row.relative_fitness > 0] == [1.0]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_takes_long_is_a_first_look_until_it_is_there(tmp_path, monkeypatch, delta):
    path, go = tmp_path / "loans.parquet", threading.Event()
    lending_like.generate(400, np.random.default_rng(0)).write_parquet(path)
    studio = Studio(path, "int_rate", cp.Scenario([2000] * 3, epsilon=1, delta=delta), {"features": 2})
    real = what_if_view.expect

    def slow(known, scenario):
        assert go.wait(60)
        return real(known, scenario)

    monkeypatch.setattr(what_if_view, "expect", slow)
    early = studio.show(studio.first)
    page = ask(what_if_app(studio), "/what-if?curve=some").text
    assert (early.settled, early.chosen_rule in {"newton", "statistics"}) == (False, True)
    assert 'id="first-look"' in page
    assert 'data-complete="no"' in page
    go.set()
    found = studio._expected.get(studio.first).candidate
    late = studio.show(studio.first)
    assert (late.settled, late.chosen_rule, late.relative_fitness) == (True, found.rule, found.relative_fitness)
    assert 'id="first-look"' not in ask(what_if_app(studio), "/what-if?curve=some").text
    assert early.relative_fitness == pytest.approx(late.relative_fitness, rel=0.5)


def test_many_that_ask_for_long_work_leave_threads_to_others():
    working, most, go = [0], [0], threading.Event()

    def work(_request):
        working[0] += 1
        most[0] = max(most)
        most.append(working[0])
        go.wait(0.05)
        working[0] -= 1
        return PlainTextResponse("done")

    app = make_app("/work", Route("/work", in_turn(work, most=2)))

    async def crowd():
        said = await asyncio.gather(*(_call(app, gone=place % 2 == 1) for place in range(12)))
        return [messages[0]["status"] for messages in said]

    assert sorted(asyncio.run(crowd())) == [200] * 6 + [499] * 6
    assert max(most) <= 2


async def _call(app, *, gone):
    """One request; whoever is gone has hung up before its turn comes."""
    scope = {
        "type": "http", "method": "GET", "path": "/work", "raw_path": b"/work", "query_string": b"", "headers": [],
        "scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1),
        "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    sent = []

    async def receive():
        if gone:
            return {"type": "http.disconnect"}
        return await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent
