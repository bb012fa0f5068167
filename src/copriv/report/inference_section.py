"""What a report says of coefficients as findings: with intervals by what causes errors, and forest plots of owners."""

from __future__ import annotations

from typing import Any

from copriv.protocol.text import plain
from copriv.report.inference import CAUTION, Coefficient, Inference
from copriv.report.inference_table import finding_cells, finding_headings, forest_picture
from copriv.report.pages import Tabled
from copriv.report.sentence import many

# Longer models are told by what stands out most; the file has all of them.
MOST_FINDINGS = 60
# Of so many coefficients owners are drawn one by one, of so many owners at most.
MOST_FORESTS, MOST_OWNERS = 3, 40
_WORDS = (
    "The model above leans on public rows, which is good for predictions. These coefficients do not: they follow from "
    "the same noisy answers, which cost nothing further. A standard error is told by what causes it: private records "
    "are a sample, owners add noise, owners differ, and public rows are a sample; squares of the parts add up to its "
    "square."
)
_FOREST = (
    "The coefficients that stand out most, owner by owner: each owner's own estimate, with an interval by sampling and "
    "noise, and what a meta-analysis makes of all. A fixed effect holds if owners are alike, random effects if they "
    "differ."
)


def inference_section(told: Inference) -> dict[str, Any]:
    """What the template shows of an inference; the sentence why there is none where there is none."""
    standing = sorted(told.coefficients[:-1], key=_strength, reverse=True)
    shown = [*standing[:MOST_FINDINGS], *told.coefficients[-1:]]
    left = len(standing) - MOST_FINDINGS
    caption = f"Coefficients not drawn towards the public rows, with {told.level * 100:.0f} % intervals"
    ends = frozenset({7, 8} if told.ratio else {7})  # they may take two lines
    table = Tabled(caption, finding_headings(told), [finding_cells(told, each) for each in shown], ends)
    forests = _forests(told, standing)
    return {
        "findings": table if shown else None,
        "findings_words": [_WORDS, told.population, CAUTION] if shown else [],
        "no_findings": told.none,
        "forests": forests,
        "forest_words": _FOREST if forests else "",
        "findings_left": (
            f"{many(left, 'coefficient')} that stand out less are left out here: inference.json has all."
            if left > 0
            else ""
        ),
    }


def _strength(each: Coefficient) -> float:
    """How many standard errors from 0."""
    return abs(each.estimate) / each.standard_error if each.standard_error > 0 else 0.0


def _forests(told: Inference, standing: list[Coefficient]) -> list[tuple[str, str]]:
    """Pictures with their words; none where there are no intervals, or one owner alone."""
    if told.none or len(told.owners) < 2:
        return []
    hidden = len(told.owners) - MOST_OWNERS
    most = f"; the {MOST_OWNERS} with most records of {len(told.owners):,}" if hidden > 0 else ""
    return [
        (forest_picture(told, each.name, MOST_OWNERS), f"{plain(each.name)}, owner by owner{most}.")
        for each in standing[:MOST_FORESTS]
    ]
