"""Runs of tolerances that are attacked: findings, the page, the gate, and commands that go on."""

import json

import numpy as np
import pytest
from msgspec.structs import replace

from attribound.bounds.scan.directions import Cone
from attribound.cli import run
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from attribound.tolerances.attack import ToleranceAttack
from attribound.tolerances.packed import Packed
from attribound.tolerances.verify import problems
from tests.tolerances.test_tolerance_runs import printed, refused

ASKED = ["--change", "rotation:30", "--change", "brightness:60", "--cosine", "0.9", "--samples", "1500", "--json"]
QUICK = ["--budget", "quick"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("attacked") / "run"
    words = ["tolerance", "--model", "mnist-cnn-noise", "--data", "mnist-sample", "--items", "2", "--workers", "1"]
    assert run([*words, *ASKED, "--out", str(path)]) == 0
    return path


@pytest.fixture
def copied(folder, tmp_path):
    assert run(["copy", str(folder), str(tmp_path / "copy")]) == 0
    return tmp_path / "copy"


def too_good(record):
    """Facts that nobody found, and what follows from them: every map is as if nothing had changed."""
    facts, whole = record.facts, (record.change.low, record.change.high)
    if record.proof == "exact":
        ones = Packed.of(np.ones_like(facts.cosines.values()), "f8")
        facts = replace(facts, cosines=ones)
    else:
        along = Packed.of(np.full_like(facts.along.values(), 0.999), "f4")
        across = Packed.of(np.zeros_like(facts.across.values()), "f4")
        decisions = {}
        for key, one in facts.decisions.items():
            small = np.full_like(one.smallest.values(), 0.99 * Cone(float(key)).sine)
            bets = np.full_like(one.bet.values(), max(one.bet.values().max(), 60))
            least = Packed.of(0 * one.least.values(), "u2")
            decisions[key] = replace(one, smallest=Packed.of(small, "f4"), bet=Packed.of(bets, "u1"), least=least)
        facts = replace(facts, along=along, across=across, decisions=decisions)
    nothing = dict.fromkeys(record.breaks)
    forged = replace(record, facts=facts, reaches=dict.fromkeys(record.reaches, whole), breaks=nothing, seal="")
    reaches = forged.facts.evidence().reaches(record.cosines, record.alpha)
    return replace(forged, reaches={key: reaches[float(key)] for key in record.reaches})


def forge(path, part, item=0):
    """Put a forged record in a run's place; it agrees with itself."""
    with Store.append(path) as store:
        forged = too_good(store.record(item, part))
        assert problems(forged) == []
        store.add(Outcome(item, forged))
    return forged


def test_an_honest_run_survives(copied, capsys):
    found = printed(capsys, "attack", copied, *QUICK)["findings"]
    assert {(one["item"], one["change"], one["about"]) for one in found} >= {
        (item, part, about) for item in (0, 1) for part, about in (("rotation", "class"), ("brightness", "cosine"))
    }
    assert not any(one["violated"] for one in found)
    assert all(one["worst"] >= one["claimed"] for one in found if one["worst"] is not None)
    assert all((one["errors"] is None) == (one["proof"] == "exact") for one in found)
    shown = printed(capsys, "show", copied)
    assert shown["attacked"] == {"claims": len(found), "violated": 0, "items": []}
    assert run(["show", str(copied)]) == 0
    assert f"attacked {len(found)} claims: 0 violated" in capsys.readouterr().out
    assert run(["report", str(copied)]) == 0
    assert f"claims attacked: {len(found)}; claims violated: 0" in (copied / "report.html").read_text()


def test_the_table(copied, capsys):
    assert run(["attack", str(copied), *QUICK, "--items", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if "proved reach" in line)
    assert all(name in head for name in ("input", "change", "claimed", "worst found", "where"))
    assert any("brightness" in line and "grey levels" in line and "cosine 0.9" in line for line in lines)
    assert "claims attacked, 0 violated" in lines[-1]
    with Store.read_any(copied) as store:
        assert set(store.tolerance_findings()) == {0}


@pytest.mark.parametrize("part", ["rotation", "brightness"])
def test_a_reach_that_is_too_wide_is_found_and_closes_the_gate(copied, part, capsys):
    gate = ["gate", copied, "--change", "brightness", "--reach", 1, "--cosine", 0.9, "--share", 0]
    assert printed(capsys, *gate)["passed"]
    forged = forge(copied, part)
    found = printed(capsys, "attack", copied, *QUICK, code=1)["findings"]
    broken = [one for one in found if one["violated"]]
    assert [(one["item"], one["change"], one["about"]) for one in broken] == [(0, part, "cosine")]
    assert tuple(broken[0]["reach"]) == forged.reaches["0.9"]
    assert broken[0]["worst"] < 0.9
    assert broken[0]["reach"][0] <= broken[0]["at"] <= broken[0]["reach"][1]
    gated = printed(capsys, *gate, code=1)
    assert (gated["passed"], gated["counts"]["violated"], gated["true_least"]) == (False, 1, 0)
    assert gated["not_certified"][0]["reason"].startswith(f"an attack broke what is proved about {part}, at ")
    assert printed(capsys, "show", copied)["attacked"]["items"] == [0]
    assert run(["show", str(copied)]) == 0
    assert "VIOLATED: attacks turned 1 explanation further than certified (item 0)" in capsys.readouterr().out
    assert run(["report", str(copied)]) == 0
    page = (copied / "report.html").read_text()
    assert "VIOLATED: attacks turned 1 explanation" in page
    assert "Do not trust this run: an attack broke a certificate." in page
    rows = printed(capsys, "export", copied, "--format", "json")["records"]
    assert [(row["item"], row["change"]["name"]) for row in rows if any(one["violated"] for one in row["attacks"])] == [
        (0, part)
    ]
    assert run(["attack", str(copied), *QUICK]) == 1
    assert "VIOLATED" in capsys.readouterr().out


def test_the_same_command_resumes(copied, capsys, monkeypatch):
    made, attack = [], ToleranceAttack.__call__

    def counted(self, record, field, x):
        if len(made) == stop:
            raise KeyboardInterrupt
        made.append((record.item, record.part))
        return attack(self, record, field, x)

    monkeypatch.setattr(ToleranceAttack, "__call__", counted)
    stop = 2
    assert run(["attack", str(copied), *QUICK]) == 130
    with Store.read_any(copied) as store:
        half = store.tolerance_findings()
    stop = 100
    first = printed(capsys, "attack", copied, *QUICK)
    assert len(made) == len(set(made)) == 4
    assert [one.row() for one in half[0]] == json.loads(
        json.dumps([one for one in first["findings"] if one["item"] == 0]), object_hook=tupled
    )
    assert printed(capsys, "attack", copied, *QUICK) == first
    assert len(made) == 4, "nothing is attacked twice in the same way"
    other = printed(capsys, "attack", copied, *QUICK, "--seed", 1)["findings"]
    assert len(made) == 8
    assert len(other) == len(first["findings"])
    assert {one["seed"] for one in other} == {1}


def tupled(row):
    """As findings have it."""
    return row | {"reach": tuple(row["reach"])} if "reach" in row else row


def test_a_doubtful_record_is_not_attacked(copied, capsys):
    with Store.append(copied) as store:
        record = store.record(0, "rotation")
        store.add(Outcome(0, replace(record, reaches=dict.fromkeys(record.reaches, (-30.0, 30.0)), seal="")))
    assert run(["attack", str(copied), *QUICK]) == 0
    told = capsys.readouterr()
    assert "1 doubtful record(s) prove nothing" in told.out + told.err
    with Store.read_any(copied) as store:
        assert {one.change for one in store.tolerance_findings()[0]} == {"brightness"}


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "ifia"],
        ["--restarts", "3"],
        ["--steps", "3"],
        ["--samples", "9"],
        ["--tightness"],
        ["--cosine", "0.9"],
    ],
)
def test_options_of_other_attacks_are_refused(folder, words, capsys):
    line = refused(capsys, "attack", folder, *words)
    assert line.startswith(f"error: {words[0]}: for attacks on certificates only, and this is a run of tolerances")
    with Store.read_any(folder) as store:
        assert store.tolerance_findings() == {}


def test_a_broken_finding_is_one_line(copied, capsys):
    with Store.append(copied) as store:
        store.connection.execute('INSERT INTO findings VALUES (0, \'[{"kind": "other"}]\')')
        store.connection.commit()
    for words in (["show", copied], ["attack", copied], ["report", copied]):
        assert "holds a broken finding (item 0)" in refused(capsys, *words)


def test_help_says_what_happens(capsys):
    assert run(["attack", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "scans are searched with draws of their own" in told
