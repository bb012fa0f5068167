"""The learner's public rows, reduced to numbers, as bytes: how they are kept beside a study file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from copriv.errors import BadInput
from copriv.losses.people import People
from copriv.losses.sample import Sample
from copriv.vectors import read_only


def write_sample(sample: Sample) -> bytes:
    """The bytes of a sample.

    >>> again = read_sample(write_sample(Sample.of_rows(np.eye(2), np.ones(2))))
    >>> again.columns.tolist(), again.targets.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    """
    buffer = io.BytesIO()
    columns, targets, people = sample.columns, sample.targets, sample.people
    if people is None:
        np.savez_compressed(buffer, columns=columns, targets=targets)
    else:
        np.savez_compressed(buffer, columns=columns, targets=targets, starts=people.starts, weights=people.weights)
    return buffer.getvalue()


def read_sample(data: bytes) -> Sample:
    """Read a sample, or say that this is none."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as kept:
            people = People(kept["starts"], kept["weights"]) if "starts" in kept else None
            return Sample(read_only(kept["columns"]), read_only(kept["targets"]), people)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as problem:
        raise BadInput("these are not the public rows of a study", remedy="draft the study again") from problem


def public_rows_beside(study: Path) -> Path:
    """Where the public rows of a study file are kept.

    >>> public_rows_beside(Path("study.toml")).name
    'study.public.npz'
    """
    return study.with_suffix(".public.npz")
