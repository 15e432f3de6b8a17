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


@pytest.fixture(scope="package")
def window(browser) -> Iterator:
    """One offline page for all tests: a new one costs four times what is opened in it. Reports store nothing."""
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def open_page(window):
    """Open a file in place of the last; console errors, failures and requests to anything but the file fail a test."""
    problems: list[str] = []
    files: list[str] = []
    heard = {
        "console": lambda message: problems.append(message.text) if message.type == "error" else None,
        "pageerror": lambda failure: problems.append(str(failure)),
        "dialog": lambda dialog: (problems.append(f"a script spoke: {dialog.message}"), dialog.dismiss()),
        "request": lambda r: None if r.url.startswith(("data:", "blob:", files[-1])) else problems.append(r.url),
    }

    def open_page(path: Path, width: int = 1200, height: int = 900, scheme: str = "light", ready: bool = True):
        files.append(path.resolve().as_uri())
        window.set_viewport_size({"width": width, "height": height})
        window.emulate_media(media="null", color_scheme=scheme)
        window.mouse.move(0, 0)
        window.goto(files[-1])
        if ready:
            window.wait_for_selector("html[data-ready=yes]")
        return window

    for event, hear in heard.items():
        window.on(event, hear)
    yield open_page
    window.goto("about:blank")
    for event, hear in heard.items():
        window.remove_listener(event, hear)
    assert problems == []


def artefact(name: str) -> str:
    ARTEFACTS.mkdir(exist_ok=True)
    return str(ARTEFACTS / name)
