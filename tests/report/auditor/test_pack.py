"""The pack of evidence: it checks itself, and a file that says something else than its run is found."""

import hashlib
import json
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from attribound.certificates.record import decode, encode
from attribound.report.auditor.pack import write_pack
from attribound.runs import Store
from tests.report.auditor.test_page import call
from tests.report.conftest import error, finding


@pytest.fixture
def pack(certified, tmp_path) -> Path:
    return write_pack(certified, tmp_path / "pack")


def check(folder: Path, *flags: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *flags, str(folder / "verify.py")], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_pack_checks_itself(pack, certified) -> None:
    code, said = check(pack)
    first, *middle, own, last = said.splitlines()
    assert (code, last) == (0, "no contradictions")
    assert first == f"{pack}/run: 4 records follow from their evidence"
    assert middle[0].startswith("audit.html, model-card.md and versions.json were not derived again")
    assert own == hashlib.sha256((pack / "SHA256SUMS").read_bytes()).hexdigest()
    assert "Keep the sum of SHA256SUMS elsewhere" in (pack / "README.md").read_text()
    with Store.read(certified) as store:
        assert json.loads((pack / "config.json").read_text()) == json.loads(json.dumps(store.config.to_json()))
        assert (pack / "records.jsonl").read_text().splitlines() == list(store.texts())
    versions = json.loads((pack / "versions.json").read_text())
    assert versions["certified_with"][0]["attribound"] == versions["packed_with"]["attribound"]
    listed = {line.split("  ")[1] for line in (pack / "SHA256SUMS").read_text().splitlines()}
    there = {file.relative_to(pack).as_posix() for file in pack.rglob("*") if file.is_file()}
    assert there == listed | {"SHA256SUMS"}


HARMS = {
    "changed": ("audit.html", lambda text: text + " ", "audit.html is not the file that was packed"),
    "missing": ("findings.json", None, "findings.json is missing"),
    "added": ("more.txt", lambda text: "", "more.txt was not packed"),
}


@pytest.mark.parametrize(("name", "harm", "told"), HARMS.values(), ids=HARMS)
def test_what_was_changed_is_found_with_python_alone(pack, name, harm, told) -> None:
    file = pack / name
    if harm is None:
        file.unlink()
    else:
        file.write_text(harm(file.read_text() if file.exists() else ""))
    code, said = check(pack, "-I", "-S")
    assert code == 1
    assert told in said
    assert "attribound is not installed" in said


def resummed(folder: Path) -> None:
    """Sums made to fit whatever the files hold now: what a forger would do."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder).as_posix()}" for file in files]
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")


def resealed(text: str) -> str:
    record = msgspec.structs.replace(decode(text, "record"), max_epsilon={"0.8": 9.0, "0.9": 9.0})
    return encode(record).decode()


FORGERIES = {
    "records": ("records.jsonl", lambda text: f"{resealed(text.splitlines()[0])}\n" + text.split("\n", 1)[1]),
    "config": ("config.json", lambda text: "{}"),
    "findings": ("findings.json", lambda text: text.replace('"violated": true', '"violated": false')),
    "left out": ("records.jsonl", None),
}


@pytest.mark.parametrize(("name", "forge"), FORGERIES.values(), ids=FORGERIES)
def test_files_that_say_something_else_than_the_run_are_found_though_their_sums_fit(
    name, forge, synthesise, template, tmp_path
) -> None:
    broken = finding(template[1][0], worst=0.1, worst_most=0.2)
    pack = write_pack(synthesise([*template[1], error(4)], findings=[broken]), tmp_path / "pack")
    assert check(pack, "-I", "-S")[0] == 0
    before = (pack / name).read_text()
    (pack / name).unlink()
    if forge is not None:
        (pack / name).write_text(forge(before))
        assert (pack / name).read_text() != before
    resummed(pack)
    code, said = check(pack, "-I", "-S")
    assert (code, f"{name} does not say what run/run.sqlite says" in said) == (1, True), said


@pytest.mark.parametrize(
    "forge",
    [
        lambda text: text[:-1] + ',"max_epsilon":{"0.8":99.0}}',
        lambda text: text[: text.index(',"seal"')] + "}",
        lambda text: text.replace('"item":0', '"item":9', 1),
        lambda text: "[]",
        lambda text: text.replace('"seal"', '"seals"'),
    ],
    ids=["after the seal", "no seal", "changed", "no record", "other name"],
)
def test_a_record_must_end_with_its_seal(pack, forge) -> None:
    connection = sqlite3.connect(pack / "run" / "run.sqlite")
    with connection:
        text = connection.execute("SELECT record FROM records WHERE item = 0").fetchone()[0]
        connection.execute("UPDATE records SET record = ? WHERE item = 0", (forge(text),))
        texts = [one for (one,) in connection.execute("SELECT record FROM records ORDER BY item")]
    connection.close()
    (pack / "records.jsonl").write_text("".join(f"{one}\n" for one in texts))
    resummed(pack)
    code, said = check(pack, "-I", "-S")
    assert code == 1
    assert said.startswith(("record 1 of the run has no seal that fits", "run/run.sqlite cannot be read")), said


def test_a_forged_record_in_the_run_is_found_by_deriving_anew(pack, capsys) -> None:
    """What verify.py calls where attribound is installed."""
    connection = sqlite3.connect(pack / "run" / "run.sqlite")
    with connection:
        text = connection.execute("SELECT record FROM records WHERE item = 0").fetchone()[0]
        record = json.loads(text)
        record["max_epsilon"]["0.8"] = 9.0
        connection.execute("UPDATE records SET record = ? WHERE item = 0", (json.dumps(record),))
    connection.close()
    code, said, _ = call(capsys, "verify", pack / "run")
    assert code == 1
    assert "item 0: states more than follows from its evidence" in said


def test_the_archive_and_bad_targets(certified, tmp_path, capsys) -> None:
    out = tmp_path / "pack.zip"
    code, text, _ = call(capsys, "export", certified, "--format", "evidence", "--out", out)
    assert (code, text) == (0, f"wrote {out}\n")
    with zipfile.ZipFile(out) as archive:
        assert archive.testzip() is None
        assert {"SHA256SUMS", "verify.py", "run/run.sqlite", "audit.html"} <= set(archive.namelist())
    code, _, err = call(capsys, "export", certified, "--format", "evidence")
    assert (code, err) == (2, "error: expected --out FILE.zip or a new folder for the pack of evidence\n")
    code, _, err = call(capsys, "export", certified, "--format", "evidence", "--out", tmp_path)
    assert code == 2
    assert "expected a new folder for the evidence" in err
