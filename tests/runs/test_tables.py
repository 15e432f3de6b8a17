"""Tables and sequences from the command line: units, names, reasons, class names; data without labels; why not."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from attribound import cli
from attribound.runs import Store

UNITS = (2.0, 0.1, 30.0, 1.0)


class Applicant(nn.Module):
    """A score that knows its features' units: the last does not matter."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([0.3, 2.0, -1.0, 0.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score = torch.tanh(x / torch.tensor(UNITS)) @ self.weights
        return torch.stack([score, -score], dim=1)


class Constant(nn.Module):
    """Its attribution points anywhere: nothing can be certified."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score = torch.sin(1e6 * x).sum(dim=1)
        return torch.stack([score, -score], dim=1)


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), err


@pytest.fixture
def table(tmp_path, monkeypatch) -> list[str]:
    """A folder with a table to learn units from, a table to certify, and weights."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, rows in (("train.csv", 400), ("test.csv", 6)):
        values = rng.normal(size=(rows, 4)) * UNITS
        lines = [",".join([*map(str, row), "granted" if row[1] > 0 else "denied"]) for row in values]
        (tmp_path / name).write_text("\n".join(["age,debt,income,shoe,outcome", *lines]) + "\n")
    torch.save(Applicant().state_dict(), "applicant.pt")
    data = "csv:test.csv?label=outcome&classes=granted,denied&scale=train.csv"
    network = ["--model", "applicant.pt", "--arch", "tests.runs.test_tables:Applicant"]
    noise = ["--noise", "gaussian:0.5", "--samples", "512", "--workers", "1", "--items", "3"]
    return ["certify", *network, "--data", data, *noise]


