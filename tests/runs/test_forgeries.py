"""Forgeries whose seals fit and whose numbers follow from each other: found, or what cannot be found is said."""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from attribound.certificates.certificate import Certificate
from attribound.certificates.record import BoundRecord, Record
from attribound.certification.again import Again
from attribound.certification.reopen import Opener
from attribound.report.auditor import page as auditor
from attribound.report.auditor.card import model_card
from attribound.report.page import write_report
from attribound.runs import Store, check
from attribound.runs.check import RunCheck, check_run, missed
from attribound.runs.engines import Local
from attribound.runs.gate import Asked, judge
from attribound.runs.runner import prepare
from attribound.runs.runner import run as certify
from attribound.runs.tasks import Outcome
from tests.certificates.test_verify import better_everywhere
from tests.runs.conftest import CONFIG

ITEMS = 6
DATA = "mnist-sample"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("forgeries") / "run"
    config = msgspec.structs.replace(CONFIG, samples=96, items=ITEMS, asked={"cells": [0.3]}, noise="gaussian:0.8")
    certify(prepare(config)[1], path, Local(1))
    return path


@pytest.fixture
def run(made, tmp_path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def forge(path: Path, change: Callable[[Record], Record], *items: int) -> None:
    """Change records and seal them again."""
    with Store.append(path) as store:
        for item in items or range(ITEMS):
            record = store.record(item)
            assert isinstance(record, Record)
            store.add(Outcome(item, change(record)))


def stating(record: Record) -> Record:
    """The record, stating whatever its evidence gives."""
    return Certificate(record).stating(map(float, record.cosine), map(float, record.max_epsilon)).record


def with_fact(record: Record, name: str, **numbers: Any) -> Record:
    facts = {**record.facts, name: {**record.facts[name], **numbers}}
    return msgspec.structs.replace(record, facts=facts)


def recounted(record: Record) -> Record:
    """One more noisy input of the class that was counted."""
    return stating(with_fact(record, "majority", count=record.facts["majority"]["count"] + 1))


def revoted(record: Record) -> Record:
    """One vote from the coldest cell to the hottest that has fewer than all."""
    votes = record.facts["votes"]
    hot = list(votes["hot"][0])
    give = next(cell for cell in range(len(hot)) if hot[cell] > 0)
    take = max((cell for cell in range(len(hot)) if hot[cell] < votes["draws"] and cell != give), key=hot.__getitem__)
    hot[give], hot[take] = hot[give] - 1, hot[take] + 1
    return stating(with_fact(record, "votes", hot=[hot]))


def whole(path: Path) -> RunCheck:
    """Every record sampled again."""
    return check_run(path, resample=ITEMS)


def test_an_honest_run_passes_and_says_what_it_may_have_missed(run) -> None:
    found = whole(run)
    assert (found.passed, found.resampled, found.unseen, found.remarks) == (True, ITEMS, "", [])
    some = RunCheck(records=12, resampled=3, eligible=12)
    assert some.unseen == (
        "chosen at random, 3 of 12: a single forged record is missed with probability 75 %; 7 or more forged ones are "
        "found with probability at least 95 %"
    )


def test_how_often_forged_records_are_missed() -> None:
    """By looking at every choice."""
    for forged, taken in ((1, 3), (2, 2), (5, 1), (4, 4)):
        choices = list(itertools.combinations(range(7), taken))
        blind = sum(not set(choice) & set(range(forged)) for choice in choices)
        assert missed(7, forged, taken) == pytest.approx(blind / len(choices))


def test_nobody_can_know_which_records_are_sampled_again(run, monkeypatch) -> None:
    """Each of six is among three with probability 1/2; that one never is in 40 checks has probability 6e-12."""
    seen = set()

    def noted(checking: object, item: int, part: str) -> Again:
        seen.add(item)
        return Again([], [])

    monkeypatch.setattr(check.CheckedCertificates, "again", noted)
    for _ in range(40):
        assert check_run(run, resample=3).resampled == 3
    assert seen == set(range(ITEMS))


@pytest.mark.parametrize(("change", "fact"), [(recounted, "majority"), (revoted, "votes")])
def test_a_single_count_too_many_is_found(change, fact, run) -> None:
    """No draw of these records is within rounding of a tie that would explain it."""
    forge(run, change, 1)
    assert check_run(run).passed, "arithmetic alone cannot see it"
    assert whole(run).problems == {1: [f"the facts differ: {fact} is not what the same draws prove again"]}


def inflated(record: Record) -> Record:
    """A better norm, and everything that follows from it."""
    stored = msgspec.to_builtins(record)
    better_everywhere(stored)
    return msgspec.convert(stored, Record)


def test_inflated_records_are_found_wherever_they_are(run) -> None:
    """All but the first three: a check that always takes those would miss them."""
    forge(run, inflated, 3, 4, 5)
    assert check_run(run).passed, "arithmetic alone cannot see it"
    found = whole(run).problems
    assert set(found) == {3, 4, 5}
    assert all(any(line.startswith("norm_lower differs") for line in lines) for lines in found.values())


def drop(path: Path, *items: int, **config: Any) -> None:
    """Delete records, and let the run say that it never had them."""
    with Store.append(path) as store, store._writing():
        for item in items:
            store._connection.execute("DELETE FROM records WHERE item = ?", (item,))
        store._put("inputs", ITEMS - len(items))
        store._put("config", store.config.to_json() | config)


def test_deleted_records_are_missed(run) -> None:
    drop(run, 4, 5)
    assert check_run(run).whole == ["it says that it has 4 inputs, its configuration asks for 6"]
    assert judge(run, Asked(cosine=0.1, epsilon=0.001, share=0.9)).missing == 2


def test_deleted_records_are_missed_where_the_configuration_was_changed_too(run, tmp_path) -> None:
    """Unless they are the last ones: then it is a shorter run."""
    drop(run, 0, 2, items=4)
    assert check_run(run).whole == ["it has records of inputs that its configuration does not ask for: items 4, 5"]
    other = Path(shutil.copytree(run, tmp_path / "all"))
    drop(other, 0, 2, items=None)
    found = check_run(other, opener=Opener(data=DATA)).whole
    assert any(line.startswith("it says that it has 4 inputs, its configuration asks for") for line in found)


def test_an_input_that_stands_for_another_is_found_in_the_data(run) -> None:
    with Store.append(run) as store:
        good = store.record(0)
        assert isinstance(good, Record)
        subject = msgspec.structs.replace(good.subject, item=5)
        copied = msgspec.structs.replace(good, item=5, subject=subject, map_sha256=msgspec.UNSET)
        store.add(Outcome(5, copied, store.pictures(0, "smoothed")))
    plain = check_run(run)
    assert [line for line in plain.remarks if line.endswith("items 0, 5")], plain.remarks
    gate = judge(run, Asked(cosine=0.1, epsilon=0.001, share=0.9))
    assert "1 record(s) repeat the input of another one, and count again here." in gate.sentences
    found = check_run(run, opener=Opener(data=DATA)).problems
    assert f"item 5 of {DATA} is not the input that was certified" in found[5]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda one: msgspec.structs.replace(one, label=(one.label + 1) % 10), "has label"),
        (lambda one: msgspec.structs.replace(one, label=None), "has label None"),
        (lambda one: msgspec.structs.replace(one, features=tuple(map(str, range(784)))), "names features that"),
    ],
    ids=["another label", "no label", "features"],
)
def test_labels_and_names_are_compared_with_the_data(change, told, run) -> None:
    forge(run, change, 2)
    assert check_run(run).passed
    found = check_run(run, opener=Opener(data=DATA))
    assert set(found.problems) == {2}
    assert found.problems[2][0].startswith(told)


