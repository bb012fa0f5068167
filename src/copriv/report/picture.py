"""The convergence picture: ψ against k, with what owners reach alone."""

from __future__ import annotations

from pathlib import Path

from copriv.report.figures import Figures
from copriv.report.sentence import many

# Okabe and Ito's palette, distinguishable with any colour vision.
_BLUE, _ORANGE, _GREEN = "#0072B2", "#D55E00", "#009E73"
_FLOOR = 1e-12


def draw(figures: Figures, folder: Path) -> list[Path]:
    """Write convergence.png and convergence.svg."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    with plt.rc_context(
        {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "copriv"}
    ):
        figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        steps, values = zip(*figures.path, strict=True)
        axes.semilogy(steps, [max(value, _FLOOR) for value in values], color=_BLUE, label="joint model")
        public = None if figures.public is None else figures.public.relative_fitness
        for value, colour, style, label in (
            (figures.alone.median, _ORANGE, "--", "alone, median owner"),
            (public, _GREEN, ":", "public rows only"),
        ):
            if value is not None and value > _FLOOR:
                axes.axhline(value, color=colour, linestyle=style, label=label)
        axes.set_xlabel("meeting k")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("relative fitness ψ(θ$_L$)")
        axes.set_title(_title(figures), fontsize=10, loc="left")
        axes.grid(visible=True, which="major", alpha=0.25)
        axes.legend(frameon=False)
        axes.annotate(
            "measured on the records: not private",
            (0.0, 0.0),
            (4, 4),
            "axes fraction",
            "offset points",
            size=8,
            alpha=0.7,
        )
        paths = [folder / f"convergence.{kind}" for kind in ("png", "svg")]
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


def _title(figures: Figures) -> str:
    promise = f"ε = {figures.guarantee.epsilon:g}, δ = {figures.guarantee.delta:g} per {figures.guarantee.unit}"
    simulated = "" if figures.noise == "secure" else ", simulated"
    who = f"{many(figures.owners, 'owner')}, {many(figures.records, 'record')}"
    return f"{who}, {promise} ({figures.guarantee.adjacency}){simulated}"