def test_units_names_and_reasons_of_a_table(table, tmp_path, capsys) -> None:
    flags = ("--map", "scaled", "--map", "abs", "--reasons", "2", "--target", "denied", "--out", "run")
    code, out, err = call(capsys, *table, *flags)
    assert code == 0, err
    assert "gaussian:0.5 in units per feature" in out
    assert "the top 2 reasons provably stay" in out
    with Store.read(tmp_path / "run") as store:
        config, record = store.config, next(iter(store.records()))
    assert config.units == pytest.approx(UNITS, rel=0.15)
    assert record.noise.units == record.subject.units == config.units
    assert record.features == ("age", "debt", "income", "shoe")
    assert record.target == 1
    assert {one.name for one in record.reasons} == {"debt", "income"}
    assert record.reasons[0].name == "debt"
    assert record.reasons[0].stays > 0.1, "in standard deviations"

    network = ("--model", "applicant.pt", "--arch", "tests.runs.test_tables:Applicant")
    code, out, err = call(capsys, "verify", "run", *network, "--resample", "1")
    assert code == 0, out + err
    assert "3 records follow from their evidence; computed again, with the same result: 1" in out
    code, out, _ = call(capsys, "show", "run", "--json")
    assert json.loads(out)["orders"]["stay"].keys() == {"2", "1"}
    assert call(capsys, *table, *flags)[0] == 0, "the same command goes on with the run"
    code, _, err = call(capsys, *table[:-2], "--items", "3", *flags[:-4], "--out", "run")
    assert (code, "target denied -> None" in err) == (2, True)
    code, out, _ = call(capsys, "report", "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Top 2 reasons that stay" in page
    assert "--target denied --reasons 2" in page
    assert "income stays among the first 2 reasons up to epsilon 0." in page


def test_one_reason_under_an_assumed_limit_is_not_proved_anywhere(table, tmp_path, capsys) -> None:
    flags = ("--reasons", "1", "--map", "scaled", "--bound", "assumed:3", "--out", "run")
    code, out, err = call(capsys, *table, *flags)
    assert code == 0, err
    assert "the top 1 reasons would stay under the ASSUMED limit, median epsilon over inputs: 1 of them up to 0." in out
    assert "Largest epsilon under the ASSUMED limit" in out
    assert "certified" not in out
    assert "provably" not in out
    assert call(capsys, "report", "run")[0] == 0
    assert " stays among the first 1 reasons up to epsilon 0." in (
        page := (tmp_path / "run" / "report.html").read_text()
    )
    assert "ASSUMED: " in page


def test_what_alpha_means_is_said_exactly(table, capsys) -> None:
    _, out, _ = call(capsys, *table, "--alpha", "0.0012345678", "--out", "each")
    assert "false with probability at most 0.0012345678, so of the 3 tried at most 0.0037037034 are expected" in out
    _, out, _ = call(capsys, *table, "--alpha", "0.003", "--simultaneous", "--out", "all")
    assert "All 3 certificates are true at once with probability at least 99.7 %" in out


def test_bad_wishes_are_refused_in_a_line(table, capsys) -> None:
    code, _, err = call(capsys, *table, "--target", "grantde", "--out", "run")
    assert (code, "expected `target` to be a class (granted, denied)" in err) == (2, True)
    plain = [word.replace("&scale=train.csv", "") for word in table]
    code, _, err = call(capsys, *plain, "--map", "scaled", "--out", "run")
    assert (code, "--map scaled needs data with units: csv:FILE?scale=FILE" in err) == (2, True)


def test_sequences_without_labels(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", x=np.random.default_rng(1).normal(size=(3, 4)) * 5)
    network = ("--model", "tests.runs.test_tables:Applicant", "--data", "npz:x.npz?range=any")
    code, out, err = call(capsys, "certify", *network, "--samples", "128", "--workers", "1", "--out", "run")
    assert (code, "3 inputs: 3 certified " in out) == (0, True), err
    assert "accuracy" not in out
    code, _, err = call(capsys, "tune", *network)
    assert (code, "tune, which measures accuracy under noise, needs the class of every input" in err) == (2, True)
    code, _, err = call(capsys, "train", "--data", "npz:x.npz?range=any", "--out", "m.safetensors")
    assert (code, "training needs the class of every input of npz:x.npz: it has none" in err) == (2, True)


def test_show_says_why_inputs_are_uncertified(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", x=np.random.default_rng(1).normal(size=(2, 4)))
    network = ("--model", "tests.runs.test_tables:Constant", "--data", "npz:x.npz?range=any")
    code, _, err = call(capsys, "certify", *network, "--samples", "64", "--workers", "1", "--out", "run")
    assert code == 0, err
    _, out, _ = call(capsys, "show", "run")
    assert "2 inputs: 2 uncertified" in out
    assert "item 0 is uncertified: cosine 0.8 is not certified: the smoothed map's norm" in out


def test_tune_counts_in_the_table_s_units(table, capsys) -> None:
    chosen = [*table[1:7], "--items", "2", "--samples", "256", "--level", "0.5", "--map", "scaled", "--json"]
    code, out, err = call(capsys, "tune", *chosen)
    assert code == 0, err
    level = json.loads(out)["levels"][0]
    assert level["sigma"] == 0.5
    assert level["median_max_epsilon"] > 0.1


def test_with_units_no_page_speaks_of_an_l2_size(table, tmp_path, capsys) -> None:
    """Page, auditor's report, card and gate say what epsilon counts."""
    assert call(capsys, *table, "--map", "scaled", "--out", "run")[0] == 0
    for flags, name in (((), "page.html"), (("--audience", "auditor"), "audit.html")):
        assert call(capsys, "report", "run", *flags, "--out", name)[0] == 0
    assert call(capsys, "export", "run", "--format", "model-card", "--out", "card.md")[0] == 0
    pages = {name: " ".join((tmp_path / name).read_text().split()) for name in ("page.html", "audit.html", "card.md")}
    pages["gate"] = " ".join(call(capsys, "gate", "run", "--cosine", "0.8", "--epsilon", "0.01", "--share", "0.5")[1:])
    for name, text in pages.items():
        assert "size in units of each feature" in text, name
        assert "l2 " not in text, name
