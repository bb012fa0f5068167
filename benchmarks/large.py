"""One answer from records bigger than memory: seconds, peak of memory, and the same bits however they are read.

`python -m benchmarks large --largest=1e7` leaves out the largest table.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.side_by_side import tell
from copriv.privacy.sensitivity import of_average_gradient, of_average_value, of_moments, of_second_moments
from copriv.vectors import Norm

SIZES = (10**6, 10**7, 10**8)
FILE_ROWS, FEATURES, ANSWERS = 10**6, 11, {10**6: 5, 10**7: 3}
BOUND = 2 << 30
BYTES_A_ROW = 60
CHILD = """
import hashlib, json, resource, sys, time
from contextlib import ExitStack
from pathlib import Path
import numpy as np
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.squared import SquaredLoss
from copriv.records.cluster import DaskSpread
from copriv.records.dictionary import Dictionary
from copriv.records.file_format import PLAIN
from copriv.records.load_owner import open_owner_records
from copriv.records.resources import Resources
from copriv.vectors import Norm


def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 2**20


def main():
    asked = json.loads(sys.argv[1])
    folder = Path(asked["folder"])
    dictionary = Dictionary.from_json((folder.parent / "dictionary.json").read_bytes())
    theta = np.linspace(-1, 1, dictionary.parameters)
    with ExitStack() as stack:
        spread = client = None
        if asked["dask"]:
            from dask.distributed import Client, LocalCluster
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
            client = stack.enter_context(Client(stack.enter_context(cluster)))
            spread = DaskSpread(client)
        began = time.perf_counter()
        resources = Resources(asked["memory"], spread, asked["batch_rows"])
        records = open_owner_records(folder, PLAIN, dictionary, resources).records
        opened, seconds, work = time.perf_counter() - began, [], []
        for _ in range(asked["answers"]):
            began, worked = time.perf_counter(), time.process_time()
            answer = clipped_average_gradient(SquaredLoss(), records, theta, 0.1, Norm.L1)
            seconds.append(time.perf_counter() - began)
            work.append(time.process_time() - worked)
        peaks = [peak(), *(client.run(peak).values() if client else ())]
    found = {
        "kind": type(records).__name__, "rows": records.records, "opened": opened, "seconds": float(np.median(seconds)),
        "work": float(np.median(work)), "peak": max(peaks), "bits": hashlib.sha256(answer.tobytes()).hexdigest()[:12],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
"""


def main() -> None:
    """Print the tables."""
    largest = next((int(float(each.split("=")[1])) for each in sys.argv if each.startswith("--largest=")), SIZES[-1])
    sizes = [size for size in SIZES if size <= largest]
    with tempfile.TemporaryDirectory(prefix="copriv-large-") as scratch:
        free = shutil.disk_usage(scratch).free
        if free < 2 * BYTES_A_ROW * max(sizes):
            sys.exit(f"{max(sizes):,} rows take about {BYTES_A_ROW * max(sizes) / 2**30:.0f} GiB; give --largest=1e7")
        rows = [row for size in sizes for row in _measure(Path(scratch), size)]
    tell(
        "large",
        "one gradient before noise, of a folder of Parquet files of a million rows and 12 columns, each line in a "
        "process of its own (of a cluster, the process with the highest peak). Over all sizes read `anew`, the most "
        f"time a row is {_growth(rows, 5):.2f} of that of the smallest, and CPU time {_growth(rows, 6):.2f}; time also "
        "counts what else the machine did. "
        f"Largest table asked for: {largest:,} rows",
        [
            "rows",
            "read",
            "GiB on disk",
            "first reading, s",
            "an answer, s",
            "µs a row",
            "CPU µs a row",
            "peak, GiB",
            "bits",
        ],
        rows,
        width=140,
    )
    tell(
        "large-sensitivity",
        "how far one record may move an answer, rounding included, over what it would be without (p = 12, L2)",
        ["records", "gradient", "loss", "moments", "second moments"],
        [[f"{size:,}", *_sensitivities(size)] for size in SIZES],
    )


def _growth(rows: list[list[Any]], column: int) -> float:
    """Of the tables that are read anew, the most that any size takes a row, over what the smallest takes."""
    anew = [row[column] for row in rows if row[1] == "anew"]
    return max(anew) / anew[0]


def _measure(scratch: Path, size: int) -> list[list[Any]]:
    """One table, read in several ways; all of them must give the same bits."""
    folder = _generate(scratch, size)
    disk = sum(file.stat().st_size for file in folder.iterdir()) / 2**30
    ways = [("anew", BOUND if size > 10**7 else 0, None, False)]
    if size == SIZES[0]:
        ways += [("anew, 1,000 rows a batch", 0, 1000, False), ("anew, 300,000 rows a batch", 0, 300_000, False)]
    if size <= 10**7:
        ways += [("once, into memory", BOUND, None, False), ("anew, by 2 Dask workers", 0, None, True)]
    rows, bits = [], set()
    for way, memory, batch_rows, dask in ways:
        asked = {"folder": str(folder), "memory": memory, "batch_rows": batch_rows or 100_000, "dask": dask}
        found = _ask({**asked, "answers": ANSWERS.get(size, 1)})
        bits.add(found["bits"])
        each = (1e6 * found["seconds"] / size, None if dask else 1e6 * found["work"] / size)
        rows.append([f"{size:,}", way, disk, found["opened"], found["seconds"], *each, found["peak"], found["bits"]])
    if len(bits) > 1:
        sys.exit(f"{size:,} rows: the bits differ, {bits}")
    shutil.rmtree(folder)
    return rows


def _ask(asked: dict[str, object]) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", CHILD, json.dumps(asked)], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def _generate(scratch: Path, size: int) -> Path:
    """A folder of files of a million rows each, and a dictionary from rows of their kind."""
    from copriv.records.fit_features import fit_dictionary
    from copriv.records.target import TargetChoice

    folder = scratch / f"rows-{size}"
    folder.mkdir()
    for number in range(size // FILE_ROWS):
        _table(number, FILE_ROWS).write_parquet(folder / f"part-{number:04d}.parquet", row_group_size=250_000)
    dictionary = fit_dictionary(_table(SIZES[-1], 5000), TargetChoice("y"), FEATURES)[0]
    (scratch / "dictionary.json").write_bytes(dictionary.to_json())
    return folder


def _table(number: int, rows: int) -> pl.DataFrame:
    generator = np.random.default_rng(number)
    cells = generator.standard_normal((FEATURES, rows)).round(3)
    target = np.linspace(-1, 1, FEATURES) @ cells + generator.standard_normal(rows)
    return pl.DataFrame({**{f"x{place}": cells[place] for place in range(FEATURES)}, "y": target.round(3)})


def _sensitivities(records: int) -> list[str]:
    parameters = FEATURES + 1
    exact = np.array([2 / records, 1 / records, np.sqrt(4.5), np.sqrt(2) / records])
    found = [
        of_average_gradient(clip=1.0, records=records, parameters=parameters, norm=Norm.L2),
        of_average_value(bound=1.0, records=records, norm=Norm.L2),
        of_moments(records=records, parameters=parameters, norm=Norm.L2),
        of_second_moments(row_norm=1.0, records=records, parameters=parameters, norm=Norm.L2),
    ]
    return [f"{each.value / without:.6f}" for each, without in zip(found, exact, strict=True)]
