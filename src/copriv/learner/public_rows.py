"""The learner's public rows, reduced to numbers, as bytes: how they are kept beside a study file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from copriv.errors import BadInput
from copriv.losses.people import People
from copriv.losses.sample import NO_OFFSETS, Sample
from copriv.vectors import FloatArray, IntArray, read_only


def write_sample(sample: Sample) -> bytes:
    """The bytes of a sample.

    >>> again = read_sample(write_sample(Sample.of_rows(np.eye(2), np.ones(2))))
    >>> again.columns.tolist(), again.targets.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    """
    buffer = io.BytesIO()
    kept: dict[str, FloatArray | IntArray] = {"columns": sample.columns, "targets": sample.targets}
    if sample.people is not None:
        kept |= {"starts": sample.people.starts, "weights": sample.people.weights}
    if sample.offsets.size:
        kept |= {"offsets": sample.offsets}
    np.savez_compressed(buffer, allow_pickle=False, **kept)
    return buffer.getvalue()


def read_sample(data: bytes) -> Sample:
    """Read a sample, or say that this is none."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as kept:
            people = People(kept["starts"], kept["weights"]) if "starts" in kept else None
            offsets = read_only(kept.get("offsets", NO_OFFSETS))
            return Sample(read_only(kept["columns"]), read_only(kept["targets"]), people, offsets)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as problem:
        raise BadInput("these are not the public rows of a study", remedy="draft the study again") from problem


def public_rows_beside(study: Path) -> Path:
    """Where the public rows of a study file are kept.

    >>> public_rows_beside(Path("study.toml")).name
    'study.public.npz'
    """
    return study.with_suffix(".public.npz")
