"""Drift between two runs: matching, intervals that hold, and no number where nothing is known."""

import json
import shutil
import sqlite3
from pathlib import Path

import msgspec
import numpy as np
import pytest

from attribound import cli
from attribound.certificates.record import Failure
from attribound.errors import StoredDataError
from attribound.report.drift import write_page
from attribound.runs import Store
from attribound.runs.compare import compare
from attribound.runs.engines import Local
from attribound.runs.runner import prepare
from attribound.runs.runner import run as certify
from attribound.runs.tasks import Outcome
from tests.report.conftest import finding
from tests.report.reading import Page
from tests.runs.conftest import CONFIG

EVIL = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("compare")
    base = msgspec.structs.replace(CONFIG, samples=512, items=3, pictures=3, maps=("pooled:7",))
    changes = {
        "one": {},
        "longer": {"samples": 1024, "seed": 5},
        "other": {"model": "mnist-cnn", "items": 2},
        "small": {"pictures": 0, "items": 1, "maps": ()},
        "assumed": {"bound": "assumed:1000.0", "items": 2},
    }
    for name, change in changes.items():
        certify(prepare(msgspec.structs.replace(base, **change))[1], folder / name, Local(1))
    return {name: folder / name for name in changes}


@pytest.fixture
def runs(made, tmp_path) -> dict[str, Path]:
    return {name: Path(shutil.copytree(path, tmp_path / name)) for name, path in made.items()}


def test_the_same_explanation_sampled_twice(runs) -> None:
    """Fewer and more draws of one explanation: the exact cosine is 1, and every interval must hold it."""
    found = compare(runs["one"], runs["longer"], 0.5)
    assert len(found.pairs) == 3
    assert found.counts["unchanged"] == 3
    for pair in found.pairs:
        least, most = pair.interval
        assert 0.5 < least < 1.0
        assert most == 1.0
        assert pair.alpha == 2 * CONFIG.alpha
        assert pair.epsilons["0.8"][1] > pair.epsilons["0.8"][0]
    assert "samples 512 -> 1024, seed 0 -> 5" in found.differences
    assert "all 3 hold at once with probability at least 99.4 %" in found.sentences[1]


def test_another_model_and_only_some_inputs(runs) -> None:
    found = compare(runs["longer"], runs["other"], 0.99)
    assert found.only == (1, 0)
    assert [pair.items for pair in found.pairs] == [(0, 0), (1, 1)]
    assert found.counts["changed"] >= 1
    measured = [_cosine(runs["longer"], runs["other"], pair.items[0]) for pair in found.pairs]
    for pair, cosine in zip(found.pairs, measured, strict=True):
        assert pair.interval[0] <= cosine <= pair.interval[1]
    again = compare(runs["other"], runs["longer"], 0.99)
    assert again.only == (0, 1)
    for pair, turned in zip(found.pairs, again.pairs, strict=True):
        assert turned.interval == pytest.approx(pair.interval)
    strict, loose = (compare(runs["longer"], runs["other"], cosine) for cosine in (0.99, 0.0))
    assert strict.counts["changed"] >= loose.counts["changed"]


def _cosine(first: Path, second: Path, item: int) -> float:
    maps = []
    for path in (first, second):
        with Store.read(path) as store:
            maps.append(store.pictures(item, "smoothed")["smoothed"].ravel())
    return float(maps[0] @ maps[1] / np.prod([np.linalg.norm(one) for one in maps]))


def replace(path: Path, item: int, **changes) -> None:
    with Store.append(path) as store:
        record = msgspec.structs.replace(store.record(item), **changes)
        store.add(Outcome(item, record))


def test_no_number_where_nothing_is_known(runs) -> None:
    with Store.append(runs["one"]) as store:
        record = store.record(0)
        store.add(Outcome(0, record, {"smoothed": 0.9 * store.pictures(0)["smoothed"]}))
    with Store.append(runs["one"]) as store:
        store.add(Outcome(2, Failure(item=2, message="broken")))
    found = compare(runs["one"], runs["longer"])
    assert found.counts["unknown"] == 1
    assert found.only == (1, 1)
    assert found.pairs[0].interval is None
    assert found.pairs[0].reason == "one: the stored map is not the one that the record is about"
    assumed = compare(runs["assumed"], runs["longer"])
    assert [pair.interval for pair in assumed.pairs] == [None, None]
    assert assumed.pairs[1].reason == "assumed: the limit is ASSUMED, so nothing is proved about the map"
    assert "Nothing is proved" in assumed.sentences[1]


