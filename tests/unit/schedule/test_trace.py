import pytest
from scipy.stats import binom

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.schedule.poisson import availability, draw, likely_answers
from copriv.schedule.trace import Trace


def test_time_starts_at_the_first_meeting_and_never_goes_back():
    trace = draw([1.0, 0.5], 500, seeded(3, "schedule"))
    times = [meeting.time for meeting in trace]
    assert times[0] == 0.0
    assert times == sorted(times)
    assert sum(trace.answers_of(owner) for owner in (0, 1)) == len(trace) == 500


def test_a_recorded_trace_is_replayed_exactly():
    trace = draw([1.0, 2.0, 3.0], 50, seeded(3, "schedule"))
    assert Trace.from_json(trace.to_json()) == trace
    assert draw([1.0, 2.0, 3.0], 50, seeded(3, "schedule")) == trace
    assert draw([1.0, 2.0, 3.0], 50, seeded(4, "schedule")) != trace


@pytest.mark.parametrize("text", [b"", b"[]", b'{"owners": 1}', b'{"owners": 1, "meetings": [[0.0, 1]]}', b"\xff"])
def test_what_is_no_trace_is_refused(text):
    with pytest.raises(BadInput):
        Trace.from_json(text)


def test_times_that_go_back_are_refused():
    with pytest.raises(BadInput, match="backwards"):
        Trace.of([1.0, 0.5], [0, 0], owners=1)


@pytest.mark.parametrize("rates", [[], [0.0], [1.0, -1.0], [float("nan")], [float("inf")]])
def test_rates_must_be_positive(rates):
    with pytest.raises(BadInput):
        availability(rates)


def test_a_horizon_of_nothing_is_refused():
    with pytest.raises(BadInput, match="horizon is 0"):
        draw([1.0], 0, seeded(0, "schedule"))


def test_a_single_owner_is_always_asked():
    assert likely_answers(1.0, 7) == 7
    assert likely_answers(1e-6, 7) == 1


@pytest.mark.parametrize("horizon", [1, 2, 7, 50, 1000, 100_000])
def test_likely_answers_are_a_quantile_of_the_binomial(horizon):
    for probability in (1e-4, 0.01, 0.1, 1 / 3, 0.5, 0.999, 1.0):
        wanted = max(1, int(binom.isf(0.01, horizon, probability)))
        assert likely_answers(probability, horizon) == wanted


def test_another_schedule_has_another_digest():
    trace = Trace.of([0.0, 0.5], [1, 0], owners=2)
    assert trace.digest() == Trace.from_json(trace.to_json()).digest()
    assert trace.digest() != Trace.of([0.0, 0.5], [0, 1], owners=2).digest()
