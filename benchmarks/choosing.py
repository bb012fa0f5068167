"""What it takes to choose features: core seconds of `auto` on generated public rows, beside ten components.

- pick: what `copriv train` does: candidates that cannot win are given up early, and not forecast;
- choose: what `copriv plan` does, which shows every candidate;
- ten components: fitted and forecast, with nothing to choose.

Core seconds count one process, so that other work on the machine changes them little. All three start from the rows.
"""

import time
from collections.abc import Callable

from benchmarks.many_hands import one_thread_each
from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.planning.feature_contest import FeatureContest
from copriv.planning.outline import draft_outline, gather_evidence
from copriv.planning.search import glance
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.records.fit_features import PublicRows
from copriv.records.target import TargetChoice

SIZES = (10_000,) * 10
WISHES = TrainingSpec((Guarantee.of("1"),) * len(SIZES), rule="auto")


def _rows(count: int) -> PublicRows:
    return PublicRows(lending_like.generate(count, seeded(0, "records")), TargetChoice("int_rate"))


def _ten(rows: PublicRows) -> str:
    fitted = rows.fit("10")
    glance(draft_outline(fitted.dictionary, gather_evidence(fitted.public, WISHES), SIZES, WISHES))
    return "codes:10"


def _pick(rows: PublicRows) -> str:
    return str(FeatureContest(rows, WISHES).pick(SIZES, WISHES).taken.spec)


def _choose(rows: PublicRows) -> str:
    return str(FeatureContest(rows, WISHES).choose(SIZES, WISHES).taken.spec)


def _timed(work: Callable[[PublicRows], str], count: int) -> tuple[float, str]:
    rows, started = _rows(count), time.process_time()
    taken = work(rows)
    return time.process_time() - started, taken


def main() -> None:
    """Print the table."""
    found = []
    with one_thread_each():
        _timed(_ten, 500)  # compiles
        for count in (1000, 10_000):
            ten, (pick, picked), (choose, chosen) = (_timed(work, count) for work in (_ten, _pick, _choose))
            found.append([count, ten[0], pick, choose, pick / choose, picked, chosen])
    tell(
        "choosing",
        "core seconds to choose features on generated loans, ten owners of 10,000 records, ε = 1 for any one record "
        "(replace-one, δ = 0)",
        ["public rows", "ten components", "pick", "choose", "pick / choose", "picked", "chosen"],
        found,
    )
