# ruff: noqa: INP001
"""`make pictures`: the pictures of the README, taken by a real browser of a real run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
MOST_BYTES = 150_000
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def main() -> None:
    """Train a small run, and take its report."""
    path = os.environ.get("COPRIV_BROWSER") or shutil.which("chromium")
    if path is None:
        sys.exit("there is no browser: apt-get install chromium, or name one: COPRIV_BROWSER=PATH")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "first"
        train = ["train", "--owners", "5", "--records-per-owner", "2000", "--public-rows", "2000", "--features", "10"]
        command = Path(sys.executable).with_name("copriv")
        subprocess.run([command, *train, "--out", folder], check=True, capture_output=True)  # noqa: S603
        take(path, folder / "report.html", HERE / "report.png")


def take(browser: str, page: Path, picture: Path) -> None:
    """The first screen of a page, as a small PNG."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=list(FLAGS))
        shown = opened.new_page(viewport={"width": 1000, "height": 880}, device_scale_factor=1)
        shown.goto(page.as_uri())
        shown.screenshot(path=picture)
        opened.close()
    with Image.open(picture) as taken:
        taken.convert("RGB").quantize(64).save(picture, optimize=True)
    size = picture.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{picture} has {size:,} bytes, more than {MOST_BYTES:,}")
    sys.stdout.write(f"{picture}: {size:,} bytes\n")


if __name__ == "__main__":
    main()
