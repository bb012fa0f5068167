"""Reading a table as large as the paper's: 2.35 million discharges, streamed, with the peak of memory."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.side_by_side import tell

ROWS = 2_350_000
CHILD = """
import sys, time
from pathlib import Path
from copriv.records.hospital import HOSPITAL
from copriv.records.official import Choice, take_in_official
from copriv.records.table import open_table
def peak_memory():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak_memory()
started = time.perf_counter()
found = take_in_official(open_table(Path(sys.argv[1])), HOSPITAL, Choice(min_records=10_000))
peak = peak_memory()
records = sum(owner.sample.records for owner in found.owners)
print(time.perf_counter() - started, (peak - before) / 2**20, len(found.owners), records)
"""


def main() -> None:
    """Print the table."""
    from copriv.records import hospital_like

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        frame = hospital_like.generate(ROWS, np.random.default_rng(0))
        for kind in ("parquet", "csv"):
            path = Path(folder) / f"stays.{kind}"
            frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
            )
            seconds, memory, owners, records = done.stdout.split()
            rows.append([kind, path.stat().st_size / 2**30, float(seconds), float(memory), int(owners), int(records)])
    tell(
        "intake",
        f"{ROWS:,} synthetic discharges with the official columns, reduced to ten features and an intercept in a "
        "process of its own; memory is what the peak grew by; the features themselves take 0.2 GiB",
        ["file", "GiB on disk", "seconds", "GiB of memory", "owners", "records"],
        rows,
    )
