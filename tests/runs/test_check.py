"""A run is checked like a file: forgeries with seals that fit, settings of another run, maps that were swapped."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from attribound.bounds.cells import Majority
from attribound.bounds.orders import Orders
from attribound.certificates.alike import Precision, facts_alike
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record
from attribound.certificates.sealed import seal_of
from attribound.certificates.verify import verify_record
from attribound.certification.certifier import certify as explain
from attribound.fields import Saliency, Unit
from attribound.noise import UniformBall
from attribound.runs import RunConfig, Store
from attribound.runs.check import check_run
from attribound.runs.compare import compare
from attribound.runs.engines import Local
from attribound.runs.gate import Asked, judge
from attribound.runs.proved import prove_records
from attribound.runs.runner import prepare
from attribound.runs.runner import run as certify
from attribound.runs.summary import summarise
from attribound.runs.tasks import Outcome
from tests.problems import Linear
from tests.runs.conftest import CONFIG

ASKED = Asked(cosine=0.1, epsilon=0.001, share=0.5)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("check")
    changes = {
        "orders": {"asked": {"reasons": 2}, "maps": ("raw", "pooled:04")},
        "assumed": {"bound": "assumed:10"},
        "gradcam": {"attribution": "gradcam", "maps": ("centred",), "bound": "clip:2", "noise": "uniform:7"},
    }
    for name, change in changes.items():
        config = msgspec.structs.replace(CONFIG, **{"samples": 256, "items": 2} | change)
        certify(prepare(config)[1], folder / name, Local(1))
    return {name: folder / name for name in changes}


@pytest.fixture
def runs(made, tmp_path) -> dict[str, Path]:
    return {name: Path(shutil.copytree(path, tmp_path / name)) for name, path in made.items()}


def forge(path: Path, change: Callable[[Record], Record]) -> Path:
    """Change every record and seal it again."""
    with Store.append(path) as store:
        for record in list(store.records()):
            store.add(Outcome(record.item, change(record)))
    return path


def test_honest_runs_have_no_problems(runs) -> None:
    for path in runs.values():
        assert check_run(path).problems == {}, path.name
    assert judge(runs["assumed"], ASKED).counts == {"assumed": 2}
    with Store.read(runs["assumed"]) as store:
        assert summarise(store).counts == {"assumed": 2}


def endless(record: Record) -> Record:
    """Orders that hold up to 1000, and reasons that follow from them."""
    orders = record.facts["orders"]
    radius = np.full(np.shape(orders["radius"]), 1000.0)
    for row in range(len(radius)):
        radius[row, [int(place) for place in orders["features"][: row + 1]]] = 0.0
    facts = {**record.facts, "orders": {**orders, "radius": radius.tolist()}}
    forged = msgspec.structs.replace(record, facts=facts)
    return Certificate(forged).stating(map(float, record.cosine), map(float, record.max_epsilon)).record


def elsewhere(**changes: Any) -> Callable[[Record], Record]:
    """A record whose settings, its subject's too, are not those of its run."""

    def change(record: Record) -> Record:
        subject = msgspec.structs.replace(record.subject, **changes)
        return msgspec.structs.replace(record, subject=subject, **changes)

    return change


