"""Find Chromium, or install Debian's where this user may: `python tests/browser/find_browser.py` prints its path."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MISSING = "there is no browser: install chromium (apt-get install chromium), or name one: COPRIV_BROWSER=PATH"


def find_browser():
    """The path of a browser, installed now if there is none; None if that cannot be done."""
    return _find() or _install()


def _find():
    given = os.environ.get("COPRIV_BROWSER")
    return given or next((path for path in map(shutil.which, NAMES) if path), None)


def _install():
    """One process at a time; whoever waited finds it there."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    with (Path(tempfile.gettempdir()) / "copriv-browser.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _find() is None:
            for command in (("update",), ("install", "-y", "--no-install-recommends", "chromium")):
                environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
                subprocess.run(["apt-get", "-qq", *command], check=False, stdout=sys.stderr, env=environment)  # noqa: S607
        return _find()


if __name__ == "__main__":
    sys.exit(print(path) if (path := find_browser()) else MISSING)  # noqa: T201
