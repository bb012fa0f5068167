"""Run every benchmark, or those named: `python -m benchmarks [NAME …]`."""

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
NOT_BENCHMARKS = {
    "__init__",
    "__main__",
    "crowded_run",
    "grid",
    "isolated",
    "libraries",
    "many_hands",
    "owners_elsewhere",
    "peers",
    "person_bands",
    "prototype_rule",
    "datasets",
    "shift_pairs",
    "shift_rivals",
    "side_by_side",
    "worth_tables",
    "worth_training",
}
# What takes long or installs other software runs only when named.
OPTIONAL = {
    "pages",
    "flower",
    "cost",
    "ablation",
    "calibration",
    "choosing",
    "coverage",
    "few_rows",
    "hindsight",
    "labels",
    "inference",
    "large",
    "limits",
    "person",
    "planning",
    "prototype",
    "shift",
    "unshifted",
    "validation",
    "verdicts",
    "wide",
    "worth",
    "worth_grid",
    "yardstick",
}


def main() -> None:
    """Run the benchmarks in order of their names."""
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")] or [
        name for name in known if name not in OPTIONAL
    ]
    for name in (each.replace("-", "_") for each in wanted):
        if name not in known:
            sys.exit(f"there is no benchmark {name!r}; there are {', '.join(known)}")
        importlib.import_module(f"benchmarks.{name}").main()


# Benchmarks may start processes of their own, which read this file again.
if __name__ == "__main__":
    main()
