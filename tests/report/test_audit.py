"""The auditor's report, the pack of evidence and the model card: what they say and what they never say."""

import hashlib
import json
import re
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from attribound import cli
from attribound.report import audit, printing
from attribound.report.card import model_card
from attribound.report.evidence import write_pack
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from tests.report.conftest import EVIL, assumed, error, finding
from tests.report.reading import Page

CLAUSES = ("Annex IV, 2(g)", "Article 13", "Article 15", "ISO/IEC 24029-2", "MEASURE 2.9", "SR 11-7")


def page_of(run: Path, tmp_path: Path, **options) -> Page:
    with Store.read(run) as store:
        (tmp_path / "audit.html").write_text(audit.render(store, **options), encoding="utf-8")
    return Page(tmp_path / "audit.html")


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_who_what_how(certified, tmp_path) -> None:
    page = page_of(certified, tmp_path, by="Dr. A. Example")
    with Store.read(certified) as store:
        config, lines = store.config, [text.encode() + b"\n" for text in store.texts()]
    for words in (
        "Dr. A. Example",
        config.model_sha256,
        config.data_sha256,
        hashlib.sha256(b"".join(lines)).hexdigest(),
        "attribound certify --model mnist-cnn-noise --data mnist-sample",
        "attribound verify run --resample 3",
        "Prepared by",
        "Signature",
        *CLAUSES,
        "proof (certified): ",
        "no statement of conformity",
        "No attack was made in this run",
    ):
        assert words in page.text, words
    assert re.search(r"Report made\s*20\d\d-\d\d-\d\d \d\d:\d\d UTC", page.text)
    assert page.scripts == []
    assert "http" not in page.text
    assert "script-src 'none'" in next(attrs["content"] for _, attrs in page.elements if attrs.get("http-equiv"))


def test_counts_agree_with_the_ordinary_page(certified, tmp_path) -> None:
    from tests.report.reading import report

    page, ordinary = page_of(certified, tmp_path), report(certified)
    sentence = ordinary.text[ordinary.text.index("For ") :].split("(cosine 0.8).")[0]
    assert sentence in page.text
    with Store.read(certified) as store:
        seen = audit.read(store)
        records = list(store.records())
    reaching = [one for one in records if one.max_epsilon["0.8"] >= float(seen.shown_epsilon)]
    assert seen.proved == len(reaching) >= 1
    assert f"proof (certified): {len(reaching)}, counterexample (violated): 0," in page.text


def test_a_violation_is_a_counterexample_and_an_alarm(synthesise, template, tmp_path) -> None:
    outcomes = [*template[1][:3], error(3, EVIL)]
    run = synthesise(outcomes, findings=[finding(outcomes[0], worst=0.4, worst_most=0.5)], classes=[EVIL] * 10)
    page = page_of(run, tmp_path, by=EVIL)
    assert "VIOLATED" in page.text
    assert "proof (certified): 0, counterexample (violated): 1, inconclusive (uncertified): 3" in page.text
    assert "Claimed, not to be trusted" in page.text
    assert page.text.count("counterexample") >= 2
    assert "Certificates broken: 1" in page.text
    assert page.scripts == [], "nothing that a run holds can speak for itself"
    assert EVIL in page.text


def test_an_assumed_limit_is_no_proof(synthesise, template, tmp_path) -> None:
    run = synthesise(map(assumed, template[1]), bound="assumed:1.0")
    page = page_of(run, tmp_path)
    assert "proof (certified): 0," in page.text
    assert "The limit is ASSUMED: none of these numbers is a certificate." in page.text
    with Store.read(run) as store:
        assert "ASSUMED" in model_card(store)


def test_a_changed_record_proves_nothing_to_an_auditor(synthesise, template, tmp_path) -> None:
    run = synthesise(template[1])
    with Store.read(run) as store:
        before = audit.read(store).outcomes["proof"]
    connection = sqlite3.connect(run / "run.sqlite")
    with connection:
        connection.execute("UPDATE records SET record = replace(record, '\"seconds\":', '\"seconds\":1')")
    connection.close()
    page = page_of(run, tmp_path)
    assert before >= 1
    assert "proof (certified): 0, counterexample (violated): 0, inconclusive (uncertified): 4" in page.text
    assert "its seal does not fit" in page.text


def test_examples_show_mask_and_attack(celled, tmp_path) -> None:
    page = page_of(celled, tmp_path)
    kinds = [attrs["class"] for tag, attrs in page.elements if tag == "rect" and "x" in attrs]
    assert len(kinds) == 4 * 49
    assert {"hot", "cold"} <= set(kinds) <= {"hot", "cold", "open"}
    with Store.read(celled) as store:
        seen = audit.read(store)
        marks = [audit._mark(units, seen.epsilon) for row in seen.run.drawn for units in _cells(seen, row)]
    assert sorted(kinds) == sorted(marks)
    alts = [attrs.get("alt") for tag, attrs in page.elements if tag == "img"]
    assert None not in alts


def _cells(seen, row: int) -> list[int]:
    return next(iter(seen.run.trusted[row]["fractions"].values()))


