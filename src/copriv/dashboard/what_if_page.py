"""The what-if page: sliders, and what is expected where they stand. Nobody is asked, nothing is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from copriv.dashboard.charts import Band, Chart, Line
from copriv.dashboard.pages import as_json, aside, make_app, render
from copriv.dashboard.what_if_view import RULES, Studio, WhatIf
from copriv.protocol.text import plain

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request


def what_if_app(studio: Studio) -> Starlette:
    """The page of a studio; with `curve=some`, the curve as far as it is known by now."""

    def show(request: Request) -> WhatIf:
        given = dict(request.query_params)
        return studio.show(studio.read(given), whole=given.get("curve") != "some")

    def page(request: Request) -> Response:
        shown = show(request)
        return render(
            "what_if.html",
            shown=shown,
            chart=_chart(shown),
            features=studio.features(),
            rules=list(dict.fromkeys((*RULES, studio.first.rule))),
            all_rows=studio.all_rows,
            target=plain(studio.target or "", 120),
            source=plain(studio.path.name, 120),
            ranges=_ranges(studio, shown.unit),
        )

    def data(request: Request) -> Response:
        return as_json(show(request))

    return make_app("/what-if", Route("/what-if", aside(page)), Route("/what-if.json", aside(data)))


def _ranges(studio: Studio, unit: str) -> list[dict[str, object]]:
    """Sliders: name, words, ends, and whether a step is a factor."""
    rows, promised = studio.all_rows, f"ε for any one {unit} (replace-one)"
    return [
        {"name": "owners", "words": "Owners N", "low": 1, "high": 1000, "step": 1},
        {"name": "records", "words": "Records n of the median owner", "low": 100, "high": 1_000_000, "step": 1},
        {"name": "epsilon", "words": promised, "low": 0.01, "high": 100, "step": "any"},
        {"name": "delta", "words": "δ (0: pure ε)", "low": 1e-12, "high": 1e-3, "step": "any"},
        {"name": "rows", "words": f"Public rows, of {rows:,}", "low": min(50, rows), "high": rows, "step": 1},
    ]


def _chart(shown: WhatIf) -> Markup:
    rows = [row for row in shown.curve if row.relative_fitness > 0]
    values = [row.value for row in rows]
    here = Line("where the sliders stand", [shown.setting.epsilon], [shown.relative_fitness], "here")
    lines = [
        Line("together, expected", values, [row.relative_fitness for row in rows], "a"),
        Line("alone, median owner", values, [row.alone for row in rows], "b"),
        Line("public rows only", values, [row.public for row in rows], "d"),
        here,
    ]
    turn = [] if shown.break_even is None else [(f"break-even at ε = {shown.break_even:g}", shown.break_even)]
    return Chart(
        title="Expected ψ over ε: together with its 95 % interval, alone, and of the public rows",
        x_label=f"ε for any one {shown.unit} (replace-one)",
        y_label="ψ: distance from the best",
        lines=lines if len(rows) > 1 else [here],
        band=Band("95 % of trainings", values, *([row.interval[end] for row in rows] for end in (0, 1)))
        if len(rows) > 1
        else None,
        upright=turn,
        log_x=True,
        log_y=True,
    ).svg()
