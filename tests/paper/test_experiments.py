"""Every table and figure runs quickly, resumes, and is a function of the numbers in its file."""

import json
from pathlib import Path

import pytest

from attribound.errors import AttriboundError, StoredDataError
from attribound.paper import EXPERIMENTS, Experiment, Settings, Table, conduct
from attribound.paper.experiment import Kept, Piece
from attribound.paper.montecarlo import REPETITIONS

RESULTS = Path(__file__).parents[2] / "results" / "paper"
EMBEDDED = [
    *("table1", "table2", "table4", "table5", "table8", "table9"),
    *("figure1", "figure2", "montecarlo", "attacks", "counterexamples"),
]
"""Those whose models and data are shipped."""
SOFTMAX = {"attribution": "ig", "output": "probability"}
PAPERS = {
    **{key: {**SOFTMAX, "items": 50, "samples": 128} for key in ("table2", "table5")},
    "table8": {**SOFTMAX, "attribution": "ig-random", "items": 50, "samples": 1024, "steps": 10},
    "table9": {**SOFTMAX, "items": 50, "samples": 64, "quick": True},
}
"""Those of them that were run in the paper's own setting, and how."""


def quick(experiment: Experiment, out: Path, **given) -> Settings:
    """As `attribound paper NAME --quick` has it."""
    size = {"items": experiment.quick_items, "samples": experiment.quick_samples, "restarts": 2, "steps": 2}
    return Settings(out=out, quick=True, **{**size, **given})


def smaller(experiment: Experiment, out: Path) -> Settings:
    """Fewer and smaller still: what is written does not depend on it."""
    least = {"items": 1, "samples": min(experiment.quick_samples, 16)}
    least |= {"gridpg": {"samples": 1, "data": "photos?size=16"}, "figure3": {"samples": 2}}.get(experiment.name, {})
    return quick(experiment, out, **({} if experiment.name == "counterexamples" else least))


def full(experiment: Experiment, out: Path, **given) -> Settings:
    """As `attribound paper NAME` has it."""
    return Settings(out=out, **{"items": experiment.items, "samples": experiment.samples, **given})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One folder for all, as `paper all` has it: tables share their runs."""
    return tmp_path_factory.mktemp("paper")


LONGEST = {"table4", "table6", "table8"}
"""Their like is tried by the others."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONGEST else name for name in EXPERIMENTS]
)
def test_every_experiment_runs_quickly_and_writes_its_files(name, folder, monkeypatch) -> None:
    for draws in ("attacking.SCORED", "attacks.CERTAIN"):
        monkeypatch.setattr(f"attribound.paper.{draws}", 64)
    monkeypatch.setitem(REPETITIONS, True, 1)
    experiment = EXPERIMENTS[name]
    table = conduct(experiment, smaller(experiment, folder))
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert (folder / f"{name}.md").read_text().count("\n| ") == len(table.rows) + 2
    assert (folder / f"{name}.tex").read_text().count(r"\\") == len(table.rows) + 1
    assert (folder / f"{name}.png").exists() == name.startswith("figure")
    assert (folder / f"{experiment.file or name}.json").exists() == (name not in {"table3", "table7"})


def test_counterexamples_break_the_paper_and_not_the_tight_bound(folder) -> None:
    rows = conduct(EXPERIMENTS["counterexamples"], quick(EXPERIMENTS["counterexamples"], folder)).rows
    assert len(rows) == 3
    for row in rows:
        _, _, _, cosine, paper, verdict, tight, sound = row
        assert float(cosine) < float(paper)
        assert (verdict, sound) == ("violated", "holds")
        assert float(cosine) >= float(tight) - 0.02


@pytest.mark.parametrize(
    ("name", "given"), [*((name, {}) for name in EMBEDDED), *((f"ig/{name}", given) for name, given in PAPERS.items())]
)
def test_stored_results_give_their_tables_without_computing_anything(name, given, tmp_path, monkeypatch) -> None:
    experiment, stored = EXPERIMENTS[Path(name).name], (RESULTS / name).parent
    monkeypatch.setattr(Kept, "once", lambda kept, piece: kept._pieces[piece.key]["value"])
    file = f"{experiment.file or experiment.name}.json"
    (tmp_path / file).write_bytes((stored / file).read_bytes())
    table = conduct(experiment, full(experiment, tmp_path, **given))
    assert table.markdown() == (RESULTS / f"{name}.md").read_text()
    assert table.latex() == (RESULTS / f"{name}.tex").read_text()
    assert (tmp_path / file).read_bytes() == (stored / file).read_bytes()
    assert not (tmp_path / "runs").exists()


def test_results_are_compact() -> None:
    sizes = {path: path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()}
    assert max(sizes.values()) < 300_000
    assert sum(sizes.values()) < 1_500_000
    assert max(size for path, size in sizes.items() if path.suffix == ".png") < 200_000


class Counting(Experiment):
    """Counts how often its pieces are computed, and fails at the second one once."""

    name, title = "counting", "Counting"
    calls: list[str] = []  # noqa: RUF012

    def pieces(self, settings):
        return {key: Piece(key, {}, lambda key=key: self.work(key)) for key in ("a", "b")}

    def work(self, key):
        self.calls.append(key)
        if self.calls == ["a", "b"]:
            raise KeyboardInterrupt
        return key

    def table(self, settings, numbers):
        return Table("t", ["x"], [[value] for value in numbers.values()], ["a | b & c"])


def test_an_interrupted_experiment_goes_on(tmp_path) -> None:
    settings = Settings(out=tmp_path, items=1, samples=2)
    with pytest.raises(KeyboardInterrupt):
        conduct(Counting(), settings)
    assert conduct(Counting(), settings).rows == [["a"], ["b"]]
    assert Counting.calls == ["a", "b", "b"]
    assert (tmp_path / "counting.json").read_text().count("\n") == 4, "one line per piece"


def test_pieces_of_other_settings_are_kept_beside_each_other(tmp_path) -> None:
    loose, strict = (Settings(out=tmp_path, items=1, samples=16, alpha=alpha) for alpha in (0.5, 1e-6))
    pieces = [next(iter(EXPERIMENTS["table5"].pieces(settings).values())) for settings in (loose, loose, strict)]
    keys = [piece.key for piece in pieces]
    assert keys[0] == keys[1] != keys[2]
    file = tmp_path / "x.json"
    for number, piece in enumerate(pieces):
        assert Kept(file).once(Piece(piece.name, piece.about, lambda number=number: number)) == (0, 0, 2)[number]
    assert sorted(json.loads(file.read_text())) == sorted({keys[0], keys[2]})


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"about": {}}}'])
def test_a_broken_file_is_one_clear_line(content, tmp_path) -> None:
    (tmp_path / "counting.json").write_text(content)
    with pytest.raises(StoredDataError, match=r"counting\.json does not hold the numbers of a table"):
        conduct(Counting(), Settings(out=tmp_path, items=1, samples=2))


def test_an_unknown_attribution_is_one_clear_line(tmp_path) -> None:
    settings = Settings(out=tmp_path, items=1, samples=16, quick=True, attribution="nonsense")
    with pytest.raises(AttriboundError, match="expected an attribution"):
        conduct(EXPERIMENTS["table2"], settings)


def test_latex_is_escaped() -> None:
    text = Table("50 % of a_b & c", ["p <= 1"], [["{x}"]], []).latex()
    assert r"50 \% of a\_b \& c" in text
    assert r"p $\le$ 1" in text
    assert r"\{x\}" in text
