"""The page of a table's tolerances: reasons in raw values, searchable, safe, fit for a phone and for paper."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from attribound.report.columns.cards import make_card
from attribound.report.columns.page import _kind, render
from attribound.report.page import write_report
from attribound.runs import Store
from attribound.runs.columns_setup import prepare_columns
from attribound.runs.engines import Local
from attribound.runs.records import encode
from attribound.runs.runner import run
from attribound.runs.tasks import Outcome
from attribound.tolerances.columns.record import Asked, Called, ColumnsRecord
from tests.report.conftest import CREDIT, EVIL


@pytest.fixture(scope="module")
def page(credit) -> Path:
    return write_report(credit)


def test_the_page_speaks_of_reasons(credit, page) -> None:
    text = page.read_text()
    with Store.read_any(credit) as store:
        records = list(store.only(ColumnsRecord))
    held = sum(one.together.size > 0.25 for one in records)
    assert f"For {held} of 8 applicants, the first reason stays first under every change of up to 0.25" in text
    cards = re.findall(r'data-place="(\d+)" data-item="(\d+)"', text)
    fragile = sorted(records, key=lambda one: (one.together.size, one.item))
    assert [int(item) for _, item in cards] == [one.item for one in fragile]
    assert "checking account" in text
    assert "9,271 DM" in text
    assert "does not change" in text
    assert "cosine" not in text.lower()
    assert "<img" not in text


def test_what_cards_say_is_what_is_proved(credit, page) -> None:
    """Every interval on the page lies within the proved one, in the row's own values."""
    text = page.read_text()
    with Store.read_any(credit) as store:
        for one in store.only(ColumnsRecord):
            low, high = one.parts[0].intervals[one.names.index("credit_amount")] or (None, None)
            card = text.partition(f'id="row-{one.item}"')[2].partition("</article>")[0]
            said = re.search(r"credit amount <span.*?<td>([^<]*DM)</td>", card, re.DOTALL)
            if said is None:
                continue
            for word, end in re.findall(r"(from|up to) ([\d,]+)", said[1]):
                number = float(end.replace(",", ""))
                assert number >= low if word == "from" else number <= high


def test_any_value_is_not_said_where_a_missing_one_breaks_it(credit) -> None:
    with Store.read_any(credit) as store:
        first = next(iter(store.only(ColumnsRecord)))
    count, moving = len(first.names), sum(unit > 0 for unit in first.units)
    for absent, text in ((False, "any but missing"), (True, "any"), (None, "any")):
        free = {"intervals": ((None, None),) * count, "alternatives": {}, "absent": (absent,) * count}
        record = msgspec.structs.replace(first, parts=(msgspec.structs.replace(first.parts[0], **free),))
        assert [line.text for line in make_card(record, {}).lines].count(text) == moving


def test_several_reasons_each_have_their_reach(tmp_path) -> None:
    config = msgspec.structs.replace(CREDIT, items=3, columns=Asked(keep="stays:3", size="count"))
    run(prepare_columns(config)[1], tmp_path / "run", Local(1))
    text = write_report(tmp_path / "run", tmp_path / "page.html").read_text()
    assert "each of the first 3 reasons stays among the 3 under any single changed answer" in text
    assert "stays for at least half of the applicants up to" in text
    assert text.count("Reason 3") == 1
    assert "up to 2 answers" in text


def test_the_command_repeats_what_was_asked(tmp_path) -> None:
    asked = Asked(keep="class", fixed=("age", "purpose"), missing=True, threshold=0.5)
    run(prepare_columns(msgspec.structs.replace(CREDIT, items=1, columns=asked))[1], tmp_path / "run", Local(1))
    text = write_report(tmp_path / "run", tmp_path / "page.html").read_text()
    made = re.search(r"Made by <code>(.*?)</code>", text)
    assert made is not None
    assert "--keep class --size l2 --fixed age,purpose --whole " in made[1]
    assert made[1].endswith("--threshold 0.5 --missing --items 1 --out run")


def test_names_from_files_cannot_become_markup(credit, tmp_path) -> None:
    with Store.read_any(credit) as store:
        config, records = store.config, list(store.only(ColumnsRecord))
    asked = msgspec.structs.replace(config.columns, noun=EVIL, called={"age": Called(title=EVIL)}, classes=(EVIL, EVIL))
    other = msgspec.structs.replace(config, columns=asked)
    with Store.create(tmp_path / "run", other) as store:
        for one in records:
            store.add(Outcome(one.item, msgspec.structs.replace(one, asked=asked)))
    assert EVIL not in write_report(tmp_path / "run").read_text()


def test_a_forged_record_proves_nothing(credit, tmp_path) -> None:
    with Store.read_any(credit) as store:
        config, first = store.config, next(iter(store.only(ColumnsRecord)))
    forged = msgspec.structs.replace(
        first, parts=tuple(msgspec.structs.replace(one, reach=None) for one in first.parts)
    )
    with Store.create(tmp_path / "run", config) as store:
        store.add(Outcome(first.item, forged))
        text = render(store)
    assert "1 record is doubtful and counts as proving nothing" in text
    assert "For 0 of 1 applicants" in text
    assert json.loads(encode(forged))["parts"][0]["reach"] is None


@pytest.mark.parametrize(("reaches", "kind"), [([0.1, 0.2], "nothing"), ([0.1, 0.3], "proved"), ([], "nothing")])
def test_a_verdict_that_holds_for_nobody_is_not_green(reaches: list[float], kind: str) -> None:
    summary = SimpleNamespace(doubtful={}, asked=SimpleNamespace(size="l2"))
    assert _kind(summary, reaches) == kind


# --- in a browser


def test_search_order_and_answer(open_page, page) -> None:
    shown = open_page(page)
    assert shown.inner_text("#found") == "8 of 8 shown"
    shown.fill("#search", "9,271 dm")
    assert shown.inner_text("#found") == "1 of 8 shown"
    assert shown.locator(".applicant:visible h3").inner_text().startswith("Applicant 1: bad risk")
    shown.fill("#search", "")
    shown.select_option("#answer", "bad risk")
    assert 0 < shown.locator(".applicant:visible").count() < 8
    shown.select_option("#answer", "")
    shown.select_option("#order", "item")
    items = shown.locator(".applicant").evaluate_all("cards => cards.map((card) => Number(card.dataset.item))")
    assert items == sorted(items)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_cut_off(open_page, page, width, scheme) -> None:
    shown = open_page(page, width=width, scheme=scheme)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.locator(".applicant summary").first.press("Enter")
    assert "It does not say that the model is right." in shown.locator(".letter").first.inner_text()
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_paper_shows_every_applicant(open_page, page) -> None:
    shown = open_page(page)
    shown.emulate_media(media="print")
    assert shown.locator(".applicant:visible").count() == 8
    assert not shown.locator(".filters").is_visible()
