"""A real browser for tests, offline: opens files, and notes whatever it should not have heard of."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

ARTEFACTS = Path(__file__).parents[2] / "artefacts"
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="package")
def browser() -> Iterator:
    """One for all tests of reports. Not of the session: its event loop is of no use to other tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium, or `make browser`")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Open a file offline; console errors, failures and requests to anything but the file fail the test."""
    problems: list[str] = []
    contexts = []

    def open_page(path: Path, width: int = 1200, height: int = 900, scheme: str = "light", ready: bool = True):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        address = path.resolve().as_uri()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda failure: problems.append(str(failure)))
        page.on("dialog", lambda dialog: (problems.append(f"a script spoke: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda r: None if r.url.startswith(("data:", "blob:", address)) else problems.append(r.url))
        page.goto(address)
        if ready:
            page.wait_for_selector("html[data-ready=yes]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def artefact(name: str) -> str:
    ARTEFACTS.mkdir(exist_ok=True)
    return str(ARTEFACTS / name)
