"""The fault harness is a folder of plain modules: `python tests/faults/torture.py` finds them, and so do the tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def fork_server():
    from fork_server import Nursery

    with Nursery() as found:
        yield found