def test_names_of_classes_are_compared_with_the_data(run) -> None:
    with Store.append(run) as store:
        store.note("classes", ["safe"] * 10)
        store.note("features", ["income"])
    assert check_run(run, opener=Opener(data=DATA)).whole == [
        f"its names of classes are not those of {DATA}",
        f"its names of features are not those of {DATA}",
    ]


def test_a_proof_that_nobody_can_check_is_shown_wherever_it_counts(run, tmp_path, capsys) -> None:
    """A guess turned into a proof, in records, subjects and configuration alike: the stated reason is all there is."""
    from attribound import cli

    def proved(record: Record) -> Record:
        bound = BoundRecord("proved", 1.0, "proved by its author, who states: trust me")
        subject = msgspec.structs.replace(record.subject, bound=bound.spec)
        return stating(msgspec.structs.replace(record, bound=bound, subject=subject))

    forge(run, proved)
    with Store.append(run) as store:
        store.note("config", store.config.to_json() | {"bound": "proved:1.0"})
    told = "proved by its author, who states: trust me (no sampling can check this)"
    assert any(told in line for line in check_run(run).remarks)
    assert any(told in line for line in judge(run, Asked(cosine=0.1, epsilon=0.001, share=0.9)).sentences)
    assert told in write_report(run, tmp_path / "page.html").read_text()
    with Store.read(run) as store:
        assert told in auditor.render(store)
        assert "proved by its author, who states: trust me" in model_card(store)
        certificate = Certificate(store.record(0))
    assert told in repr(certificate)
    assert told in certificate.explain(0.1, 0.001)
    assert told in certificate._repr_html_()
    for command in (["show"], ["verify"], ["gate", "--cosine", "0.1", "--epsilon", "0.001", "--share", "0.5"]):
        cli.run([command[0], str(run), *command[1:]])
        assert told in " ".join(capsys.readouterr().out.split()), command
