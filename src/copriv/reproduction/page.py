"""A page with every figure beside what the paper says of it and what this run shows; one file, no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from copriv.reproduction.study import Figure

SCALES = {
    "printed": "noise as printed in the paper, not ε-DP: its scale takes an L2 bound where L1 is needed",
    "valid": "valid noise: ε-DP for any one record (replace-one), δ = 0",
}


@dataclass(frozen=True, slots=True)
class Chapter:
    """The figures of one data set."""

    title: str
    about: str
    label: str
    horizon: int
    figures: tuple[Figure, ...]
    notices: tuple[str, ...]


def write_page(chapters: Sequence[Chapter], folder: Path) -> Path:
    """Write index.html with the pictures inside."""
    import jinja2

    loader = jinja2.PackageLoader("copriv.reproduction")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    pictures = {figure.name: _inline(folder / f"{figure.name}.png") for part in chapters for figure in part.figures}
    page = folder / "index.html"
    page.write_text(
        environment.get_template("figures.html").render(chapters=chapters, pictures=pictures), encoding="utf-8"
    )
    return page


def _inline(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
