"""The page: what it says, what it never says, and that nothing in a run can speak for itself."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from attribound import cli
from attribound.bounds.rules import Evidence
from attribound.certificate import certificate_from
from attribound.errors import StoredDataError
from attribound.report.curves import COSINES, prove
from attribound.report.page import write_report
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from tests.report.conftest import EVIL, SCAN, copies, error, finding


class Page(HTMLParser):
    """Elements and text of a page, as a browser would see them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.scripts, self._inside = "", [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag) -> None:
        self._inside = ""

    def handle_data(self, data) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])

    @property
    def kind(self) -> str:
        return next(attrs["class"] for _, attrs in self.elements if attrs.get("id") == "verdict")


def report(path: Path, **options) -> Page:
    return Page(write_report(path, **options))


def test_verdict_and_facts(certified) -> None:
    page = report(certified)
    pattern = (
        r"For (\d) of 4 images, no change of size up to epsilon (0\.\d+) can turn the explanation by more than 37 "
        r"degrees \(cosine 0\.8\); confidence 99\.9 % for each image\."
    )
    count, epsilon = re.search(pattern, page.text).groups()
    with Store.read(certified) as store:
        reached = [one["max_epsilon"]["0.8"] >= float(epsilon) for one in store.records()]
    assert sum(reached) == int(count) >= 3
    for words in ("mnist-cnn-noise", "mnist-sample", "Gaussian, standard deviation 0.5", "scaled to length 1"):
        assert words in page.text
    assert "attribound certify --model mnist-cnn-noise --data mnist-sample" in page.text
    assert page.kind == "verdict proved"


