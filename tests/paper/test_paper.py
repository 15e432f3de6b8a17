"""The paper's tables: every one runs quickly, resumes, and tells the truth about its formula."""

import json
import math
from pathlib import Path

import pytest

import attribound as ab
from attribound import cli
from attribound.attacks.score import rescore
from attribound.bounds import cosine_bound_paper, max_epsilon_paper, min_radius, moved_fraction
from attribound.bounds.overlap import shift_size
from attribound.bounds.paper import largest_moved_fraction_paper
from attribound.models import load_model
from attribound.paper import EXPERIMENTS, Settings, Table, conduct
from attribound.paper.attacking import worst_attack
from attribound.paper.experiment import Experiment
from attribound.paper.published import (
    TABLE2,
    TABLE3,
    TABLE5,
    TABLE6,
    TABLE7,
    TABLE9,
    TABLE9_CIFAR10,
    TABLE9_IMAGENET,
)
from attribound.paper.settings import RADII, Cell, predicted
from attribound.paper.survey import EPSILONS, paper_ceiling, useful_radius


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One folder for all, as `paper all` has it: tables share their cells."""
    return tmp_path_factory.mktemp("paper")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs_quickly_and_writes_its_files(name, folder, capsys) -> None:
    assert cli.run(["paper", name, "--quick", "--out", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"]
    assert all(len(row) == len(answer["columns"]) for row in answer["rows"])
    text = (folder / f"{name}.md").read_text()
    assert text.count("\n| ") == len(answer["rows"]) + 2
    assert (folder / f"{name}.tex").read_text().count(r"\\") == len(answer["rows"]) + 1
    assert (folder / f"{name}.png").exists() == name.startswith("figure")


def test_counterexamples_break_the_paper_and_not_the_tight_bound(folder, capsys) -> None:
    cli.run(["paper", "counterexamples", "--quick", "--out", str(folder), "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 3
    for row in rows:
        _, _, _, cosine, paper, verdict, tight, sound = row
        assert float(cosine) < float(paper)
        assert (verdict, sound) == ("violated", "holds")
        assert float(cosine) >= float(tight) - 0.02


def test_the_papers_tables_exceed_what_its_own_formula_allows() -> None:
    """17 of 39 MNIST entries: more than c <= M gives. And no entry of tables 2 and 3 leaves 2 p below 1."""
    entries = [
        (value, moved_fraction(epsilon, radius=radius, dim=784))
        for (_, epsilon), row in TABLE2.items()
        for radius, value in zip(RADII, row, strict=True)
        if value is not None
    ]
    assert len(entries) == 39
    assert sum(value > paper_ceiling(moved) + 5e-5 for value, moved in entries) == 17
    assert min(moved for _, moved in entries) > 0.95
    assert all(moved_fraction(e, radius=r, dim=3 * 224 * 224) > 0.99 for e in TABLE3 for r in RADII)
    assert set(TABLE7) == {0.8, 0.9}


def test_the_papers_largest_epsilons_exceed_what_its_own_formula_allows() -> None:
    """All 98 values are larger than the formula's value at c = M, which is its largest."""
    imagenet = {("", cosine): row for cosine, row in TABLE7.items()}
    beyond = [
        value > max_epsilon_paper(cosine, norm=1.0, limit=1.0, radius=radius, dim=dim) + 5e-5
        for table, dim in ((TABLE5, 784), (TABLE6, 3072), (imagenet, 3 * 224 * 224))
        for (_, cosine), row in table.items()
        for radius, value in zip(RADII, row, strict=True)
    ]
    assert (len(beyond), sum(beyond)) == (98, 98)


def test_the_papers_smallest_radii_are_below_its_own_formula_and_follow_other_laws() -> None:
    """All 28 are below the least that it gives (c = M). CIFAR-10: 4 + k epsilon. MNIST: 4/3 of the radius for 0.8."""
    below = [
        radius < epsilon / shift_size(largest_moved_fraction_paper(1.0, 1.0, cosine), radius=1.0, dim=dim)
        for table, dim in ((TABLE9, 784), (TABLE9_CIFAR10, 3072), (TABLE9_IMAGENET, 3 * 224 * 224))
        for (_, cosine), row in table.items()
        for epsilon, radius in zip(EPSILONS, row, strict=True)
    ]
    assert (len(below), sum(below)) == (28, 28)
    floor = min_radius(0.8, 0.5, norm=1.0, limit=1.0, dim=784)  # where the paper's formula and ours agree
    assert floor == pytest.approx(14.33, abs=0.01)
    assert all(2 * half - one == pytest.approx(4.0, abs=2e-4) for half, one in TABLE9_CIFAR10.values())
    for (model, cosine), row in TABLE9.items():
        ratios = [high / low for high, low in zip(row, TABLE9[model, 0.8], strict=True)]
        assert cosine == 0.8 or ratios == pytest.approx([4 / 3] * 2, abs=1e-4)


