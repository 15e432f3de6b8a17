"""The auditor's report, the pack of evidence and the model card: what they say and what they never say."""

import hashlib
import json
import re
import sqlite3
from pathlib import Path

import pytest

from attribound import cli
from attribound.report.auditor import page as auditor
from attribound.report.auditor.card import model_card
from attribound.report.shared import printing
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from tests.report.conftest import EVIL, assumed, error, finding
from tests.report.reading import Page

CLAUSES = ("Annex IV, 2(g)", "Article 13", "Article 15", "ISO/IEC 24029-2", "MEASURE 2.9", "SR 11-7")


def page_of(run: Path, tmp_path: Path, **options) -> Page:
    with Store.read(run) as store:
        (tmp_path / "audit.html").write_text(auditor.render(store, **options), encoding="utf-8")
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
        "nor a statement of conformity",
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
        seen = auditor.read(store)
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
        before = auditor.read(store).outcomes["proof"]
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
        seen = auditor.read(store)
        marks = [auditor._mark(units, seen.epsilon) for row in seen.run.drawn for units in _cells(seen, row)]
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
