"""What the paper prints, held against its own formula, and the command that shows it."""

import json
import math

import pytest

import attribound as ab
from attribound import cli
from attribound.attacks.score import rescore
from attribound.bounds import (
    cosine_bound_paper,
    largest_moved_fraction_paper,
    max_epsilon_paper,
    min_radius,
    moved_fraction,
    shift_size,
)
from attribound.certification.reopen import Opened
from attribound.models import load_model
from attribound.paper import Settings
from attribound.paper.attacking import worst_attack
from attribound.paper.published import TABLE2, TABLE3, TABLE5, TABLE6, TABLE7, TABLE9, TABLE9_CIFAR10, TABLE9_IMAGENET
from attribound.paper.settings import RADII
from attribound.paper.survey import EPSILONS, useful_radius


def test_the_papers_tables_exceed_what_its_own_formula_allows() -> None:
    """17 of 39 MNIST entries: more than c <= M gives. And no entry of tables 2 and 3 leaves 2 p below 1."""
    entries = [
        (value, moved_fraction(epsilon, radius=radius, dim=784))
        for (_, epsilon), row in TABLE2.items()
        for radius, value in zip(RADII, row, strict=True)
        if value is not None
    ]
    assert len(entries) == 39
    assert sum(value > cosine_bound_paper(1.0, 1.0, moved) + 5e-5 for value, moved in entries) == 17
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


@pytest.mark.slow
def test_the_papers_bound_is_broken_on_a_trained_network(tmp_path, sample) -> None:
    """Saliency of the standard digit classifier, at a radius and epsilon of table 2.

    The same with constructed fields, quickly: `test_counterexamples_break_the_paper_and_not_the_tight_bound`.
    """
    radius = epsilon = 1.0
    noise = ab.UniformBall(radius)
    subject = Opened(ab.Unit(ab.Saliency(load_model("mnist-cnn"))), sample[0][4], noise)
    certificate = ab.certify(subject.field, subject.x, noise=noise, samples=2048, seed=1, item=4)
    settings = Settings(out=tmp_path, items=1, samples=2, restarts=1, steps=60)
    worst = worst_attack(settings, subject, certificate, epsilon)
    family = subject.family(certificate.target)
    sure = rescore(family, family.at(worst.delta), noise, 16384, seed=2)
    paper = cosine_bound_paper(certificate.norm_lower, 1.0, moved_fraction(epsilon, radius=radius, dim=784))
    assert worst.label_kept
    assert worst.length <= epsilon
    assert sure.cosine_most < paper
    assert certificate.cosine(epsilon) <= sure.cosine


def test_useful_radius_is_where_the_tight_bound_begins() -> None:
    radius = useful_radius(0.5, 784)
    assert 2 * moved_fraction(0.5, radius=radius, dim=784) == pytest.approx(1.0, abs=1e-12)
    assert 2 * moved_fraction(0.5, radius=radius * 1.001, dim=784) < 1
    assert cosine_bound_paper(1.0, 1.0, 1.0) == pytest.approx(1 / math.sqrt(5))


def test_the_command_prints_the_table(tmp_path, capsys) -> None:
    assert cli.run(["paper", "counterexamples", "--quick", "--out", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["name"], len(answer["rows"])) == ("counterexamples", 3)
    assert (tmp_path / "counterexamples.json").exists()


def test_unknown_names_are_one_line(capsys) -> None:
    assert cli.run(["paper", "table10"]) == 2
    err = capsys.readouterr().err
    assert "expected list, all, table1" in err
    assert err.count("\n") == 1
    assert cli.run(["paper", "LIST"]) == 0
    assert "table9" in capsys.readouterr().out
