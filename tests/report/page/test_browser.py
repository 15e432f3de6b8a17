"""The page in a real browser: opens from disk, answers, never calls anybody. Screenshots go to artefacts/."""

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest

from attribound.certificates.record import Record
from attribound.report.page import write_report
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from tests.report.browsing import artefact
from tests.report.conftest import EVIL, changed, copies, error, finding, scan_of, write_run


@pytest.fixture(scope="module")
def whole(tmp_path_factory, template) -> Path:
    """Forty images, two of them failed, three attacked, noise levels scanned, with nasty names."""
    outcomes = list(copies(template[1], 38))
    path = write_run(
        tmp_path_factory.mktemp("whole") / "run",
        msgspec.structs.replace(template[0], items=40),
        [*outcomes, error(38, f"=cannot read {EVIL}"), error(39, "@SUM(1)")],
        classes=[f"{EVIL}{digit}" if digit == 7 else f"digit {digit}" for digit in range(10)],
        findings=[finding(one) for one in outcomes[:3]],
    )
    return write_report(path, scan=scan_of(template[0]))


def slide(page, name: str, key: str, times: int = 1) -> None:
    page.focus(f"#{name}")
    for _ in range(times):
        page.keyboard.press(key)


def mark(page) -> float:
    return float(page.get_attribute("#chart-fractions .mark", "x1"))


def test_sliders_change_verdict_table_gallery_and_chart(whole, open_page) -> None:
    page = open_page(whole)
    first = page.inner_text("#verdict")
    assert "of 40 images" in first
    assert first in whole.read_text(encoding="utf-8").replace("&#39;", "'")
    assert page.inner_text("#seen") in whole.read_text(encoding="utf-8")
    before = page.inner_text("#table tbody tr:first-child td:nth-child(5)")
    place = mark(page)
    slide(page, "epsilon", "ArrowRight", 12)
    second = page.inner_text("#verdict")
    assert second != first
    count = int(second.split()[1]) if second.startswith("For ") and second.split()[1].isdigit() else 0
    page.select_option("#status", "holds")
    assert page.inner_text("#count") == f"{count} of 40 images"
    page.select_option("#status", "")
    assert mark(page) > place
    assert page.locator("#cards .pill.no").count() > 0
    slide(page, "cosine", "ArrowRight", 2)
    assert "cosine 0.9" in page.inner_text("#verdict")
    assert "cosine 0.9" in page.inner_text("#budget-head")
    assert page.inner_text("#table tbody tr:first-child td:nth-child(5)") < before
    assert "cosine 0.9" in page.inner_text("#cards li:first-child")
    slide(page, "epsilon", "End")
    assert "of the 40 images" in page.inner_text("#verdict") or "of 40 images" in page.inner_text("#verdict")


def test_the_legend_names_every_cosine_once(whole, open_page) -> None:
    page = open_page(whole)
    names = page.locator("#chart-fractions .key li").all_inner_texts()
    cosines = [name.removeprefix("chosen: ") for name in names]
    assert len(set(cosines)) == len(cosines)
    assert "chosen: cosine 0.8" in names


def test_shares_in_tips_are_rounded_down(synthesise, template, open_page) -> None:
    """9,996 of 10,000 are never shown as 100.0 %: here 2,499 of 2,500."""
    page = open_page(write_report(synthesise([*copies(template[1], 2499, pictures=0), error(2499)])))
    page.locator("#chart-fractions .drawing svg").hover(position={"x": 80, "y": 100})
    tip = page.inner_text("#chart-fractions .tip")
    assert "99.9 %" in tip
    assert "100.0 %" not in tip


def test_cautions_follow_the_cosine(synthesise, template, open_page) -> None:
    poor = [
        type(one)(one.item, msgspec.structs.replace(one.record, fidelity=0.85), one.pictures) for one in template[1]
    ]
    page = open_page(write_report(synthesise(poor)))
    said = page.locator(".caution", has_text="cosine with the plain map")
    assert not said.is_visible()
    slide(page, "epsilon", "Home")
    slide(page, "cosine", "ArrowRight", 2)
    assert said.is_visible()


def test_filter_and_sort(whole, open_page) -> None:
    page = open_page(whole)

    def column(number: int) -> list[str]:
        return page.locator(f"#table tbody tr td:nth-child({number})").all_inner_texts()

    page.select_option("#sort", "high")
    budgets = [float(text) for text in column(5)]
    assert budgets == sorted(budgets, reverse=True)
    cards = page.locator("#cards li").first.get_attribute("data-row")
    assert cards == page.locator("#table tbody tr").first.get_attribute("data-row")
    page.select_option("#sort", "low")
    assert column(4)[:2] == ["error", "error"]
    page.select_option("#class", "7")
    assert set(column(2)) == {f"{EVIL}7"}
    page.select_option("#class", "")
    page.select_option("#status", "=error")
    assert column(10) == [f"=cannot read {EVIL}", "@SUM(1)"]
    assert page.inner_text("#count") == "2 of 40 images"
    page.select_option("#status", "attacked")
    assert len(column(4)) == 3
    page.select_option("#status", "")
    page.click("#forth")
    assert page.inner_text("#page") == "Page 2 of 2"
    assert len(column(4)) == 15
    assert page.locator("#cards li").count() == 24
    page.click("#more")
    assert page.locator("#cards li").count() == 38


