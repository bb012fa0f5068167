"""A browser, looked for or installed; pages whose every message, request and violation is collected; a real study.

Without a browser these tests fail: a page that nobody has looked at is not tested.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


@pytest.fixture(scope="module")
def browser():
    """One a module, and not longer: while it lives, an event loop runs in this thread, and nobody can start another."""
    from find_browser import MISSING, find_browser

    path = find_browser()
    if path is None:
        pytest.fail(MISSING)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


class Watched:
    """A page, and everything that should not have happened on it."""

    def __init__(self, context, origin):
        self.page, self._origin, self.strange = context.new_page(), origin, []
        self.page.on("console", lambda message: self.strange.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda problem: self.strange.append(f"error: {problem}"))
        self.page.on("request", self._look)
        self.page.on("dialog", lambda dialog: self.strange.append(f"dialog: {dialog.message}"))

    def _look(self, request):
        if not request.url.startswith((self._origin, "data:")):
            self.strange.append(f"request: {request.url}")

    def audit(self):
        """What axe-core calls serious or worse; evaluated from outside, so that no policy has to be opened for it."""
        self.page.evaluate((HERE / "axe" / "axe.min.js").read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            (each["id"], each["impact"], [node["html"][:200] for node in each["nodes"][:3]])
            for each in found["violations"]
            if each["impact"] in {"serious", "critical"}
        ]


@pytest.fixture
def open_page(browser, request):
    """Opens addresses; when the test ends, nothing strange may have happened on any of them."""
    opened: list[Watched] = []
    contexts = []

    def call(url, **options) -> Watched:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        context.add_init_script(WATCH)
        contexts.append(context)
        watched = Watched(context, url.split("/", 3)[0] + "//" + url.split("/", 3)[2])
        opened.append(watched)
        watched.page.goto(url)
        return watched

    yield call
    strange = [words for watched in opened for words in watched.strange]
    for context in contexts:
        context.close()
    assert strange == []


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Iterator[Path]:
    """Where screenshots go: $COPRIV_SCREENSHOTS, or a folder of the test."""
    folder = Path(os.environ.get("COPRIV_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
