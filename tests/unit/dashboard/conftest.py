"""Plain modules in this folder are for the tests here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
