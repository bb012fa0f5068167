"""Which rows a run of `copriv train` takes as public, and whether they were that before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from copriv.cli.progress import bar
from copriv.cli.train_options import TrainOptions, shuffled_rows
from copriv.errors import BadInput
from copriv.owner.dataset_ledger import Settled, this_file
from copriv.owner.registry import Found, Registry
from copriv.owner.split import Split, all_public, require_no_conflict, split_rows


def registered_seed(data: Path) -> int | None:
    """The seed that a known file was shuffled with before."""
    with Registry() as registry:
        known = registry.known_file(registry.fingerprint(data))
    return None if known is None or known.split is None else known.split.seed


def wanted_split(registry: Registry, found: Found, options: TrainOptions, seed: int) -> Split:
    """Which rows this run takes as public, and the options that say so."""
    rows = registry.rows_of(found)
    if options.public is not None:
        return split_rows(rows, np.empty(0, dtype=np.int64), f"--public {options.public}")
    wanted = min(options.public_rows, rows)
    places = shuffled_rows(rows, seed) if options.shuffle else np.arange(rows, dtype=np.int64)
    words = f"--public-rows {options.public_rows}" + (f" --shuffle --seed {seed}" if options.shuffle else "")
    return split_rows(rows, places[rows - wanted :], words, seed if options.shuffle else None)


def check_public(registry: Registry, settled: Settled, split: Split, options: TrainOptions, console: Console) -> Found:
    """A file of public rows must not hold private ones: neither of known files nor of the one at hand."""
    if options.public is None:
        raise BadInput("there is no file of public rows", remedy="give --public")
    mine = this_file(settled, split, registry)
    with bar(console, "looking for private rows among the public ones") as tell:
        found = registry.lookup(options.public, tell, beside=mine.sketches)
    if found.dataset is not None or found.fingerprint == settled.found.fingerprint:
        raise BadInput(
            f"{options.public} is a file of private records",
            remedy="give another file of public rows; rows once private stay private",
            value=str(options.public),
        )
    if not options.unrelated:
        for other in (mine, *registry.known_files()):
            if other.fingerprint != found.fingerprint and other.dataset is not None:
                require_no_conflict(registry.sketches_of(found), all_public(registry.rows_of(found)), other)
    return found
