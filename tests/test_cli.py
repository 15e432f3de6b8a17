"""The command line as typed: output, JSON, exit codes, one-line errors."""

import json
import subprocess
import sys
from typing import Any, get_args

import pytest
from msgspec.structs import replace
from safetensors.torch import save_file

import attribound as ab
from attribound import cli
from attribound.attacks import BUDGETS, METHODS, Direct
from attribound.bounds import LAWS
from attribound.cli import choices
from attribound.demo import photos
from attribound.fields.precision import PRECISIONS
from attribound.models import make_model
from attribound.runs import RunConfig
from attribound.runs.export import FORMATS
from attribound.training import NAMES, NORMS


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


BALL = ("bound", "--dim", "784", "--radius", "1", "--norm", "0.5", "--limit", "1")


def test_bound_json(capsys) -> None:
    code, out, _ = call(capsys, *BALL, "--epsilon", "0.01", "--cosine", "0.9", "--json")
    answers = json.loads(out)
    assert code == 0
    assert list(answers) == ["moved_fraction", "cosine", "cosine_paper", "max_epsilon", "min_radius"]
    assert answers["cosine"] == pytest.approx(0.8952799897234502, rel=1e-12)
    assert answers["cosine_paper"] == pytest.approx(0.9134520162000966, rel=1e-12)
    assert answers["max_epsilon"] == pytest.approx(0.009782831103515239, rel=1e-12)
    assert answers["min_radius"] == pytest.approx(1.0221989825017757, rel=1e-12)


@pytest.mark.parametrize(
    ("flags", "keys"),
    [
        (("--epsilon", "0.01"), ["moved_fraction", "cosine", "cosine_paper"]),
        (("--cosine", "0.9"), ["max_epsilon"]),
    ],
)
def test_bound_answers_what_is_asked(flags, keys, capsys) -> None:
    _, out, _ = call(capsys, *BALL, *flags, "--json")
    assert list(json.loads(out)) == keys


def test_bound_gaussian(capsys) -> None:
    flags = ("bound", "--sigma", "0.5", "--norm", "0.9", "--epsilon", "0.1", "--cosine", "0.8", "--json")
    _, out, _ = call(capsys, *flags)
    assert list(json.loads(out)) == ["moved_fraction", "cosine", "cosine_paper", "max_epsilon", "min_sigma"]


def test_bound_where_nothing_is_large_enough(capsys) -> None:
    flags = ("bound", "--norm", "0", "--sigma", "1", "--cosine", "0.8", "--epsilon", "0.1")
    code, out, _ = call(capsys, *flags)
    assert code == 0
    assert "min_sigma        none is large enough" in out
    assert "max_epsilon      0.0000000000" in out
    _, out, _ = call(capsys, *flags, "--json")
    assert json.loads(out)["min_sigma"] is None


def test_bound_for_people(capsys) -> None:
    code, out, _ = call(capsys, *BALL, "--epsilon", "0.01", "--cosine", "0.9")
    assert code == 0
    assert "cosine           0.8952799897\n" in out  # rounded down
    assert "min_radius       1.0221989826\n" in out  # a need is rounded up
    assert "NOT a guarantee" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bound", "--dim", "1", "--radius", "1", "--norm", "0.5", "--epsilon", "0.1"), "expected `dim` to be a whole"),
        (("bound", "--dim", "9", "--radius", "-1", "--norm", "0.5", "--epsilon", "1"), "expected `radius` > 0, got -1"),
        (("bound", "--dim", "9", "--radius", "1", "--norm", "2", "--epsilon", "1"), "expected `norm` <= `limit`"),
        (("bound", "--dim", "9", "--radius", "1", "--norm", "nan", "--epsilon", "1"), "got nan"),
        (BALL, "expected --epsilon, --cosine or both"),
        ((*BALL, "--sigma", "1", "--epsilon", "1"), "expected --radius (uniform ball) or --sigma (Gaussian), got both"),
        (("bound", "--norm", "0.5", "--epsilon", "1"), "expected --radius (uniform ball) or --sigma (Gaussian)"),
        (("bound", "--radius", "1", "--norm", "0.5", "--epsilon", "1"), "expected --dim"),
        (("bound", "--norm", "much"), "expected --norm to be a number, got 'much'"),
        (("bound", "--nrm", "1"), "No such option: --nrm"),
        (("fly",), "No such command 'fly'"),
        (("verify", "no-such-file.json"), "no such file: no-such-file.json"),
        (("demo", "--alpha", "2", "--items", "1"), "expected `alpha` in (0, 1), got 2"),
        (("demo", "--items", "0"), "expected --items >= 1, got 0"),
        (("demo", "--items=999"), "expected --items <= 300, got 999"),
        (("demo", "--items", "1.5"), "expected --items to be a whole number, got 1.5"),
        (("export", "a-run", "--format", "xml"), "expected --format one of 'csv', 'json', 'latex', 'parquet'"),
        (("bound", "--norm"), "Option '--norm' requires an argument"),
        (("attack", "/"), "expected a run or a stored certificate, and / is neither"),
        (("replay", "no-such-file.json"), "error: no such file: no-such-file.json"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, capsys) -> None:
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.fixture
def hasty(monkeypatch) -> None:
    """A demo with fewer draws for rotations and for its attack."""
    few = {"steps": 4, "samples": 32, "rescore_samples": 512}
    monkeypatch.setattr("attribound.demo.Direct", lambda **given: Direct(**given | few))
    monkeypatch.setattr("attribound.demo._SHEET_SAMPLES", 200)


