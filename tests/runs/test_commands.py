"""`certify`, `show`, `export` and `attack` as typed: output, exit codes, interruption, kill."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attribound import cli
from attribound.attacks.base import make_problem
from attribound.runs import Store
from tests.runs.conftest import records

CERTIFY = ["certify", "--model", "mnist-cnn-noise", "--data", "mnist-sample", "--samples", "64", "--workers", "1"]


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_certify_show_export(tmp_path, capsys) -> None:
    path = tmp_path / "run"
    flags = ("--limit-items", "3", "--epsilon", "0.1", "0.2", "--cosine", "0.7", "0.8")
    code, out, err = call(capsys, *CERTIFY, *flags, "--out", path)
    assert code == 0
    assert "3 inputs: 3 certified" in out
    assert "3 of 3" in err
    assert "median epsilon" in err
    code, out, _ = call(capsys, "show", path, "--json")
    summary = json.loads(out)
    assert (code, summary["items"]) == (0, 3)
    assert set(summary["fractions"]) == {"0.7", "0.8"}
    assert set(summary["fractions"]["0.8"]) == {"0.1", "0.2"}
    assert set(summary["quantiles"]["0.8"]) == {"0.1", "0.25", "0.5", "0.75", "0.9"}
    code, out, _ = call(capsys, "export", path, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["item"] for row in rows] == ["0", "1", "2"]
    assert float(rows[0]["max_epsilon.0.8"]) == records(path)[0]["max_epsilon"]["0.8"]
    assert "noise.kind" not in rows[0]
    code, out, _ = call(capsys, "export", path, "--format", "json")
    wanted = "item label target prediction dim noise attribution output bound samples alpha seed norm norm_lower "
    wanted += "eigenvalue_upper status rule cosine max_epsilon seconds versions model_sha256 input_sha256"
    assert set(wanted.split()) <= set(json.loads(out)["records"][0])
    code, out, _ = call(capsys, "export", path, "--format", "latex")
    assert r"\toprule" in out
    assert out.count(r"\\") == 4


def test_parquet(tmp_path, capsys) -> None:
    from pyarrow import parquet

    path = tmp_path / "run"
    call(capsys, *CERTIFY, "--items", "2", "--out", path)
    code, _, err = call(capsys, "export", path, "--format", "parquet")
    assert (code, err) == (2, "error: expected --out FILE for parquet, which is not text\n")
    assert call(capsys, "export", path, "--format", "parquet", "--out", tmp_path / "a.parquet")[0] == 0
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table["max_epsilon.0.8"].to_pylist() == [one["max_epsilon"]["0.8"] for one in records(path)]
    assert call(capsys, "export", path, "--format", "xml")[0] == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--engine", "slurm"), "expected --engine one of 'local', 'ray', got 'slurm'"),
        (("--noise", "gaussian:zero"), "expected a noise"),
        (("--model", "nothing"), "expected --model"),
        (("--samples", "1"), "samples"),
    ],
)
def test_bad_input_is_one_line(flags, message, tmp_path, capsys) -> None:
    code, _, err = call(capsys, *CERTIFY, "--items", "1", "--out", tmp_path / "run", *flags)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_show_of_what_is_no_run(tmp_path, capsys) -> None:
    code, _, err = call(capsys, "show", tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    assert "is not a run" in err


EIGHT = [*CERTIFY, "--model", "tests.runs.poison:make", "--items", "8"]
"""Its model can be slow, so that a run is never over before it is interrupted."""


def start(path) -> subprocess.Popen:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ATTRIBOUND_TEST_SLOW": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "attribound", *EIGHT, "--out", str(path)],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    for _ in range(1200):
        time.sleep(0.1)
        if (path / "run.sqlite").exists() and count(path) >= 2:
            return process
    raise AssertionError("the run did not begin")


def count(path) -> int:
    try:
        with Store.read(path) as store:
            return len(store.done())
    except Exception:
        return 0


@pytest.mark.parametrize(
    ("number", "expected"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow), (signal.SIGKILL, -9)]
)
def test_interrupted_and_killed_runs_go_on(number, expected, tmp_path, capsys) -> None:
    path = tmp_path / "run"
    process = start(path)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == expected
    done = count(path)
    assert 2 <= done < 8
    if number == signal.SIGINT:
        assert f"{done} of 8 records are in {path}. To resume: attribound" in err
    assert call(capsys, *EIGHT, "--out", path)[0] == 0
    assert call(capsys, *EIGHT, "--out", tmp_path / "whole")[0] == 0
    assert records(path) == records(tmp_path / "whole")


ATTACK = ("--budget", "quick", "--method", "direct", "--steps", "2", "--samples", "16", "--no-tightness")


@pytest.mark.usefixtures("quick_audits")
def test_attack_of_a_run_is_stored_and_resumes(tmp_path, capsys) -> None:
    path = tmp_path / "run"
    call(capsys, *CERTIFY, "--items", "2", "--out", path)
    code, out, _ = call(capsys, "attack", path, *ATTACK, "--limit-items", "1", "--json")
    assert (code, len(json.loads(out)["findings"])) == (0, 1)
    code, out, _ = call(capsys, "attack", path, *ATTACK)
    assert code == 0
    assert "2 certificates attacked, 0 violated" in out
    with Store.read(path) as store:
        findings = store.findings()
        assert set(findings) == {0, 1}
        assert findings[0].worst >= findings[0].certified
        assert store.pictures(0)["attacked"].shape == (1, 28, 28)
    _, out, _ = call(capsys, "show", path, "--json")
    assert json.loads(out)["attacked"]["items"] == 2
    harder = ("--budget", "quick", "--method", "random", *ATTACK[4:])
    call(capsys, "attack", path, *harder)  # a stronger attack is not skipped because of a weaker one
    with Store.read(path) as store:
        assert {one.method for one in store.findings().values()} == {"random"}
    code, _, err = call(capsys, "attack", path, *ATTACK, "--model", "mnist-cnn")
    assert code == 2
    assert "mnist-cnn is not the model that was certified" in err


def test_a_false_certificate_in_a_run_is_found(tmp_path, capsys, monkeypatch) -> None:
    """A record whose evidence claims far too much: the attack must notice, exit with 1 and save the case."""
    monkeypatch.setitem(make_problem.__kwdefaults__, "samples", 256)  # the attack aims worse and still convicts
    import sqlite3

    path = tmp_path / "run"
    call(capsys, *CERTIFY, "--items", "1", "--out", path)
    record = records(path)[0] | {"seconds": 0.0}
    record["facts"] |= {"length": {"lower": 0.999999, "sampled": 0.999999}, "spread": {"eigenvalue": 1e-9}}
    connection = sqlite3.connect(path / "run.sqlite")
    with connection:
        connection.execute("UPDATE records SET record = ?", (json.dumps(record),))
    connection.close()
    flags = ("--budget", "quick", "--method", "direct", "--steps", "15", "--no-tightness", "--cosine", "0.98")
    code, out, err = call(capsys, "attack", path, *flags)
    assert code == 1
    assert "VIOLATED" in out
    assert "a certificate was violated" in err
    assert (path / "violation-0.json").exists()


def test_reading_a_run_needs_no_torch(tmp_path, capsys) -> None:
    """`show` of many records must be quick: importing torch alone takes longer than reading 10,000 records."""
    path = tmp_path / "run"
    call(capsys, *CERTIFY, "--items", "1", "--out", path)
    code = "import sys; from attribound import cli; cli.run(['show', sys.argv[1]]); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