def test_enlarging_with_the_keyboard(whole, open_page) -> None:
    page = open_page(whole)
    page.focus("#cards li:first-child button.strip")
    page.keyboard.press("Enter")
    page.wait_for_selector("#large-curve .drawing svg")
    assert page.inner_text("#large-title") == f"Image 0: {EVIL}7"
    assert "worst cosine found 0.968" in page.inner_text("#large-text")
    assert page.locator("#large-pictures img").count() == 6
    assert "l2 size" in page.inner_text("#large-pictures")
    page.screenshot(path=artefact("dialog.png"))
    page.click("#after")
    assert page.inner_text("#large-title").startswith("Image 1")
    page.keyboard.press("Escape")
    assert not page.evaluate("document.getElementById('large').open")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Enlarge Image 0: {EVIL}7"


def test_everything_has_a_name(whole, open_page) -> None:
    page = open_page(whole)
    nameless = """() => [...document.querySelectorAll("img, input, select, button, [role=img], [role=region]")].filter(
        (e) => !(e.alt || e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim()))
        .map((e) => e.outerHTML)"""
    assert page.evaluate(nameless) == []
    assert page.evaluate("[...document.querySelectorAll('h1')].length") == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_downloads(whole, open_page) -> None:
    page = open_page(whole)
    found = {}
    for kind in ("csv", "json"):
        with page.expect_download() as waiting:
            page.click(f"#{kind}")
        found[kind] = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert waiting.value.suggested_filename == f"run.{kind}"
    rows = list(csv.DictReader(io.StringIO(found["csv"])))
    records = json.loads(found["json"])["records"]
    with Store.read(whole.parent) as store:
        stored = list(store.records())
    assert len(rows) == len(records) == 40
    for row, record, truth in zip(rows[:38], records, stored, strict=False):
        assert float(row["max_epsilon.0.8"]) == record["max_epsilon"]["0.8"] == truth.max_epsilon["0.8"]
        assert row["input_sha256"] == row["subject.input_sha256"] == truth.input_sha256
        assert record["noise"]["sigma"] == truth.noise.sigma
    assert records[0]["attack"]["method"] == "direct"
    assert rows[38]["message"] == f"'=cannot read {EVIL}"
    assert rows[39]["message"] == "'@SUM(1)"
    assert records[39]["message"] == "@SUM(1)"


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("light", 1200, 900, "light"),
        ("dark", 1200, 900, "dark"),
        ("phone", 390, 844, "dark"),
        ("tiny", 320, 640, "light"),
    ],
)
def test_it_fits_and_follows_the_scheme(name, width, height, scheme, whole, open_page) -> None:
    page = open_page(whole, width, height, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(17, 22, 29)") == (scheme == "dark")
    ink = page.evaluate("getComputedStyle(document.querySelector('#chart-fractions svg text')).fill")
    assert ink == ("rgb(232, 237, 243)" if scheme == "dark" else "rgb(27, 36, 48)")
    page.screenshot(path=artefact(f"{name}.png"))
    page.screenshot(path=artefact(f"{name}-whole.png"), full_page=True)


def test_it_prints_in_black_on_white(whole, open_page) -> None:
    page = open_page(whole, scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible("nav")
    assert page.evaluate("getComputedStyle(document.querySelector('#chart-fractions svg text')).fill") == "rgb(0, 0, 0)"
    wide = "[...document.querySelectorAll('.scroll')].filter((e) => getComputedStyle(e).overflowX !== 'visible').length"
    assert page.evaluate(wide) == 0


def test_phone_tables_are_stacked_or_show_that_they_scroll(whole, open_page) -> None:
    page = open_page(whole, 390, 844)
    cell = page.locator("#table tbody tr:first-child td").nth(3)
    assert (
        page.evaluate("(e) => getComputedStyle(e, '::before').content", cell.element_handle()) == '"certified epsilon"'
    )
    assert page.locator("#table tbody tr:first-child").bounding_box()["width"] <= 390
    row = page.locator("table.numbers tbody tr:first-child")
    assert row.bounding_box()["width"] <= 390
    heads = row.locator("td").evaluate_all("(all) => all.map((e) => getComputedStyle(e, '::before').content)")
    assert heads[1] == '"90 % reach"'
    wide = open_page(whole, 700, 844).locator("#table").element_handle()
    cue = wide.evaluate("(e) => getComputedStyle(e.parentElement).backgroundImage")
    assert cue.count("linear-gradient") == 4, "where a table scrolls, shadows show it"


def test_card_titles_open_the_record(whole, open_page) -> None:
    page = open_page(whole)
    page.click("#cards li:nth-child(2) h3 button")
    assert page.inner_text("#large-title").startswith("Image 1")


def test_cell_borders_are_drawn_on_request(celled, tmp_path, open_page) -> None:
    page = open_page(write_report(celled, tmp_path / "celled.html"))
    stack = page.locator("#cards li:first-child .stack").first
    assert "laid over the input" in stack.get_attribute("aria-label")
    photo, over = (stack.locator("img").nth(number).bounding_box() for number in (0, 1))
    assert photo == over
    assert not stack.locator(".borders").is_visible()
    page.check("#borders")
    assert stack.locator(".borders").is_visible()
    page.screenshot(path=artefact("celled.png"), full_page=True)


@pytest.mark.parametrize("case", ["empty", "errors", "one", "violated"])
def test_odd_runs_open(case, synthesise, template, open_page) -> None:
    outcomes = {"empty": [], "errors": [error(0), error(1)], "one": template[1][:1]}.get(case, template[1])
    found = [finding(outcomes[0], worst=0.4, worst_most=0.5)] if case == "violated" else []
    page = open_page(write_report(synthesise(outcomes, findings=found)))
    page.screenshot(path=artefact(f"{case}.png"))
    assert page.inner_text("#verdict")
    assert (page.locator(".alarm[role=alert]").count() > 0) == (case == "violated")


def test_the_trust_mask_follows_the_sliders(celled, tmp_path, open_page) -> None:
    page = open_page(write_report(celled, tmp_path / "celled.html"))

    def kinds(place: str = "#cards li:first-child .mask") -> list[int]:
        return [page.locator(f"{place} rect.{kind}").count() for kind in ("hot", "cold", "open")]

    slide(page, "epsilon", "Home")
    small = kinds()
    assert sum(small) == 49
    assert min(small[:2]) > 0
    slide(page, "epsilon", "End")
    assert kinds()[2] > small[2]
    slide(page, "epsilon", "Home")
    page.select_option("#fraction", "0.3")
    assert kinds()[0] < small[0]
    label = page.get_attribute("#cards li:first-child .mask .stack", "aria-label")
    assert f"{kinds()[0]} cells proved hot, {kinds()[1]} proved cold, {kinds()[2]} unproved" in label
    looks = [
        page.evaluate(f"getComputedStyle(document.querySelector('.marks .{kind}')).fill")
        for kind in ("hot", "cold", "open")
    ]
    assert len(set(looks)) == 3
    assert "hatch" in looks[2]
    page.click("#cards li:first-child h3 button")
    before = kinds("#large-pictures .mask")
    slide(page, "large-epsilon", "End")
    assert kinds("#large-pictures .mask")[2] > before[2]
    assert page.input_value("#epsilon") == page.input_value("#large-epsilon")
    page.screenshot(path=artefact("mask.png"))


def test_verdict_cards_rows_and_filters_count_the_same(synthesise, template, open_page) -> None:
    """Where the first sentence speaks of class and map, nothing on the page is called proved without its class."""
    weak = [Outcome(one.item, barely_voted(one.record), one.pictures) for one in template[1][::2]]
    page = open_page(write_report(synthesise([*weak, *template[1][1::2]])))
    slide(page, "epsilon", "Home")
    counts = []
    for _ in range(8):
        counts.append(int(page.inner_text("#verdict").split()[1]))
        assert page.locator("#cards .pill.yes").count() == counts[-1]
        assert page.locator("#table tbody td:nth-child(7)").all_inner_texts().count("yes") == counts[-1]
        page.select_option("#status", "holds")
        assert page.inner_text("#count") == f"{counts[-1]} of 4 images"
        page.select_option("#status", "turns")
        assert page.locator("#cards .pill", has_text="class not certified here").count() == int(
            page.inner_text("#count").split()[0]
        )
        page.select_option("#status", "")
        slide(page, "epsilon", "ArrowRight", 4)
    assert 2 in counts, "two classes are hardly proved to stay"


def barely_voted(record: Record) -> Record:
    """The same explanation of an input whose class nearly half of the noisy copies do not get."""
    facts = {name: dict(fact) for name, fact in record.facts.items()}
    facts["majority"]["count"] = round(0.62 * facts["majority"]["tested"])
    return changed(record, facts=facts)
