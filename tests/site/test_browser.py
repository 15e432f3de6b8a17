"""The site in a real browser: quiet, legible, by keyboard, on a phone. Screenshots go to artefacts/."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.conftest import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PAGES = (
    "index.html",
    "tutorials/grad-cam.html",
    "tutorials/photograph.html",
    "theory/index.html",
    "theory/tight-bound.html",
    "theory/trees.html",
    "api/certify.html",
    "compare.html",
    "faq.html",
    "results/leaderboard.html",
)
CONTRAST, CUT = ((Path(__file__).parent / name).read_text() for name in ("contrast.js", "cut.js"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address(site) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium, or `make browser`")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """A page of a browser; console errors and requests to anybody else fail the test."""
    problems, contexts = [], []

    def visit(width: int = 1280, height: int = 900, scheme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda failure: problems.append(str(failure)))
        page.on(
            "request", lambda one: None if one.url.startswith((address, "data:", "blob:")) else problems.append(one.url)
        )
        page.on("response", lambda one: problems.append(f"{one.status} {one.url}") if one.status >= 400 else None)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


def artefact(page: str, width: int, scheme: str) -> Path:
    folder = ROOT / "artefacts" / "site"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{page.removesuffix('.html').replace('/', '-')}-{width}-{scheme}.png"


@pytest.mark.parametrize(
    ("width", "scheme"),
    [*(pytest.param(1280, scheme, marks=pytest.mark.slow) for scheme in ("light", "dark")), (390, "light")],
)
def test_pages_are_quiet_legible_and_whole(width, scheme, visit, address) -> None:
    page = visit(width, 844 if width < 500 else 900, scheme)
    for name in PAGES:
        page.goto(address + name)
        page.wait_for_function("document.querySelector('.md-header')")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CUT) == [], name
        assert page.evaluate(CONTRAST) == [], name
        assert page.evaluate("document.querySelectorAll('h1').length") == 1, name
        assert page.evaluate("[...document.images].filter((e) => !e.alt || !e.naturalWidth).length") == 0, name
        page.screenshot(path=artefact(name, width, scheme))
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground.strip("rgb()").split(", "))) < 200) == (scheme == "dark")


def test_scrolling_tables_show_that_they_scroll(visit, address) -> None:
    page = visit(390, 844)
    page.goto(address + "results/leaderboard.html")
    page.wait_for_selector(".md-typeset__scrollwrap")
    wrap = page.locator(".md-typeset__scrollwrap").first
    assert page.evaluate("(e) => e.scrollWidth > e.clientWidth", wrap.element_handle())
    assert page.evaluate("(e) => getComputedStyle(e).backgroundImage", wrap.element_handle()).count("gradient") == 4


def test_grad_cam_by_keyboard(visit, address) -> None:
    """From the landing page with Tab and Enter alone."""
    page = visit()
    page.goto(address + "index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.md-skip')")
    for _ in range(25):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").strip() == "Grad-CAM of your own model":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "focus must be seen"
    page.keyboard.press("Enter")
    page.wait_for_url("**/tutorials/grad-cam.html")
    assert "Certify Grad-CAM" in page.inner_text("h1")


def test_search_finds_without_network(visit, address) -> None:
    page = visit()
    page.goto(address + "index.html")
    page.keyboard.press("/")
    page.keyboard.type("denoiser")
    page.wait_for_selector(".md-search-result__item")
    assert "enoiser" in page.inner_text(".md-search-result__list")


def test_pages_open_from_disk_too(browser, site) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto((site / "index.html").as_uri())
    page.click("article >> text=Grad-CAM of your own model")
    assert page.url.endswith("tutorials/grad-cam.html")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