def test_the_papers_bound_differs_where_its_formula_cannot() -> None:
    """At r = 2 practically all noise moves for either epsilon, so T can change by 0.0002 at most; printed: 0.047."""
    p = [moved_fraction(epsilon, radius=2.0, dim=784) for epsilon in EPSILONS]
    kappas = [k / 100 for k in range(1, 101)]
    most = max(abs(cosine_bound_paper(k, 1.0, p[0]) - cosine_bound_paper(k, 1.0, p[1])) for k in kappas)
    printed = [TABLE2["Standard", epsilon][RADII.index(2.0)] for epsilon in EPSILONS]
    assert most < 2e-4
    assert printed[0] - printed[1] == pytest.approx(0.0468)


def test_the_papers_bound_is_broken_on_a_trained_network(tmp_path, sample) -> None:
    """No constructed example: saliency of the standard digit classifier, at a radius and epsilon of table 2."""
    radius = epsilon = 1.0
    network = load_model("mnist-cnn")
    field, image, item = ab.Unit(ab.Saliency(network)), sample[0][4], 4
    target = predicted(network, image)
    certificate = ab.certify(field, image, target, noise=ab.UniformBall(radius), samples=2048, seed=1)
    settings = Settings(out=tmp_path, items=1, samples=2, restarts=1, steps=60)
    worst = worst_attack(settings, field, image, target, radius, epsilon, item)
    sure = rescore(field, image, worst.delta, target, ab.UniformBall(radius), 16384, seed=2)
    paper = cosine_bound_paper(certificate.norm_lower, 1.0, moved_fraction(epsilon, radius=radius, dim=784))
    assert worst.label_kept
    assert worst.length <= epsilon
    assert sure.cosine_most < paper
    assert certificate.cosine(epsilon) <= sure.cosine


def test_useful_radius_is_where_the_tight_bound_begins() -> None:
    radius = useful_radius(0.5, 784)
    assert (
        2 * moved_fraction(0.5, radius=radius, dim=784) < 1 <= 2 * moved_fraction(0.5, radius=radius * 0.999, dim=784)
    )
    assert paper_ceiling(1.0) == pytest.approx(1 / math.sqrt(5))


class Counting(Experiment):
    """Counts how often its cells are computed, and fails at the second one once."""

    name, title = "counting", "Counting"
    calls: list[str] = []  # noqa: RUF012

    def cells(self, settings):
        return [Cell(key, {}, lambda key=key: self.work(key)) for key in ("a", "b")]

    def work(self, key):
        self.calls.append(key)
        if self.calls == ["a", "b"]:
            raise KeyboardInterrupt
        return key

    def table(self, settings, found):
        return Table("t", ["x"], [[value] for value in found.values()], ["a | b & c"])


def test_an_interrupted_experiment_goes_on(tmp_path) -> None:
    settings = Settings(out=tmp_path, items=1, samples=2)
    with pytest.raises(KeyboardInterrupt):
        conduct(Counting(), settings)
    assert conduct(Counting(), settings).rows == [["a"], ["b"]]
    assert Counting.calls == ["a", "b", "b"]


def test_cells_of_another_alpha_are_other_cells(tmp_path) -> None:
    loose, strict = (Settings(out=tmp_path, items=1, samples=16, alpha=alpha) for alpha in (0.5, 1e-6))
    keys = [EXPERIMENTS["table5"].cells(one)[0].key for one in (loose, loose, strict)]
    assert keys[0] == keys[1] != keys[2]


def test_latex_is_escaped() -> None:
    text = Table("50 % of a_b & c", ["p <= 1"], [["{x}"]], []).latex()
    assert r"50 \% of a\_b \& c" in text
    assert r"p $\le$ 1" in text
    assert r"\{x\}" in text


def test_unknown_names_are_one_line(capsys) -> None:
    assert cli.run(["paper", "table10"]) == 2
    err = capsys.readouterr().err
    assert "expected list, all, table1" in err
    assert err.count("\n") == 1
    assert cli.run(["paper", "LIST"]) == 0
    assert "table9" in capsys.readouterr().out
