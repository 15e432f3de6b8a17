"""The paper's tables: every one runs quickly, resumes, and tells the truth about its formula."""

import json
import math
from pathlib import Path

import pytest

from attribound import cli
from attribound.bounds import max_epsilon_paper, moved_fraction
from attribound.paper import EXPERIMENTS, Settings, Table, conduct
from attribound.paper.experiment import Experiment
from attribound.paper.published import TABLE2, TABLE3, TABLE5, TABLE6, TABLE7
from attribound.paper.settings import RADII, Cell
from attribound.paper.survey import paper_ceiling, useful_radius


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