def test_no_map_another_shape_and_a_changed_record(runs) -> None:
    found = compare(runs["small"], runs["one"])
    assert "the maps have different shapes: (1, 28, 28) and (7, 7)" in found.pairs[0].reason
    connection = sqlite3.connect(runs["one"] / "run.sqlite")
    with connection:
        connection.execute("DELETE FROM pictures WHERE item = 0")
        text = connection.execute("SELECT record FROM records WHERE item = 1").fetchone()[0]
        changed = text.replace('"seconds":', '"seconds":1', 1)
        connection.execute("UPDATE records SET record = ? WHERE item = 1", (changed,))
    connection.close()
    found = compare(runs["one"], runs["longer"])
    assert "the run kept no map of this input (certify --pictures keeps more)" in found.pairs[0].reason
    assert "its seal does not fit" in found.pairs[1].reason
    assert found.ordered[0].verdict != "unchanged"


def test_a_run_with_a_broken_certificate_says_nothing(runs) -> None:
    with Store.append(runs["longer"]) as store:
        store.add_finding(finding(Outcome(0, store.record(0)), worst=0.1, worst_most=0.2), {})
    found = compare(runs["one"], runs["longer"])
    assert found.counts["unknown"] == 3
    assert "longer: the record is of a run with a certificate that an attack broke" in found.pairs[2].reason
    assert found.medians["0.8"][0] > 0
    assert found.medians["0.8"][1] == 0.0, "what an attack broke certifies no epsilon"
    told = "longer certifies nothing for 3 of 3, whose epsilons count as 0: an attack broke a certificate of this run."
    assert told in found.sentences


def test_epsilons_under_an_assumed_limit_or_of_a_doubtful_record_are_not_called_certified(runs, tmp_path) -> None:
    for item in range(2):
        with Store.read(runs["one"]) as store:
            bound = msgspec.structs.replace(store.record(item).bound, kind="assumed")
        replace(runs["one"], item, bound=bound)
    replace(runs["one"], 2, alpha=0.5)
    found = compare(runs["one"], runs["longer"])
    assert [pair.epsilons["0.8"][0] for pair in found.pairs] == [0.0, 0.0, 0.0]
    assert found.to_json()["median_max_epsilon"]["0.8"][0] == 0.0
    assert found.medians["0.8"][1] > 0
    page = Page(write_page(found, (runs["one"], runs["longer"]), tmp_path / "page.html"))
    for told in (
        "one certifies nothing for 2 of 3, whose epsilons count as 0: the limit is ASSUMED.",
        "one certifies nothing for 1 of 3, whose epsilons count as 0: the record is doubtful.",
    ):
        assert told in found.sentences
        assert told in page.text


def test_nothing_in_common(runs, make) -> None:
    replace(runs["small"], 0, input_sha256="0" * 64)
    with pytest.raises(StoredDataError, match="have no input in common"):
        compare(runs["small"], runs["one"])


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_and_its_page(runs, tmp_path, capsys) -> None:
    with Store.append(runs["one"]) as store:
        store.note("classes", [EVIL] * 10)
    page = tmp_path / "drift.html"
    code, out, _ = call(capsys, "compare", runs["one"], runs["longer"], "--out", page)
    assert code == 0
    assert out.startswith("3 inputs are in both runs. Explanations unchanged:")
    assert f"wrote {page}" in out
    shown = Page(page)
    assert "http" not in shown.text
    assert shown.scripts == []
    assert EVIL in shown.text
    pictures = [attrs for tag, attrs in shown.elements if tag == "img"]
    assert pictures
    assert all(attrs["src"].startswith("data:image/") for attrs in pictures)
    code, out, _ = call(capsys, "compare", runs["one"], runs["longer"], "--format", "md")
    assert code == 0
    assert "## Drift of explanations" in out
    assert "<script>" not in out
    for flags in (("--json",), ("--format", "json")):
        code, out, _ = call(capsys, "compare", runs["one"], runs["longer"], "--cosine", "0.5", *flags)
        assert json.loads(out)["counts"]["unchanged"] == 3
        assert len(json.loads(out)["pairs"][0]["interval"]) == 2
    code, _, err = call(capsys, "compare", runs["one"], tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    assert call(capsys, "compare", runs["one"], runs["longer"], "--cosine", "2")[0] == 2


def test_large_and_tabular_maps_have_a_page(runs, tmp_path) -> None:
    """Maps that are rows of numbers are listed by the names of their features."""
    with Store.append(runs["one"]) as store:
        store.note("features", [f"{EVIL}{number}" for number in range(49)])
        for item in range(3):
            record, maps = store.record(item), store.pictures(item)
            store.add(Outcome(item, record, {"smoothed": maps["smoothed"].reshape(49)}))
    found = compare(runs["one"], runs["one"])
    page = Page(write_page(found, (runs["one"], runs["one"]), tmp_path / "page.html"))
    assert found.counts["unchanged"] == 3
    assert f"{EVIL}2" in page.text