FORGED: dict[str, tuple[Callable[[Record], Record], str]] = {
    "orders": (endless, "orders hold further than 256 draws can prove"),
    "output": (elsewhere(output="probability"), "has output probability, its run logit"),
    "seed": (elsewhere(seed=9), "has seed 9, its run 0"),
    "method": (elsewhere(attribution="ig"), "has attribution ig, its run saliency"),
    "layer": (elsewhere(attribution="gradcam:net.0"), "has attribution gradcam:net.0, its run saliency"),
    "maps": (elsewhere(maps=("pooled:5",)), "has maps"),
    "features": (lambda one: msgspec.structs.replace(one, features=("a", "b")), "names 2 features of a map of shape"),
    "subject": (
        lambda one: msgspec.structs.replace(one, subject=msgspec.structs.replace(one.subject, item=7)),
        "states the subject's item 7",
    ),
    "norm": (lambda one: msgspec.structs.replace(one, norm=0.1), "states norm 0.1"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_contradicts_itself_or_its_run_proves_nothing(name, runs) -> None:
    change, told = FORGED[name]
    path = forge(runs["orders"], change)
    found = check_run(path).problems
    assert set(found) == {0, 1}
    assert all(any(told in line for line in lines) for lines in found.values()), found
    assert judge(path, ASKED).counts == {"doubtful": 2}
    assert all(told in pair.reason for pair in compare(path, path).pairs)
    with Store.read(path) as store:
        summary = summarise(store)
    assert (summary.counts, summary.orders) == ({"uncertified": 2}, None)
    assert set(summary.quantiles["0.8"].values()) == {0.0}


def kind(record: Record, **subject: Any) -> Record:
    bound = msgspec.structs.replace(record.bound, kind="proved", source="trust me")
    known = msgspec.structs.replace(record.subject, **subject)
    return msgspec.structs.replace(record, bound=bound, status="certified", subject=known)


def test_an_assumed_limit_never_becomes_a_certificate(runs, tmp_path) -> None:
    copies = {name: Path(shutil.copytree(runs["assumed"], tmp_path / name)) for name in ("status", "kind", "both")}
    forge(copies["status"], lambda one: msgspec.structs.replace(one, status="certified"))
    forge(copies["kind"], kind)
    forge(copies["both"], lambda one: kind(one, bound="proved:10.0"))
    told = {
        "status": "states more than follows from its evidence",
        "kind": "states the subject's bound assumed:10.0",
        "both": "has bound proved:10.0, its run assumed:10.0",
    }
    for name, path in copies.items():
        found = check_run(path).problems
        assert all(any(told[name] in line for line in lines) for lines in found.values()), found
        assert len(found) == 2
        assert (judge(path, ASKED).passed, judge(path, ASKED).certified) == (False, 0)
        with Store.read(path) as store:
            assert "certified" not in summarise(store).counts


def test_stated_rules_and_names_are_derived_anew(runs) -> None:
    def renamed(record: Record) -> Record:
        return msgspec.structs.replace(
            record, reasons=tuple(msgspec.structs.replace(one, name="income") for one in record.stated_reasons)
        )

    path = forge(runs["orders"], renamed)
    assert check_run(path).problems[0] == ["states more than follows from its evidence"]
    for status, rule in (("uncertified", "tight"), ("certified", None), ("certified", "magic")):
        other = forge(runs["gradcam"], lambda one, s=status, r=rule: msgspec.structs.replace(one, status=s, rule=r))
        assert len(check_run(other).problems) == 2, rule


def test_what_nothing_can_be_derived_from_still_has_a_page(runs, tmp_path) -> None:
    from attribound.report.page import write_report

    for number, changes in enumerate(({"draws": 0, "samples": 0}, {"alpha": 0.0}, {"dim": 3})):
        path = forge(runs["orders"], lambda one, c=changes: msgspec.structs.replace(one, **c))
        assert len(check_run(path).problems) == 2, changes
        page = write_report(path, tmp_path / f"{number}.html").read_text()
        assert "2 of 2 records are not as they should be" in page
    bound = {"bound": {"kind": "clip", "limit": -2.0, "source": ""}}
    path = forge(runs["gradcam"], lambda one: msgspec.convert(msgspec.to_builtins(one) | bound, Record))
    assert "2 of 2 records are not" in write_report(path, tmp_path / "limit.html").read_text()


def test_a_swapped_map_of_equal_length_is_found(runs) -> None:
    """By the record's hash if the record is as it was, and by sampling again if the record was forged to fit."""
    with Store.append(runs["orders"]) as store:
        record, other = store.record(0), store.pictures(1)["smoothed"]
        swapped = other * (record.norm / np.linalg.norm(other))
        store.add(Outcome(0, record, {"smoothed": swapped}))
    pair = compare(runs["orders"], runs["orders"]).pairs[0]
    assert "the stored map is not the one that the record is about" in pair.reason
    assert check_run(runs["orders"]).problems == {0: ["the stored map is not the one that the record is about"]}
    forge(runs["orders"], lambda one: msgspec.structs.replace(one, map_sha256=msgspec.UNSET))
    assert compare(runs["orders"], runs["orders"]).pairs[0].reason == "", "records of before have no hash"
    found = check_run(runs["orders"], resample=2)
    assert found.resampled == 2
    assert set(found.problems) == {0}
    assert "the map differs from the one sampled again by" in found.problems[0][0]


def test_runs_and_files_allow_for_the_same_rounding() -> None:
    """Noise so wide that a thousandth of a millionth of a cosine is a lot of epsilon."""
    x, noise = torch.zeros(5, dtype=torch.float64), UniformBall(5e4)
    record = explain(Unit(Saliency(Linear(torch.ones(5).double()).eval())), x, 0, noise=noise, samples=512).record
    config = RunConfig(model="", data="", noise=record.subject.noise, samples=512)
    for by, doubts in ((0.0, ()), (5e-10, ()), (1e-6, ("states more than follows from its evidence",))):
        stated = {key: value + by for key, value in record.max_epsilon.items()}
        other = msgspec.structs.replace(record, max_epsilon=stated, joint_epsilon={})
        sealed = msgspec.structs.replace(other, seal=seal_of(other))
        assert next(prove_records([sealed], config)).doubts == doubts, by
        assert verify_record(Certificate(sealed)).passed is not bool(doubts)


def test_sampled_again_tolerates_what_rounding_explains_and_no_more() -> None:
    proved = np.array([[0.0, 1.0, 0.5, 0.0]])
    again, rounded = Orders(np.array([0.0]), proved, 1e-5), Precision(apart=1e-7, norm=0.5)
    for place, radius, alike in ((2, 0.5002, True), (2, 0.4998, True), (2, 0.505, False), (3, 1e-6, False)):
        stated = proved.copy()
        stated[0, place] = radius
        assert facts_alike(Orders(np.array([0.0]), stated, 1e-5), again, rounded) is alike, (place, radius)
        assert not facts_alike(Orders(np.array([0.0]), stated, 1e-5), again), "unless rounding was measured"
    inflated = np.array([[0.0, 100.0, 1.0, 0.0]])
    assert not facts_alike(Orders(np.array([0.0]), inflated, 1e-5), again, rounded)
    recounted, rounded = Majority(1.0, 4000.0, 4096.0, 6e-5), Precision(1e-7, 0.5, gained=1, lost=2)
    for count, strictly, alike in ((4000, True, True), (4001, False, True), (4002, False, False), (3998, False, True)):
        stored = Majority(1.0, float(count), 4096.0, 6e-5)
        assert facts_alike(stored, recounted) is strictly, count
        assert facts_alike(stored, recounted, rounded) is alike, count
    assert not facts_alike(Majority(1.0, 4000.0, 4096.0, 7e-5), recounted, rounded), "no rounding changes alpha"
