"""Which rows a run takes as public, and whether they were that before."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from copriv.errors import BadInput
from copriv.owner.dataset_ledger import Settled, this_file
from copriv.owner.registry import Found, Registry
from copriv.owner.sketch import Sketch
from copriv.owner.split import Split, all_public, require_no_conflict, split_rows
from copriv.runtime.events import Tell, counting
from copriv.runtime.local_load import Sources, has_public, shuffled_rows
from copriv.runtime.local_request import Loading, TrainRequest


def look_up(registry: Registry, loading: Loading, sources: Sources, tell: Tell) -> Found:
    """What is known of the records, be they in a file or in memory."""
    count = counting(tell, "recognising the records")
    if sources.data is not None:
        return registry.lookup_table(sources.data.table, sources.data.name, count)
    if loading.data is None:
        raise BadInput("generated records have no budget", remedy="give --data")
    return registry.lookup(loading.data, count, form=loading.format())


def registered_seed(loading: Loading, sources: Sources, tell: Tell) -> int | None:
    """The seed that known records were shuffled with before."""
    with Registry() as registry:
        if sources.data is not None:
            fingerprint = look_up(registry, loading, sources, tell).fingerprint
        elif loading.data is not None:
            fingerprint = registry.fingerprint(loading.data)
        else:
            return None
        known = registry.known_file(fingerprint)
    return None if known is None or known.split is None else known.split.seed


def wanted_split(registry: Registry, found: Found, request: TrainRequest, sources: Sources) -> Split:
    """Which rows this run takes as public, and the options that say so; their number is settled in the request."""
    rows, seed = registry.rows_of(found), request.rows_seed
    if has_public(request, sources):
        name = request.public if sources.public is None else sources.public.name
        return split_rows(rows, np.empty(0, dtype=np.int64), f"--public {name}")
    wanted = min(request.public_rows or 0, rows)
    places = shuffled_rows(rows, seed) if request.shuffle else np.arange(rows, dtype=np.int64)
    words = f"--public-rows {request.public_rows}" + (f" --shuffle --seed {seed}" if request.shuffle else "")
    return split_rows(rows, places[rows - wanted :], words, seed if request.shuffle else None)


def check_public(
    registry: Registry, settled: Settled, split: Split, request: TrainRequest, sources: Sources, tell: Tell
) -> Found | None:
    """Public rows of their own must not be private ones: neither of known files nor of the one at hand."""
    if not has_public(request, sources):
        return None
    mine = this_file(settled, split, registry)
    found = _look_up_public(registry, request, sources, mine.sketches, tell)
    if found.dataset is not None or found.fingerprint == settled.found.fingerprint:
        raise BadInput(
            f"{found.path} is a file of private records",
            remedy="give another file of public rows; rows once private stay private",
            value=str(found.path),
        )
    if not request.unrelated:
        for other in (mine, *registry.known_files()):
            if other.fingerprint != found.fingerprint and other.dataset is not None:
                require_no_conflict(registry.sketches_of(found), all_public(registry.rows_of(found)), other)
    return found


def _look_up_public(
    registry: Registry, request: TrainRequest, sources: Sources, beside: Iterable[Sketch], tell: Tell
) -> Found:
    count = counting(tell, "looking for private rows among the public ones")
    if sources.public is not None:
        return registry.lookup_table(sources.public.table, sources.public.name, count, beside)
    if request.public is None:
        raise BadInput("there is no file of public rows", remedy="give --public")
    return registry.lookup(request.public, count, beside=beside, form=request.format())