@pytest.mark.usefixtures("hasty", "quick_audits")
def test_demo_and_verify(tmp_path, capsys) -> None:
    code, out, err = call(capsys, "demo", "--out", tmp_path, "--items", "2", "--samples", "128")
    assert code == 0
    assert out.index("How far the first image may change") < out.index("that provably keeps")
    for words in ("NOT", "worst found", "cold", "class and", "The nearest change that makes"):
        assert words in out
    assert "credit: 50 of 50" in err
    assert "uniform: 2 of 2" in err, "plain lines where there is no terminal"
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [run["name"] for run in summary["runs"]] == ["uniform", "gaussian", "patches"]
    assert list(summary["everyday"]["changes"]) == ["rotation", "brightness", "shift-x"]
    assert summary["everyday"]["changes"]["brightness"]["median_reach"]["0.8"] == [-64, 64]
    assert "provably survives" in (tmp_path / "report-everyday.html").read_text(encoding="utf-8")
    wanted = "noise radius sigma model items samples alpha accuracy accuracy_noisy median_max_epsilon"
    assert set(wanted.split()) <= set(summary["runs"][0])
    assert set(summary["runs"][0]["median_max_epsilon"]) == {"0.8", "0.9"}
    assert summary["runs"][1]["median_max_epsilon"]["0.8"] > 0.3
    patches = summary["runs"][2]
    assert 0 < patches["median_joint_epsilon"]["0.8"] <= patches["median_max_epsilon"]["0.8"]
    assert all(sum(one["0.5"]["0.25"].values()) == 49 for one in patches["cells"])
    assert (summary["credit"]["items"], summary["credit"]["exact"]) == (50, 50)
    assert "holds up to" in (tmp_path / "report-credit.html").read_text()
    assert len(summary["attacks"]) == 2
    assert not any(row["violated"] for row in summary["attacks"])
    assert (tmp_path / "uniform.png").stat().st_size > 10_000
    assert call(capsys, "verify", tmp_path / "gaussian")[0] == 0, "an ordinary run"
    code, out, _ = call(capsys, "show", tmp_path / "gaussian", "--json")
    assert json.loads(out)["attacked"]["items"] == 2, "an ordinary audit"
    stored = tmp_path / "gaussian" / "001.json"
    code, out, _ = call(capsys, "verify", stored, "--model", "mnist-cnn-consistency")
    assert code == 0
    assert "every number follows from its evidence" in out
    code, _, err = call(capsys, "verify", stored, "--model", "mnist-cnn", "--json")
    assert code == 2
    assert "mnist-cnn is not the model that was certified" in err
    record = json.loads(stored.read_text())
    record["max_epsilon"]["0.8"] *= 2
    stored.write_text(json.dumps(record))
    code, out, _ = call(capsys, "verify", stored)
    assert code == 1
    assert "states max_epsilon(0.8)" in out


