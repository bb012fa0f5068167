"""Plain modules in this folder are for the tests here and for `make consortium` and `make kills`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
