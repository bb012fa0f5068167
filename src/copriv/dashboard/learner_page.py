"""The live page of a study: who is there, how far it is, and where it goes. It only reads."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
from markupsafe import Markup
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from copriv.dashboard import charts
from copriv.dashboard.charts import Band, Chart, Line
from copriv.dashboard.event_lines import line_of
from copriv.dashboard.learner_metrics import learner_metrics
from copriv.dashboard.learner_shown import PLACES, SORTS, Asked, LearnerShown
from copriv.dashboard.learner_view import RunView, StudyView
from copriv.dashboard.live import Ending, stream
from copriv.dashboard.meetings import Meetings
from copriv.dashboard.pages import as_json, aside, make_app, render
from copriv.errors import BadInput
from copriv.forecast.shifts import SURE
from copriv.runtime.prometheus import MEDIA_TYPE

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

_HEADINGS = dict(
    zip(SORTS, ("Owner", "Where", "Answers", "Refused", "Silent for", "Budget left", "Certificate"), strict=True)
)


def view_of(folder: Path) -> StudyView | RunView:
    """Whatever a folder is: a learner's, the run in it, or a run on one machine.

    Raises:
        BadInput: it is none of these.
    """
    for place in (folder, folder.absolute().parent):
        if (place / "members.json").is_file() and (place == folder or folder.name == "run"):
            return StudyView(place)
    if any((folder / name).is_file() for name in ("checkpoint.sqlite", "run.json")):
        return RunView(folder)
    raise BadInput(
        f"{folder} is neither a run nor a study",
        remedy="give the folder of `copriv train --out`, or that of `copriv learner init`",
        value=str(folder),
    )


def learner_app(folder: Path, ending: Ending) -> Starlette:
    """The pages of a folder; what it has so far is read before anybody asks."""
    return pages_of(view_of(folder), ending)


def pages_of(view: StudyView | RunView, ending: Ending) -> Starlette:
    """The pages of a study or a run."""
    one_at_a_time = threading.Lock()

    def show(asked: Asked) -> LearnerShown:
        with one_at_a_time:
            return view.show(asked)

    def page(request: Request) -> Response:
        asked = Asked.read(dict(request.query_params))
        shown = show(asked)
        return render("learner.html", **_values(shown, asked, view.meetings))

    def data(request: Request) -> Response:
        return as_json(show(Asked.read(dict(request.query_params))))

    def metrics(_request: Request) -> Response:
        text = learner_metrics(show(Asked(per=10**6)), view.folder)
        return PlainTextResponse(text, media_type=MEDIA_TYPE)

    async def events(_request: Request) -> Response:
        return stream(view.mark, ending)

    view.show(Asked())
    return make_app(
        "/learner",
        Route("/learner", aside(page)),
        Route("/learner.json", aside(data)),
        Route("/metrics", aside(metrics)),
        Route("/events", events),
    )


def _values(shown: LearnerShown, asked: Asked, meetings: Meetings) -> dict[str, object]:
    """What the template shows."""
    return {
        "shown": shown,
        "asked": asked,
        "signs": PLACES,
        "headings": [_heading(name, asked) for name in SORTS],
        "places": [
            (place, shown.counts[place], address(replace(asked, place=place, page=1)))
            for place in PLACES
            if place in shown.counts
        ],
        "everybody": address(replace(asked, place="", page=1)),
        "strips": _strips(shown, meetings),
        "lines": [line_of(event) for event in shown.events],
        "charts": _charts(shown),
        "shifted": bool(shown.predicted) and shown.predicted[-1].misfit > SURE,
        "before": address(replace(asked, page=shown.page - 1)) if shown.page > 1 else None,
        "after": address(replace(asked, page=shown.page + 1)) if shown.page < shown.pages else None,
        "json_address": address(asked).replace("/learner", "/learner.json", 1),
    }


def address(asked: Asked) -> str:
    """The address of a choice of owners.

    >>> address(Asked(q="a b", down=True))
    '/learner?q=a+b&order=down'
    """
    plain = Asked()
    values = {
        "q": asked.q,
        "place": asked.place,
        "sort": asked.sort if asked.sort != plain.sort else "",
        "order": "down" if asked.down else "",
        "page": asked.page if asked.page != 1 else "",
        "per": asked.per if asked.per != plain.per else "",
    }
    given = urlencode({name: value for name, value in values.items() if value})
    return f"/learner?{given}" if given else "/learner"


def _heading(name: str, asked: Asked) -> dict[str, str]:
    """A column, where a click on it leads, and how it is sorted."""
    current = name == asked.sort
    turned = replace(asked, sort=name, down=not asked.down if current else name in {"answers", "refused", "silence"})
    order = ("descending" if asked.down else "ascending") if current else "none"
    return {"name": name, "words": _HEADINGS[name], "href": address(replace(turned, page=1)), "order": order}


def _strips(shown: LearnerShown, meetings: Meetings) -> dict[str, Markup]:
    """Of the owners on this page, when each answered."""
    places, times, answered = meetings.places(), meetings.times, meetings.answered()
    index = {name: place for place, name in enumerate(meetings.names)}
    wanted = {index[row.owner]: row.owner for row in shown.owners if row.owner in index}
    if not wanted:
        return {}
    kept = np.flatnonzero(np.isin(places, list(wanted)))
    kept = kept[np.argsort(places[kept], kind="stable")]
    parts = np.split(kept, np.flatnonzero(np.diff(places[kept])) + 1)
    return {
        wanted[int(places[part[0]])]: charts.strip(times[part], answered[part].astype(float), shown.seconds)
        for part in parts
    }


def _charts(shown: LearnerShown) -> list[tuple[str, Markup]]:
    """Headings and pictures; those without anything to show are left out once a study has begun."""
    at, counts = zip(*shown.progress, strict=True) if shown.progress else ((), ())
    found = [
        (
            "Answers",
            Chart(
                title="Answers over time",
                x_label="seconds of the run",
                y_label="answers",
                lines=[Line("answers so far", at, counts)],
                heights=(0,),
            ),
        ),
        ("Convergence", _convergence(shown)),
    ]
    if shown.predicted:
        found += [("Forecast", _forecast(shown)), ("Evidence of a shift", _shift(shown))]
    if shown.public_loss:
        found.append(("Loss on public rows", _public_loss(shown)))
    return [(heading, chart.svg()) for heading, chart in found]


def _convergence(shown: LearnerShown) -> Chart:
    words = "distance from the newest model, relative to its length"
    return Chart(
        title="Distance of the model from the newest one, by meeting",
        x_label="meeting",
        y_label="distance",
        lines=[_line(words, shown.convergence)] if shown.convergence else [],
        log_y=True,
    )


def _public_loss(shown: LearnerShown) -> Chart:
    return Chart(
        title="Average loss of the model on public rows, by meeting",
        x_label="meeting",
        y_label="loss",
        lines=[_line("average loss on public rows", shown.public_loss)],
        log_y=True,
    )


def _line(name: str, points: list[tuple[int, float]]) -> Line:
    return Line(name, [float(number) for number, _ in points], [value for _, value in points], "b")


def _forecast(shown: LearnerShown) -> Chart:
    answers = [float(each.answers) for each in shown.predicted]
    low, high = ([each.interval[end] for each in shown.predicted] for end in (0, 1))
    return Chart(
        title="ψ that is expected, as answers come, with its 95 % interval",
        x_label="answers",
        y_label="expected ψ",
        lines=[Line("expected", answers, [each.relative_fitness for each in shown.predicted], "a")],
        band=Band("95 % of trainings", answers, low, high),
        log_y=True,
    )


def _shift(shown: LearnerShown) -> Chart:
    answers = [float(each.answers) for each in shown.predicted]
    return Chart(
        title="Probability that the public rows do not fit, as answers come",
        x_label="answers",
        y_label="probability",
        lines=[
            Line("that public rows do not fit", answers, [each.misfit for each in shown.predicted], "c"),
            Line("from here on it is said aloud", [answers[0], answers[-1]], [SURE, SURE], "bound"),
        ],
        heights=(0, 1),
    )