def test_features_have_their_names(synthesise, template, tmp_path) -> None:
    names = [f"{EVIL}{number}" for number in range(784)]
    flat = [Outcome(one.item, one.record, {"smoothed": one.pictures["smoothed"].ravel()}) for one in template[1]]
    page = page_of(synthesise(flat, features=names), tmp_path)
    assert f"{EVIL}2" in page.text
    assert "Largest values of the smoothed map" in page.text


def test_empty_and_failed_runs_have_a_report(synthesise, tmp_path) -> None:
    assert "nothing is proved" in page_of(synthesise([], "empty"), tmp_path).text
    assert "All 2 inputs failed" in page_of(synthesise([error(0), error(1)], "failed"), tmp_path).text


def test_the_command(certified, tmp_path, capsys, monkeypatch) -> None:
    out = tmp_path / "a.html"
    code, text, _ = call(capsys, "report", certified, "--audience", "auditor", "--by", "B", "--out", out, "--json")
    assert (code, json.loads(text)["out"]) == (0, str(out))
    assert "audit report" in Page(out).text
    for flags, message in (
        (("--by", "B"), "expected --by with --audience auditor"),
        (("--audience", "auditor", "--scan", out), "expected --scan without --audience auditor"),
    ):
        code, _, err = call(capsys, "report", certified, *flags)
        assert code == 2
        assert message in err
    monkeypatch.setattr(printing.shutil, "which", lambda name: None)
    code, _, err = call(capsys, "report", certified, "--format", "pdf", "--out", tmp_path / "a.pdf")
    assert code == 2
    assert err.startswith("error: --format pdf needs Chromium, Chrome or Edge")
    assert err.count("\n") == 1
    assert not (tmp_path / "a.pdf").exists()


def test_a_browser_that_fails_is_one_line(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(printing.shutil, "which", lambda name: "/bin/false" if name == "chromium" else None)
    with pytest.raises(printing.AttriboundError, match="/bin/false could not print the page: no message"):
        printing.print_pdf("<p>x</p>", tmp_path / "a.pdf")


# --- the pack


@pytest.fixture
def pack(certified, tmp_path) -> Path:
    return write_pack(certified, tmp_path / "pack")


def check(folder: Path, *flags: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *flags, str(folder / "verify.py")], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_pack_checks_itself(pack, certified) -> None:
    assert check(pack) == (
        0,
        f"{pack}/run: 4 records follow from their evidence; 0 sampled again alike\nas it was packed\n",
    )
    with Store.read(certified) as store:
        assert json.loads((pack / "config.json").read_text()) == json.loads(json.dumps(store.config.to_json()))
        assert (pack / "records.jsonl").read_text().splitlines() == list(store.texts())
    versions = json.loads((pack / "versions.json").read_text())
    assert versions["certified_with"][0]["attribound"] == versions["packed_with"]["attribound"]
    listed = {line.split("  ")[1] for line in (pack / "SHA256SUMS").read_text().splitlines()}
    there = {file.relative_to(pack).as_posix() for file in pack.rglob("*") if file.is_file()}
    assert there == listed | {"SHA256SUMS"}


@pytest.mark.parametrize("harm", ["changed", "missing", "added", "seal"])
def test_what_was_changed_is_found_with_python_alone(pack, harm) -> None:
    if harm == "changed":
        (pack / "config.json").write_text("{}")
    elif harm == "missing":
        (pack / "findings.json").unlink()
    elif harm == "added":
        (pack / "more.txt").write_text("")
    else:  # a record with its sum made to fit
        records = (pack / "records.jsonl").read_text().replace('"item":0', '"item":9', 1)
        (pack / "records.jsonl").write_text(records)
        sums = [line for line in (pack / "SHA256SUMS").read_text().splitlines() if "records.jsonl" not in line]
        sums.append(f"{hashlib.sha256(records.encode()).hexdigest()}  records.jsonl")
        (pack / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    code, said = check(pack, "-I", "-S")
    words = {"changed": "is not the file", "missing": "is missing", "added": "was not packed", "seal": "line 1 of"}
    assert code == 1
    assert words[harm] in said
    assert "attribound is not installed" in said


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


# --- the model card


def test_the_model_card(certified, tmp_path, capsys) -> None:
    code, text, _ = call(capsys, "export", certified, "--format", "model-card")
    assert code == 0
    assert text.startswith("## Robustness of explanations\n\nFor ")
    for words in ("### Limits", "### Repeat it", "Model SHA-256", "attribound certify --model mnist-cnn-noise"):
        assert words in text
    rows = [line for line in text.splitlines() if line.startswith("| 0.")]
    assert len({line.count("|") for line in rows}) == 1
    assert call(capsys, "export", certified, "--format", "model-card", "--out", tmp_path / "card.md")[0] == 0
    assert (tmp_path / "card.md").read_text() == text


def test_names_in_a_card_stay_text(synthesise, template) -> None:
    evil = "a`````\n# head|<b>"
    outcomes = list(template[1][:1])
    with Store.read(synthesise(outcomes, model=evil)) as store:
        text = model_card(store)
    assert "<b>" not in text.split("### Repeat it")[0]
    assert "\n# head" not in text
    assert text.rstrip().endswith("``````")
