"""Certificates of tables speak of reasons: the headline, and sentences on every card."""

import re

import pytest

from attribound.certificates.record import StatedReason
from attribound.certification.reopen import Opener
from attribound.data import open_data
from attribound.errors import StoredDataError
from attribound.report.page.page import render
from attribound.report.shared.reasons import headline, staying
from attribound.runs import RunConfig, Store
from attribound.runs.check import check_run
from attribound.runs.copies import copy_run
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from attribound.runs.summary import _orders


@pytest.fixture(scope="module")
def smoothed(tmp_path_factory):
    """Three applicants, their reasons certified with noise."""
    folder = tmp_path_factory.mktemp("reasons") / "run"
    config = RunConfig(
        model="credit-forest",
        data="credit-sample",
        attribution="treeshap",
        noise="gaussian:0.5",
        samples=512,
        items=3,
        asked={"reasons": 2},
    )
    run(prepare(config)[1], folder, Local(1))
    return folder


def test_the_page_leads_with_reasons(smoothed) -> None:
    with Store.read(smoothed) as store:
        text, records = render(store), list(store.records())
    assert "How far do the reasons hold?" in text
    lead = re.search(r'<p class="verdict \w+">([^<]+)</p>', text)
    assert lead is not None
    said = re.search(r"(all|1) of the first 2 reasons provably stay .* up to epsilon (\d+\.\d+)", lead[1])
    assert said is not None
    needed = 2 if said[1] == "all" else 1
    reached = [sorted((one.stays for one in record.stated_reasons), reverse=True)[needed - 1] for record in records]
    assert sum(reach >= float(said[2]) for reach in reached) >= 2, "at least half of three"
    names = [one.name for record in records for one in record.stated_reasons if one.stays > 0]
    book = open_data("credit-sample").codebook
    assert "status" in names
    assert all(f"{book.title(name)} stays among the first 2 reasons up to epsilon" in text for name in names)


def test_cards_name_columns_and_cells_as_the_codebook_does(smoothed, tmp_path) -> None:
    data = open_data("credit-sample")
    with Store.read(smoothed) as store:
        text = render(store)
    for name in ("status", "credit_amount", "duration"):
        cell = data.codebook[name].text(float(data.row(0)[data.features.index(name)]))
        assert f'"{data.codebook.title(name)}: {cell}"' in text
    copy_run(smoothed, tmp_path / "run")
    with Store.append(tmp_path / "run") as store:
        book = store.recall("codebook")
        book["columns"]["status"]["title"] = "harmless"
        store.note("codebook", book)
    found = check_run(tmp_path / "run", opener=Opener(data="credit-sample"))
    assert "its codebook is not that of credit-sample" in str(found.whole)
    with Store.append(tmp_path / "run") as store:
        store.note("codebook", {"columns": 3})
    with Store.read(tmp_path / "run") as store, pytest.raises(StoredDataError, match="codebook cannot be read"):
        render(store)


def test_sentences_of_one_input() -> None:
    said = staying({3: 0.12345, 1: 0.0, 0: 0.5}, ["a", "b", "c", "d"], assumed=False)
    assert said == [
        "a stays among the first 3 reasons up to epsilon 0.500",
        "d stays among the first 3 reasons up to epsilon 0.123",
        "b is not proved to stay",
    ]
    assert staying({0: 0.5}, ["a"], assumed=True)[0].startswith("ASSUMED: a stays")


def test_nothing_proved_is_said(smoothed) -> None:
    from attribound.report.shared.collect import collect

    with Store.read(smoothed) as store:
        found = collect(store, None)
    nothing = _orders([(StatedReason(0, "a", 0.0, 0.0), StatedReason(1, "b", 0.0, 0.0))])
    object.__setattr__(found.summary, "orders", nothing)
    assert headline(found, "input").endswith("none of the first 2 reasons is proved to stay among the 2.")
    object.__setattr__(found.summary, "orders", None)
    assert headline(found, "input") == ""
