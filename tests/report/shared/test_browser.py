"""All pages in a real browser: no outside request, readable contrast, the keyboard, phones and paper."""

import itertools
import re

import msgspec
import numpy as np
import pytest

from attribound.report.auditor import page as auditor
from attribound.report.drift import write_page
from attribound.report.page import write_report
from attribound.report.shared import printing
from attribound.runs import Store
from attribound.runs.compare import compare
from attribound.runs.tasks import Outcome
from attribound.runs.tolerance_compare import compare_tolerances
from tests.report.browsing import artefact
from tests.report.conftest import EVIL, error, finding, write_run

# Every visible text against what is painted behind it; large text (24 px, or bold 18.66 px) needs 3, other text 4.5.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const channel = (value) => { const v = value / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (!own || !box.width || !box.height || element.closest("svg, [disabled]")) continue;
    const one = luminance(parse(style.color)), two = luminance(behind(element));
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${element.className} ${element.textContent}`);
  }
  return found;
}"""
# Tables and pictures that reach beyond what can be seen, unless they scroll and show it.
CUT = """() => [...document.querySelectorAll("table, img, svg, pre, dl, p")].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width && box.right > innerWidth + 0.5 && !element.closest(".skip");
}).map((element) => element.outerHTML.slice(0, 80))"""


FILM, COLUMNS, REACHES = "film-report", "columns-report", "reaches-compare"
REACHABLE = (
    "[...document.querySelectorAll('a[href], button:enabled, input, select, summary, [tabindex=\"0\"]')]"
    ".filter((e) => (e.offsetParent || e.className === 'skip') && !e.closest('dialog'))"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory, template, celled, tolerated, credit):
    """The pages of a run with pictures, masks, attacks, errors and nasty names, of one with features, of tolerances."""
    folder = tmp_path_factory.mktemp("pages")
    with Store.read(celled) as store:
        config, outcomes = store.config, [Outcome(i, store.record(i), store.pictures(i)) for i in store.done()]
    findings = [finding(outcomes[1]), finding(outcomes[2], worst=0.2, worst_most=0.3)]
    shown = [*outcomes, error(4, EVIL + " broken" * 30)]
    rich = write_run(folder / "rich", config, shown, findings=findings, classes=["a long name of a class " * 3] * 10)
    flat = [Outcome(one.item, one.record, {"smoothed": one.pictures["smoothed"].ravel()}) for one in outcomes]
    names = [f"a long name of feature {number}" for number in range(49)]
    listed = write_run(folder / "listed", msgspec.structs.replace(config, data="csv:x"), flat, features=names)
    found = {
        FILM: write_report(tolerated, folder / "film.html"),
        COLUMNS: write_report(credit, folder / "columns.html"),
        REACHES: write_page(compare_tolerances(tolerated, tolerated), (tolerated, tolerated), folder / "reaches.html"),
    }
    for run in (rich, listed):
        found[f"{run.name}-report"] = write_report(run)
        with Store.read(run) as store:
            (run / "audit.html").write_text(auditor.render(store, "A. Name"), encoding="utf-8")
        found[f"{run.name}-audit"] = run / "audit.html"
        found[f"{run.name}-compare"] = write_page(compare(run, celled), (run, celled), run / "compare.html")
    return found


NAMES = [*(f"{run}-{page}" for run in ("rich", "listed") for page in ("report", "audit", "compare"))]
NAMES += [FILM, COLUMNS, REACHES]
RICH = [*NAMES[:3], FILM, COLUMNS, REACHES]


def opened(open_page, pages, name: str, width: int = 1200, scheme: str = "light"):
    return open_page(pages[name], width, 900, scheme, ready=name.endswith("report"))


@pytest.mark.parametrize("name", NAMES)
def test_every_text_can_be_read(name, pages, open_page) -> None:
    """AA contrast on screens, light and dark, and on paper, whatever the screen shows."""
    for scheme in ("light", "dark"):
        page = opened(open_page, pages, name, scheme=scheme)
        assert page.evaluate(CONTRAST) == []
    page.emulate_media(media="print")
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("name", NAMES)
def test_phones_and_those_who_do_not_see_get_everything(name, pages, open_page) -> None:
    """Nothing is cut at 390 pixels, headings do not jump, everything has a name."""
    page = opened(open_page, pages, name, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(CUT) == []
    assert page.evaluate(count(".scroll", "e.scrollWidth > e.clientWidth + 1")) == 0, "nothing is scrolled sideways"
    if name.startswith("rich"):
        page.screenshot(path=artefact(f"{name}-phone.png"), full_page=True)
    levels = page.evaluate(
        "[...document.querySelectorAll('main h1, main h2, main h3')].map((e) => Number(e.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    nameless = "[...document.querySelectorAll('img, [role=img], [role=region]')].filter((e) => e.alt === undefined && "
    assert page.evaluate(nameless + "!e.getAttribute('aria-label')).length") == 0
    assert page.evaluate("[...document.querySelectorAll('img')].filter((e) => !e.hasAttribute('alt')).length") == 0


@pytest.mark.parametrize("name", RICH)
def test_the_keyboard_reaches_everything_in_order(name, pages, open_page) -> None:
    page = opened(open_page, pages, name)
    wanted = page.evaluate(REACHABLE + ".length")
    tops = []
    for _ in range(wanted):
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is seen"
        tops.append(page.evaluate("document.activeElement.getBoundingClientRect().top + scrollY"))
        page.evaluate("document.activeElement.dataset.seen = 'yes'")
        if len(tops) == 1:
            assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate(REACHABLE + ".filter((e) => !e.dataset.seen).map((e) => e.outerHTML.slice(0, 99))") == []
    assert np.all(np.diff(tops[1:]) > -200), "the order of the keyboard is the order of the page"


@pytest.mark.parametrize("name", RICH)
def test_paper_has_no_scrollbar_and_no_control(name, pages, open_page) -> None:
    page = opened(open_page, pages, name, width=700)
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.evaluate(count("button, input, nav", "e.offsetParent && !e.closest('.cards, table')")) == 0
    assert page.evaluate(count("h2, h3, caption", "getComputedStyle(e).breakAfter !== 'avoid'")) == 0
    assert page.evaluate(count(".scroll", "getComputedStyle(e).overflowX !== 'visible'")) == 0


def count(selector: str, condition: str) -> str:
    return f"[...document.querySelectorAll('{selector}')].filter((e) => {condition}).length"


def test_pdf_has_pages(pages, browser, tmp_path) -> None:
    text = pages["rich-audit"].read_text(encoding="utf-8")
    out = printing.print_pdf(text, tmp_path / "audit.pdf")
    content = out.read_bytes()
    assert content.startswith(b"%PDF-")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 20
