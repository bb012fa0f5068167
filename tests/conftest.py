"""What all tests share: where the real data lies, and small problems made of chance."""

import base64
import functools
import os
import shutil
import tempfile
from pathlib import Path

# Two workers share the cores, and so do the processes that tests start: threads of BLAS that wait would spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
import typer.main
from hypothesis import HealthCheck, settings
from matplotlib.figure import Figure

from copriv.losses.sample import Sample

# Ledgers are synced at every answer, and in memory nobody waits for a disk; `make torture` and `make kills` do.
MEMORY, ENOUGH = Path("/dev/shm"), 2 << 30  # noqa: S108 - pytest makes a folder of its own in it
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

ROOT = Path(__file__).resolve().parents[1]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)

settings.register_profile(
    "copriv",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("copriv")

# The parsers of all commands are built with every command: once is enough for all that are called in this process.
typer.main.get_command = functools.cache(typer.main.get_command)


def _data_folder():
    for folder in (os.environ.get("COPRIV_DATA"), ROOT.parent / "shared" / "data"):
        if folder and Path(folder).is_dir():
            return Path(folder)
    return None


@pytest.fixture(scope="session", autouse=True)
def _no_registry_of_the_user(tmp_path_factory):
    """Fixtures that outlive a test share a registry; it is never the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COPRIV_REGISTRY", str(tmp_path_factory.mktemp("registry") / "copriv"))
        yield


@pytest.fixture(autouse=True)
def registry_folder(tmp_path_factory, monkeypatch):
    """A registry of its own for every test, and for every process that it starts; never the user's."""
    folder = tmp_path_factory.mktemp("registry") / "copriv"
    monkeypatch.setenv("COPRIV_REGISTRY", str(folder))
    return folder


@pytest.fixture
def rendered():
    """For a test that wants its pictures rendered."""


@pytest.fixture(autouse=True)
def _pictures_are_not_rendered(request, monkeypatch):
    """Pictures are composed as ever, but a pixel is written: rendering took half the time of a small run.

    Tests that ask for `rendered`, and fixtures that outlive a test, have real ones.
    """
    if "rendered" not in request.fixturenames:
        monkeypatch.setattr(Figure, "savefig", lambda _figure, path, **_options: Path(path).write_bytes(PIXEL))


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data; tests that need it say that they were skipped where there is none."""
    folder = _data_folder()
    if folder is None:
        pytest.skip("no real data: neither $COPRIV_DATA nor ../shared/data exists")
    return folder


@pytest.fixture
def make_sample():
    """Records with ‖x‖₂ ≤ 1 and |y| ≤ 1 around a true model."""

    def make(records=400, parameters=4, seed=0, labels=False):
        generator = np.random.default_rng(seed)
        rows = generator.normal(size=(records, parameters))
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
        margins = rows @ np.linspace(-0.6, 0.7, parameters) + 0.1 * generator.normal(size=records)
        targets = np.where(margins > 0, 1.0, -1.0) if labels else np.clip(margins, -1, 1)
        return Sample.of_rows(rows, targets)

    return make