def test_nothing_is_loaded_from_anywhere(certified) -> None:
    page = report(certified)
    for tag, attrs in page.elements:
        for key in ("src", "href", "srcset", "action"):
            assert (attrs.get(key) or "#").startswith(("#", "data:")), (tag, attrs)
    assert "http" not in page.text
    policy = next(attrs["content"] for tag, attrs in page.elements if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    script = re.search(r"script-src ([^;]*)", policy)[1]
    assert "unsafe-inline" not in script


def test_no_claim_exceeds_its_certificate(certified) -> None:
    """Every epsilon on the page, for every record and cosine, is proved by the record's own evidence."""
    data = report(certified).data
    with Store.read(certified) as store:
        for row, record in enumerate(store.records()):
            certificate = certificate_from(record, "record")
            for cosine, units in zip(data["cosines"], data["rows"]["epsilon"][row], strict=True):
                epsilon = units / 10 ** data["digits"]
                assert epsilon <= certificate.max_epsilon(float(cosine)) + 1e-15
            for epsilon, thousandths in zip(data["grid"], data["details"][str(row)]["curve"], strict=True):
                assert thousandths < 0 or thousandths / 1000 <= certificate.cosine(epsilon)
            exact = certificate.max_epsilon(0.8)
            units = data["rows"]["epsilon"][row][data["cosines"].index("0.8")]
            assert exact - units / 10 ** data["digits"] < 10 ** -data["digits"]


def test_a_record_that_states_more_than_it_proves_is_not_believed(synthesise, template) -> None:
    outcomes = list(template[1])
    record = outcomes[0].record | {"max_epsilon": {"0.8": 7.0, "0.9": 6.0}}
    page = report(synthesise([Outcome(0, record), *outcomes[1:]]))
    assert "1 of 4 records state more than follows from their evidence (first: item 0)" in page.text
    assert page.data["rows"]["epsilon"][0][0] < 7 * 10 ** page.data["digits"] / 2


def test_everything_is_escaped(synthesise, template) -> None:
    outcomes = [*template[1][:2], error(2, f"cannot read {EVIL}.png")]
    found = finding(outcomes[0], method=EVIL)
    path = synthesise(
        outcomes, classes=[EVIL] * 10, findings=[found], data=f"folder:/tmp/{EVIL}", model=EVIL, arch=EVIL
    )
    target = write_report(path, scan=SCAN | {"advice": EVIL, "recommended": EVIL})
    page = Page(target)
    assert EVIL not in target.read_text(encoding="utf-8")
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    assert f"cannot read {EVIL}.png" in page.text
    assert page.data["classes"]["3"] == EVIL
    assert f"folder:/tmp/{EVIL}" in page.text


@pytest.mark.parametrize("text", ["\u2028\u2029", "<!--<script>", "{{ 7 * 7 }}", "]]>", "\\u003c"])
def test_odd_text_survives(text, synthesise, template) -> None:
    page = report(synthesise([error(0, text), *template[1][1:]]))
    assert page.data["rows"]["note"][0] == text


def test_an_empty_run(synthesise) -> None:
    page = report(synthesise([]))
    assert "This run has no records yet: nothing is proved." in page.text
    assert page.kind == "verdict nothing"


@pytest.mark.parametrize(("count", "words"), [(1, "The only input failed"), (3, "All 3 inputs failed")])
def test_only_errors(count, words, synthesise) -> None:
    page = report(synthesise([error(item, f"no {item}") for item in range(count)]))
    assert f"{words}: nothing is proved." in page.text
    assert "Item 0 failed: no 0" in page.text
    assert page.kind == "verdict nothing"


def test_one_image(synthesise, template) -> None:
    assert "For 1 of 1 image, no change" in report(synthesise(template[1][:1])).text


def test_errors_and_uncertified_count_as_not_certified(synthesise, template) -> None:
    hopeless = json.loads(json.dumps(template[1][3].record))
    hopeless["evidence"]["norm_lower"] = 0.0
    hopeless |= {"status": "uncertified", "rule": None, "reason": "too noisy", "max_epsilon": {"0.8": 0.0, "0.9": 0.0}}
    page = report(synthesise([*template[1][:2], error(2), Outcome(3, hopeless)]))
    assert re.search(r"For [12] of 4 images, no change", page.text)
    assert page.data["rows"]["epsilon"][2] == page.data["rows"]["epsilon"][3] == [0] * len(page.data["cosines"])
    nothing = report(synthesise([Outcome(3, hopeless)], "hopeless"))
    assert "For none of the 1 image is it proved" in nothing.text


def test_a_tabular_run(synthesise, template) -> None:
    outcomes = []
    for outcome in template[1]:
        record = json.loads(json.dumps(outcome.record)) | {"dim": 12}
        record["evidence"]["dim"] = 12
        maps = {name: np.linspace(-1, 1, 12) for name in ("input", "plain", "smoothed")}
        outcomes.append(Outcome(outcome.item, record, maps))
    page = report(synthesise(outcomes, data="npz:patients.npz"))
    assert "This run holds no pictures: its inputs are rows of features." in page.text
    assert re.search(r"For \d of 4 inputs, no change", page.text)
    assert len(page.data["details"]["0"]["features"]["smoothed"]) == 12
    assert page.data["details"]["0"]["pictures"] == {}


def test_an_assumed_limit_is_a_warning(synthesise, template) -> None:
    outcomes = []
    for outcome in template[1]:
        bound = {"kind": "assumed", "limit": 1.0, "source": "a guess"}
        outcomes.append(replace(outcome, record=outcome.record | {"bound": bound, "status": "assumed"}))
    page = report(synthesise(outcomes, bound="assumed:1"))
    assert "Not a certificate: the limit is assumed, not proved. If it were true: for " in page.text
    assert "ASSUMED, a guess: not a certificate" in page.text
    assert page.kind == "verdict warning"
    assert page.data["guaranteed"] is False
    assert page.data["word"] == "assumed"


def test_the_papers_formula_is_a_warning(synthesise, template) -> None:
    outcomes = [replace(one, record=one.record | {"rule": "paper"}) for one in template[1]]
    page = report(synthesise(outcomes))
    assert "Not a certificate: the paper's formula is not valid." in page.text
    assert page.kind == "verdict warning"


def test_attacks_are_charted_and_a_violation_shouts(synthesise, template) -> None:
    found = [finding(one) for one in template[1][:3]]
    page = report(synthesise(template[1], findings=found))
    assert "Attacked at cosine 0.8: 3 image(s); broken at a larger epsilon: 3." in page.text
    assert len(page.data["charts"]["band"]["data"]) == 2
    assert "attacked" in page.data["details"]["0"]["pictures"]
    assert page.kind == "verdict proved"
    found[1] |= {"violated": True, "worst": 0.5}
    page = report(synthesise(template[1], "violated", findings=found))
    assert "VIOLATED: an attack turned the explanation further than certified (item 1)" in page.text
    assert "Do not trust this run: an attack broke a certificate." in page.text
    assert page.kind == "verdict broken"


def test_scans_are_drawn_from_a_file_or_from_the_run(synthesise, template, tmp_path, capsys) -> None:
    path = synthesise(template[1])
    assert "scan" not in report(path).data["charts"]
    (tmp_path / "tune.json").write_text(json.dumps(SCAN))
    arguments = ["report", str(path), "--scan", str(tmp_path / "tune.json"), "--out", str(tmp_path / "a" / "b.html")]
    assert cli.run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(tmp_path / "a" / "b.html")
    assert len(Page(tmp_path / "a" / "b.html").data["charts"]["scan"]["data"]) == 2
    with Store.append(path) as store:
        store.note("scan", SCAN)
    assert "Which noise level?" in report(path).text


def test_bad_input_is_one_line(tmp_path, certified, capsys) -> None:
    (tmp_path / "scan.json").write_text('{"levels": 3}')
    for arguments, words in (
        ([tmp_path], "is not a run"),
        ([certified, "--scan", tmp_path / "none.json"], "no such file"),
        ([certified, "--scan", tmp_path / "scan.json"], "is not what `attribound tune --out` writes"),
    ):
        assert cli.run(["report", *map(str, arguments)]) == 2
        complaint = capsys.readouterr().err
        assert words in complaint
        assert complaint.count("\n") == 1


def test_a_broken_record_is_an_error(synthesise, template) -> None:
    record = {key: value for key, value in template[1][0].record.items() if key != "bound"}
    with pytest.raises(StoredDataError, match=r"is not a certificate|broken record"):
        write_report(synthesise([Outcome(0, record)]))


def test_200_images_are_fast_and_small(synthesise, template) -> None:
    path = synthesise(copies(template[1], 200))
    started = time.perf_counter()
    target = write_report(path)
    assert time.perf_counter() - started < 10
    assert target.stat().st_size < 8_000_000
    assert len(Page(target).data["details"]) == 200


def test_200_large_photos_stay_below_8_mb(synthesise, template) -> None:
    """The worst pictures for a file: noise in every pixel, and attacked maps too."""
    generator = np.random.default_rng(0)
    names = ("input", "plain", "smoothed", "attacked")
    photos = [{name: generator.random((3, 160, 160)) - (name != "input") / 2 for name in names} for _ in range(4)]
    outcomes = [replace(one, pictures=photos[one.item % 4]) for one in copies(template[1], 200)]
    assert write_report(synthesise(outcomes)).stat().st_size < 8_000_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_2000_records_need_little_time_and_memory(synthesise, template) -> None:
    """The full size, 10,000 records, is measured by `python -m benchmarks report_page`."""
    path = synthesise(copies(template[1], 2000))
    code = (
        "import sys; from pathlib import Path; from attribound.report.page import write_report;"
        "write_report(Path(sys.argv[1])); print(Path('/proc/self/status').read_text())"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert time.perf_counter() - started < 20
    # Not ru_maxrss, which a child inherits from its parent.
    assert int(re.search(r"VmHWM:\s+(\d+) kB", done.stdout)[1]) * 1024 < 500e6


def test_a_failed_report_leaves_the_old_one(certified, tmp_path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    with pytest.raises(StoredDataError):
        write_report(certified, target, scan={"levels": None})
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_stated_epsilon_is_shown_only_if_its_evidence_proves_it() -> None:
    """Even a hair above what is proved is not taken over; what is proved is, to the last digit."""
    evidence = Evidence(dim=784, noise_kind="gaussian", scale=0.5, limit=1.0, norm_lower=0.9, eigenvalue_upper=0.05)
    proved = evidence.max_epsilon(0.8)
    exact, more = (
        prove([evidence], [{0.8: stated}], [0.8]).epsilons[0, COSINES.index(0.8)]
        for stated in (proved, proved * (1 + 1e-6))
    )
    assert exact == proved
    assert more < proved
