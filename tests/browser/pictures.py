"""Pictures of the pages for the README: `make pictures`. They show a real study on generated records."""

import os
import sys
import tempfile
import threading
from pathlib import Path

import study
from find_browser import MISSING, find_browser
from PIL import Image
from playwright.sync_api import sync_playwright

import copriv as cp
from copriv.dashboard.guard import Door
from copriv.dashboard.server import bind, serve
from copriv.dashboard.what_if_page import what_if_app
from copriv.dashboard.what_if_view import Studio

WIDTH, HEIGHTS = 960, {"learner": 1010, "owner": 800, "what-if": 1290}
COLOURS, SECONDS = 48, 60_000


def take(folder: Path, out: Path, browser):
    """The learner's and an owner's page in the middle of a study, and the page with sliders."""
    study.prepare(folder, "Loans 2026", "Example Research")
    learner = study.Process(folder, "learner", "run", "--deadline", 2, "--folder", folder / "learner")
    owner = study.Process(folder, "owner", "serve", "--folder", folder / "north")
    studio = Studio(folder / "public.parquet", "int_rate", cp.Scenario([3000] * 10, 0.5), {"features": 4})
    sliders = bind(0, path="/what-if")
    serving = (what_if_app(studio), sliders.socket, Door(sliders.hosts))
    threading.Thread(target=serve, args=serving, daemon=True).start()
    try:
        board, house, what_if = (
            browser.new_page(viewport={"width": WIDTH, "height": height}) for height in HEIGHTS.values()
        )
        board.goto(learner.url())
        study.serve_in_thread(folder / "east")
        board.locator("#owners tbody tr", has_text="north").get_by_text("connected").wait_for(timeout=SECONDS)
        house.goto(owner.url())
        house.locator("#switch").click()
        house.locator("#paused").wait_for()
        house.locator("#compare").click()
        house.locator("#fit li").first.wait_for(timeout=SECONDS)
        study.serve_in_thread(folder / "west")
        board.locator("#shift").wait_for(timeout=SECONDS)
        board.get_by_text("exhausted").first.wait_for(timeout=SECONDS)
        what_if.goto(sliders.url)
        what_if.locator("#curve[data-complete=yes]").wait_for(timeout=SECONDS)
        for page, name in ((board, "learner"), (house, "owner"), (what_if, "what-if")):
            page.screenshot(path=out / f"{name}.png")
            Image.open(out / f"{name}.png").convert("RGB").quantize(COLOURS).save(out / f"{name}.png", optimize=True)
    finally:
        for process in (learner, owner):
            process.close()


def run():
    """Take them."""
    out, path = Path(sys.argv[1]), find_browser()
    if path is None:
        sys.exit(MISSING)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["COPRIV_REGISTRY"] = f"{folder}/registry"
        browser = playwright.chromium.launch(executable_path=path, args=["--headless", "--no-sandbox", "--disable-gpu"])
        take(Path(folder), out, browser)
        browser.close()


if __name__ == "__main__":
    run()
    os._exit(0)  # owners in threads wait for a study that does not end
