"""Rows of a registry: sketches and splits as they are kept, and read again."""

from __future__ import annotations

import msgspec
import numpy as np

from copriv.owner.hidden_names import hide_names
from copriv.owner.sketch import Kind, Sketch
from copriv.owner.split import Split, bits


def packed_sketch(sketch: Sketch) -> tuple[object, ...]:
    """A sketch as it is kept."""
    columns = msgspec.json.encode(sketch.columns).decode()
    hashes, places = sketch.hashes.astype("<u8").tobytes(), sketch.places.astype("<i8").tobytes()
    return sketch.kind, columns, sketch.distinct, hashes, places


def read_sketch(row: tuple[object, ...], key: bytes) -> Sketch:
    """A sketch that is kept; registries of before have the names of columns in clear."""
    kind, columns, distinct, hashes, places = msgspec.convert(row, tuple[Kind, str, int, bytes, bytes])
    return Sketch(
        kind,
        hide_names(msgspec.json.decode(columns, type=tuple[str, ...]), key),
        distinct,
        np.frombuffer(hashes, dtype="<u8").astype(np.uint64),
        np.frombuffer(places, dtype="<i8").astype(np.int64),
    )


def read_split(row: tuple[object, ...], rows: int) -> Split:
    """A split that is kept."""
    public, private, options, seed = msgspec.convert(row, tuple[bytes, bytes, str, int | None])
    return Split(bits(public, rows), bits(private, rows), options, seed)