def test_demo_of_photos_takes_items_and_names_classes(tmp_path, monkeypatch, capsys) -> None:
    """With a network that nobody trained and smaller pictures: what is asked for and printed does not depend on it."""
    asked: list[str] = []

    def smaller(*given: Any, **options: Any) -> dict[str, RunConfig]:
        (config,) = photos(*given, **options).values()
        asked.append(config.data)
        return {"photos": replace(config, data="photos?size=96")}

    network = make_model("efficientnet-lite0").eval()
    network._fc.bias.data[282] = 1e3
    save_file(
        {name: value.contiguous() for name, value in network.state_dict().items()},
        tmp_path / "efficientnet-lite0.safetensors",
    )
    monkeypatch.setattr("attribound.data.fetch.fetch", lambda *arguments, **options: None)
    monkeypatch.setattr("attribound.demo.PHOTO_CHANGES", ("brightness:1",))
    monkeypatch.setattr("attribound.demo.photos", smaller)
    flags = ("--photos", "--weights", tmp_path, "--samples", "16", "--out", tmp_path / "out", "--items", "1")
    code, out, err = call(capsys, "demo", *flags, "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["runs"][0]["items"], summary["runs"][0]["explained"]) == (1, ["tiger cat"])
    assert asked == ["photos"]


def test_the_demos_help_speaks_of_both(capsys) -> None:
    code, out, _ = call(capsys, "demo", "--help")
    assert code == 0
    assert "MNIST" in out
    assert "four shipped photographs" in " ".join(out.split())


def test_unwritable_output_is_one_line(tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = call(capsys, "demo", "--out", tmp_path / "file" / "below", "--items", "1", "--samples", "16")
    assert code == 2
    assert err.count("\n") == 1


def test_help_is_a_tour() -> None:
    done = subprocess.run([sys.executable, "-m", "attribound", "--help"], capture_output=True, text=True, check=True)
    assert "attribound demo " in done.stdout
    assert "Prove how far an explanation can be bent" in done.stdout


def test_version_and_no_arguments(capsys) -> None:
    assert call(capsys, "--version") == (0, f"attribound {ab.__version__}\n", "")
    code, out, _ = call(capsys)
    assert code == 0
    assert "Prove how far an explanation can be bent" in out


def test_choices_are_the_registries() -> None:
    assert list(choices.METHODS) == list(METHODS)
    assert list(get_args(choices.Budget)) == list(BUDGETS)
    assert list(choices.NoiseKind) == list(LAWS)
    assert set(get_args(choices.ObjectiveName)) == set(NAMES)
    assert list(get_args(choices.NormMode)) == list(NORMS)
    assert list(get_args(choices.Format)) == [*FORMATS, "evidence", "model-card"]
    assert tuple(get_args(choices.PrecisionName)) == PRECISIONS


def test_interrupt_exits_130(monkeypatch, capsys) -> None:
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.bound, "_closed_forms", interrupted)
    code, _, err = call(capsys, *BALL)
    assert (code, err) == (130, "interrupted\n")


def test_an_interrupt_in_code_made_from_text_exits_130_too(tmp_path) -> None:
    """`python -m` remembers such an interrupt, handled or not, and kills itself with it when it ends."""
    (tmp_path / "interrupted.py").write_text("""
import importlib
module = importlib.import_module("attribound.cli.app")
def run(arguments):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130
module.run = run
module.main()
""")
    assert subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, check=False).returncode == 130


def test_a_demo_replaces_its_own_runs_and_no_others(tmp_path, capsys) -> None:
    from attribound.demo import _remove_old
    from attribound.errors import StoredDataError
    from attribound.runs import Store

    with Store.create(tmp_path / "gaussian", RunConfig(model="m", data="d")):
        pass
    with pytest.raises(StoredDataError, match="was not written by a demo: choose another --out"):
        _remove_old(tmp_path / "gaussian")
    with Store.append(tmp_path / "gaussian") as store:
        store.note("demo", True)
    _remove_old(tmp_path / "gaussian")
    assert list(tmp_path.iterdir()) == []


def test_a_scan_written_into_a_device_leaves_no_picture_beside_it(tmp_path, capsys, monkeypatch) -> None:
    from attribound.report.figures import plots

    saved = []
    monkeypatch.setattr(plots, "save", lambda figure, path: saved.append(path))
    flags = ("tune", "--items", "1", "--samples", "16", "--level", "0.5", "--json")
    assert call(capsys, *flags, "--out", "/dev/null")[0] == 0
    assert saved == []
    assert call(capsys, *flags, "--out", tmp_path / "scan.json")[0] == 0
    assert saved == [tmp_path / "scan.png"]
