"""Runs of column tolerances: forests and tables at the command line."""

import csv
import html
import io
import json
import re
import shutil
import signal
from dataclasses import replace

import msgspec
import numpy as np
import pytest
import xgboost
from pyarrow import parquet

from attribound.cli.app import run
from attribound.forests import Forest, TreeShap
from attribound.runs import Store
from attribound.runs.columns_setup import prepare_columns
from attribound.runs.copies import copy_run
from attribound.runs.engines import Local
from attribound.runs.proving import prove_columns
from attribound.runs.runner import prepare
from attribound.runs.runner import run as carry_out
from attribound.runs.tasks import Outcome
from attribound.tolerances.columns.asker import ColumnsAsker
from attribound.tolerances.columns.record import Asked, Called, ColumnsRecord
from attribound.tolerances.columns.sheet import sheet_of
from tests.runs.applicants import NAMES, ROWS, WORDS, ask, printed, records, refused, train, write
from tests.runs.elsewhere import ELSEWHERE


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    train(folder / "credit.ubj")
    write(folder / "people.csv")
    return folder


@pytest.fixture(scope="module")
def done(work):
    assert ask(work, work / "run") == 0
    return work / "run"


def test_a_record_per_row_in_the_words_of_the_table(done, work):
    known = records(done)
    assert len(known) == ROWS
    with (work / "people.csv").open() as file:
        rows = list(csv.DictReader(file))
    for record, row in zip(known, rows, strict=True):
        assert record.names == NAMES
        assert record.row[2] == row["housing"]
        assert record.row[0] == (float(row["age"]) if row["age"] else None)
        assert record.label == int(row["paid"])
        assert all(part.exact for part in record.parts)
        assert record.asked.source.startswith(f"one standard deviation, of all {ROWS} rows of csv:")


@ELSEWHERE
def test_runs_resume_and_workers_do_not_matter(engine, done, work, tmp_path):
    assert ask(work, tmp_path / "run", "--items", 5) == 0
    with Store.read_any(done) as store:
        _, job = prepare_columns(store.config)
    state = carry_out(job, tmp_path / "run", engine)
    assert (state.begun_with, state.done) == (5, ROWS)
    assert records(tmp_path / "run") == records(done)


def test_ctrl_c_finishes_the_row_in_hand_and_the_command_goes_on(done, work, tmp_path, monkeypatch, capsys):
    ask_row, asked = ColumnsAsker.ask, []

    def interrupted(self, *args, **options):
        asked.append(1)
        if len(asked) == 3:
            signal.raise_signal(signal.SIGINT)
        return ask_row(self, *args, **options)

    monkeypatch.setattr(ColumnsAsker, "ask", interrupted)
    assert ask(work, tmp_path / "run") == 130
    assert f"3 of {ROWS} records are in {tmp_path / 'run'}. To resume: " in capsys.readouterr().err
    assert len(records(tmp_path / "run")) == 3
    assert ask(work, tmp_path / "run") == 0
    assert len(asked) == ROWS
    assert records(tmp_path / "run") == records(done)


def test_the_nearest_change_breaks_the_first_reason_in_xgboost(done, work):
    booster = xgboost.Booster(model_file=work / "credit.ubj")
    found = 0
    for record in records(done):
        part = record.together
        if part.nearest is None:
            continue
        cells = dict(zip(NAMES, part.nearest, strict=True))
        row = [[WORDS.index(cells[name]) if name == "housing" else cells[name] for name in NAMES]]
        matrix = xgboost.DMatrix(
            np.array(row, float), feature_names=booster.feature_names, feature_types=booster.feature_types
        )
        values = record.side * booster.predict(matrix, pred_contribs=True)[0, :-1]
        assert values[NAMES.index(part.reason)] <= np.delete(values, NAMES.index(part.reason)).max() + 2 * record.tie
        found += 1
    assert found > ROWS / 2


def test_show_and_export(done, capsys):
    shown = printed(capsys, "show", done)
    assert shown["statements"][0]["exact"] == ROWS
    assert run(["show", str(done)]) == 0
    out = capsys.readouterr().out
    assert "no change smaller than" in out
    assert f"for at least half of {ROWS} rows; under any change" in out
    rows = printed(capsys, "export", done, "--format", "json")["records"]
    assert rows[0]["row"]["housing"] in WORDS
    assert set(rows[0]["statements"]["1"]["intervals"]) == set(NAMES)
    for form in ("csv", "latex"):
        assert run(["export", str(done), "--format", form]) == 0
        assert "age" in capsys.readouterr().out


def test_the_table_for_people_is_slim(done, capsys):
    tables = []
    for more in ([], ["--all"]):
        assert run(["export", str(done), "--format", "csv", *more]) == 0
        tables.append(list(csv.DictReader(io.StringIO(capsys.readouterr().out))))
    slim, full = tables
    assert len(slim[0]) <= 16 + len(NAMES) < len(full[0])
    assert [row["row.housing"] for row in slim] == [row["row.housing"] for row in full]
    assert [row["statements.1.reach"] for row in slim] == [row["statements.1.reach"] for row in full]
    assert slim[0]["reasons"].split("; ") == json.loads(full[0]["reasons"])[:4]


def test_the_page_calls_rows_by_their_names(work, tmp_path):
    with (work / "people.csv").open() as file:
        head, *rows = csv.reader(file)
    with (tmp_path / "named.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*head, "name"], *([*row, f"Ada-{place}"] for place, row in enumerate(rows))])
    words = ["--model", work / "credit.ubj", "--data", f"csv:{tmp_path / 'named.csv'}?label=paid&id=name"]
    made = ["--items", 2, "--workers", 1, "--out", tmp_path / "run"]
    assert run([*map(str, ["tolerance", *words, *made])]) == 0
    assert run(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r"<span>Row Ada-[01]: class [01]</span>", page), "its name, and a number that is called a class"
    assert run(["export", str(tmp_path / "run"), "--format", "latex", "--out", str(tmp_path / "table.tex")]) == 0
    assert "\nAda-0 & " in (tmp_path / "table.tex").read_text()


def test_parquet_says_what_json_says(done, tmp_path, capsys):
    rows = printed(capsys, "export", done, "--format", "json")["records"]
    assert run(["export", str(done), "--format", "parquet", "--out", str(tmp_path / "a.parquet")]) == 0
    table = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert len(table) == ROWS
    for row, line in zip(rows, table, strict=True):
        first = row["statements"]["1"]
        assert (line["row.age"], line["row.housing"]) == (row["row"]["age"], row["row"]["housing"])
        assert (line["statements.1.reach"], line["statements.1.change"]) == (first["reach"], first["change"])
        assert json.loads(line["statements.1.intervals.months"]) == first["intervals"]["months"]


def test_verify_searches_again(done, capsys):
    found = printed(capsys, "verify", done, "--resample", 4)
    assert (found["passed"], found["resampled"]) == (True, 4)


def changed(record, **part):
    return msgspec.structs.replace(record, parts=(msgspec.structs.replace(record.parts[0], **part),))


def farther(record):
    """A nearest row twice as far, with its reach."""
    first = record.parts[0]
    moved = [
        after if not isinstance(before, float) or before == after else before + 2 * (after - before)
        for before, after in zip(record.row, first.nearest, strict=True)
    ]
    return changed(record, reach=2 * first.reach, nearest=tuple(moved))


def in_smaller_units(record):
    """Ten times as far, in units a tenth as large."""
    smaller = tuple(unit / 10 for unit in record.units)
    return changed(msgspec.structs.replace(record, units=smaller), reach=10 * record.parts[0].reach)


def about_another_amount(record):
    """The same said of a row that nobody asked about."""
    part, place = record.parts[0], NAMES.index("amount")

    def moved(cells, far=1000.0):
        return tuple(cell + far if number == place else cell for number, cell in enumerate(cells))

    ends = tuple(None if end is None else end + 1000.0 for end in part.intervals[place])
    intervals = (*part.intervals[:place], ends, *part.intervals[place + 1 :])
    row = msgspec.structs.replace(record, row=moved(record.row))
    return changed(row, nearest=moved(part.nearest), intervals=intervals)


def without_a_word(record):
    known = record.parts[0].alternatives["housing"]
    return changed(record, alternatives={"housing": {word: known[word] for word in list(known)[1:]}})


FORGERIES = {
    "other units": in_smaller_units,
    "another row": about_another_amount,
    "other words": lambda one: changed(one, words="nothing whatever changes these reasons"),
    "another class": lambda one: msgspec.structs.replace(one, prediction=1 - one.prediction),
    "a word left out": without_a_word,
    "any change, and no end of the search": lambda one: changed(
        one, reach=None, exact=False, nearest=None, after=None, score=None
    ),
    "a longer reach": lambda one: changed(one, reach=1.5 * one.parts[0].reach),
    "any change": lambda one: changed(one, reach=None, nearest=None, after=None, score=None),
    "a farther nearest row": farther,
    "a row that breaks nothing": lambda one: changed(one, after=one.contributions),
    "an interval beside its value": lambda one: changed(one, intervals=((900.0, None),) * len(NAMES)),
    "another first reason": lambda one: changed(one, reason=one.reasons[1]),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_forged_records_are_doubted_without_the_model(done, forge):
    with Store.read_any(done) as store:
        config = store.config
    numbers = [one for one in records(done) if one.parts[0].reach and isinstance(one.row[0], float)]
    record = next(one for one in numbers if one.row[2] == one.parts[0].nearest[2])
    sealed = msgspec.structs.replace(forge(record), seal="")
    proved = prove_columns.prove(sealed, config)
    assert set(proved.doubts) - {"has no seal"}
    assert proved.record.parts[0].reach == 0.0


def test_forged_records_are_found_by_searching_again(done, work, tmp_path, capsys):
    """A forger who changes everything that a record holds about a reach cannot change the model."""
    copy_run(done, tmp_path / "forged")
    with Store.append(tmp_path / "forged") as store:
        for record in list(store.only(ColumnsRecord)):
            first = record.parts[0]
            wider = tuple(None if ends is None else (None, None) for ends in first.intervals)
            names = {name: dict.fromkeys(known, True) for name, known in first.alternatives.items()}
            free = {"reach": None, "nearest": None, "after": None, "score": None, "absent": (None,) * len(NAMES)}
            store.add(Outcome(record.item, changed(record, intervals=wider, alternatives=names, **free)))
    assert run(["verify", str(tmp_path / "forged")]) == 0
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "forged"), "--resample", "3", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert all(any("reach" in line for line in lines) for lines in found["problems"].values())
    assert len(found["problems"]) == 3


ASKED = {
    "units": lambda one: {"units": tuple(unit / 10 for unit in one.units)},
    "source": lambda one: {"source": "a hundredth of a standard deviation"},
    "words": lambda one: {"words": {"housing": ("own", "rent", "free")}},
    "classes": lambda one: {"classes": ("1", "0")},
    "called": lambda one: {"called": {"amount": Called(title="months")}},
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_run_asks_is_what_its_table_and_forest_give(done, work, tmp_path, capsys, name):
    """Records in units a tenth as large agree with their run and are found again: the units themselves must be."""
    with Store.read_any(done) as store:
        config, job = prepare_columns(store.config)
    asked = msgspec.structs.replace(config.columns, **ASKED[name](config.columns))
    forged = replace(job, config=msgspec.structs.replace(config, columns=asked))
    carry_out(forged, tmp_path / "forged", Local(1))
    assert run(["verify", str(tmp_path / "forged")]) == 0
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "forged"), "--resample", "1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert any(f"asks with other {name} than csv:" in line for line in found["run_problems"])


def test_a_row_of_another_name_or_twice_is_found(work, tmp_path, capsys):
    with (work / "people.csv").open() as file:
        head, *rows = csv.reader(file)
    with (tmp_path / "named.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*head, "name"], *([*row, f"Ada-{place}"] for place, row in enumerate(rows))])
    words = ["--model", work / "credit.ubj", "--data", f"csv:{tmp_path / 'named.csv'}?label=paid&id=name"]
    assert run([*map(str, ["tolerance", *words, "--items", 3, "--workers", 1, "--out", tmp_path / "run"])]) == 0
    assert printed(capsys, "verify", tmp_path / "run", "--resample", 1)["passed"]
    with Store.append(tmp_path / "run") as store:
        first, second, _ = store.only(ColumnsRecord)
        for own, subject in ((first, second.subject), (second, first.subject)):
            named = msgspec.structs.replace(own.subject, input=subject.input)
            store.add(Outcome(own.item, msgspec.structs.replace(own, subject=named)))
        subject = msgspec.structs.replace(first.subject, item=2)
        store.add(Outcome(2, msgspec.structs.replace(first, item=2, subject=subject)))
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "run"), "--json"]) == 0
    assert "several records are about the same input" in str(json.loads(capsys.readouterr().out)["remarks"])
    assert run(["verify", str(tmp_path / "run"), "--resample", "1", "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert "calls its row 'Ada-1', csv:" in problems["0"][0]
    assert set(problems) == {"0", "1", "2"}


def test_categories_of_many_digits_stay_apart(tmp_path):
    """To six digits 1,000,001 and 1,000,003 are one category, of which the last one's answer was kept."""
    rng = np.random.default_rng(0)
    x = np.array([rng.normal(size=400), rng.integers(1_000_001, 1_000_007, 400)]).T
    data = xgboost.DMatrix(x, x[:, 1] % 2 + x[:, 0] / 3 > 0.5, feature_types=["q", "c"], enable_categorical=True)
    options = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1, "max_cat_to_onehot": 1}
    xgboost.train(options, data, 5).save_model(tmp_path / "m.ubj")
    asker = ColumnsAsker(TreeShap(Forest(tmp_path / "m.ubj")), Asked(keep="class", units=(1.0, 1.0)))
    for row in x[:5]:
        (part,) = asker.sheet(row, np.ones(2)).parts
        record = asker.ask(row)
        known = part.columns["column 1"].alternatives
        assert {int(name): kept for name, kept in record.parts[0].alternatives["column 1"].items()} == known
        assert sheet_of(record).parts[0].columns["column 1"].alternatives == known


def test_the_same_table_elsewhere_gives_the_same_units(done, work, tmp_path, capsys):
    shutil.copy(work / "people.csv", tmp_path / "people.csv")
    assert run(["verify", str(done), "--data", f"csv:{tmp_path / 'people.csv'}?label=paid"]) == 0


def test_columns_that_do_not_move_are_those_that_are_fixed(done):
    with Store.read_any(done) as store:
        config = store.config
    record = records(done)[0]
    asked = msgspec.structs.replace(record.asked, units=(0.0, *record.asked.units[1:]))
    still = msgspec.structs.replace(record, asked=asked, units=(0.0, *record.units[1:]))
    doubts = prove_columns.prove(still, msgspec.structs.replace(config, columns=asked)).doubts
    assert "says that other columns are fixed than do not move" in doubts


def test_another_table_and_another_model_are_refused(done, work, tmp_path, capsys):
    write(tmp_path / "others.csv", seed=3)
    data = f"csv:{tmp_path / 'others.csv'}?label=paid"
    assert run(["verify", str(done), "--data", data]) == 1
    train(tmp_path / "other.ubj", seed=4)
    capsys.readouterr()
    code = run(["verify", str(done), "--resample", "1", "--model", str(tmp_path / "other.ubj")])
    assert "its hash differs" in refused(capsys, code)


def test_gate(done, capsys):
    reaches = sorted(one.together.size for one in records(done))
    passing = reaches[ROWS // 4] * 0.999
    gate = ["gate", str(done), "--keep", "first"]
    assert run([*gate, "--reach", str(passing), "--share", "0.7"]) == 0
    assert "rows (75.0 %) the first reason holds at" in capsys.readouterr().out
    # A change as large as the reach itself breaks it: it does not hold there.
    assert run([*gate, "--reach", repr(reaches[ROWS // 4]), "--share", "0.7"]) == 1
    capsys.readouterr()
    assert "expected --keep first" in refused(
        capsys, run(["gate", str(done), "--keep", "class", "--reach", "1", "--share", "0.5"])
    )


def test_compare_two_versions_of_a_model(done, work, tmp_path, capsys):
    train(work / "later.ubj", seed=9)
    assert ask(work, tmp_path / "later", model="later.ubj") == 0
    found = printed(capsys, "compare", done, tmp_path / "later")
    assert sum(found["counts"].values()) == ROWS
    assert found["counts"]["same"] < ROWS
    before, after = records(done), records(tmp_path / "later")
    other = sum(one.reasons[0] != two.reasons[0] for one, two in zip(before, after, strict=True))
    assert found["counts"]["other reason"] == other > 0
    shrank = [one["items"][0] for one in found["pairs"] if one["verdict"] == "shrank"]
    same = [pair for pair in zip(before, after, strict=True) if pair[0].reasons[0] == pair[1].reasons[0]]
    assert shrank == [one.item for one, two in same if two.together.size < one.together.size * (1 - 1e-9)]


def test_per_cent_are_not_compared_with_units(work, tmp_path, capsys):
    """Both are 1 where they are stored."""
    (tmp_path / "units.json").write_text(json.dumps(dict.fromkeys(NAMES, 1.0)))
    for name, scale in (("a", tmp_path / "units.json"), ("b", "percent")):
        assert ask(work, tmp_path / name, "--items", 1, "--scale", scale) == 0
    capsys.readouterr()
    told = refused(capsys, run(["compare", str(tmp_path / "a"), str(tmp_path / "b")]))
    assert "expected two runs with the same units: in one they are per cent" in told


def test_the_page_of_a_comparison_names_people_and_reasons(work, tmp_path, capsys):
    """In their words, those with another first reason first; a doubtful record proves nothing."""
    with (work / "people.csv").open() as file:
        head, *rows = csv.reader(file)
    with (tmp_path / "named.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*head, "name"], *([*row, f"<b>Ada {place}"] for place, row in enumerate(rows))])
    columns = {"amount": {"title": "sum & <i>"}, "months": {"title": "duration"}}
    (tmp_path / "book.json").write_text(json.dumps({"noun": "customer", "columns": columns}))
    data = f"csv:{tmp_path / 'named.csv'}?label=paid&id=name&codebook={tmp_path / 'book.json'}"
    train(tmp_path / "later.ubj", seed=9)
    for model, out in ((work / "credit.ubj", "a"), (tmp_path / "later.ubj", "b")):
        words = ["tolerance", "--model", model, "--data", data, "--workers", 1, "--out", tmp_path / out]
        assert run([*map(str, words)]) == 0
    with Store.append(tmp_path / "b") as store:
        record = next(one for one in store.only(ColumnsRecord) if one.together.reach)
        store.add(Outcome(record.item, changed(record, reach=2 * record.together.reach)))
    compare = ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "page.html")]
    found = printed(capsys, *compare)
    assert [one["items"][0] for one in found["pairs"] if one["doubtful"]] == [record.item]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "<i>" not in page
    assert "a record is doubtful and counts as proving nothing" in page
    pills = re.findall(r'class="pill \w+">(other reason|shrank|grew|same)<', page)
    assert len(pills) == ROWS
    assert pills == sorted(pills, key=("other reason", "shrank", "grew", "same").index)
    one = next(pair for pair in found["pairs"] if pair["verdict"] == "other reason")
    assert set(one["titles"]) <= {"age", "sum & <i>", "housing", "duration"}
    assert f"{one['items'][0]} (&lt;b&gt;Ada {one['items'][0]})</th>" in page
    assert " → ".join(map(html.escape, one["titles"])) in page
    assert run([*compare[:3], "--format", "md"]) == 0
    assert f"| {one['items'][0]} (&lt;b&gt;Ada" in capsys.readouterr().out


def test_attacks_find_nothing_inside_and_the_library_agrees(done, capsys):
    findings = printed(capsys, "attack", done, "--budget", "quick")["findings"]
    assert len(findings) == ROWS
    assert all(one["points"] > 500 and not one["violated"] for one in findings)
    assert all(one["confirmed"] for one in findings if one["reach"] is not None)


def test_options_of_attacks_on_certificates_are_refused(done, capsys):
    assert run(["attack", str(done), "--method", "ifia", "--steps", "3"]) == 2
    line = capsys.readouterr().err
    assert "--method, --steps: for attacks on certificates only, and this is a run of tolerances of columns" in line


def test_attacks_find_false_claims_and_close_the_gate(done, work, tmp_path, capsys):
    copy_run(done, tmp_path / "false")
    with Store.append(tmp_path / "false") as store:
        for record in list(store.only(ColumnsRecord)):
            first = record.parts[0]
            wider = tuple(None if ends is None else (None, None) for ends in first.intervals)
            names = {name: dict.fromkeys(known, True) for name, known in first.alternatives.items()}
            free = {"reach": None, "nearest": None, "after": None, "score": None, "absent": (None,) * len(NAMES)}
            store.add(Outcome(record.item, changed(record, intervals=wider, alternatives=names, **free)))
    assert run(["attack", str(tmp_path / "false"), "--budget", "quick"]) == 1
    assert "found false" in capsys.readouterr().err
    assert run(["gate", str(tmp_path / "false"), "--keep", "first", "--reach", "0.001", "--share", "0"]) == 1


def test_what_is_asked(work, tmp_path, capsys):
    more = ["--keep", "stays:2", "--size", "each", "--fixed", "age,housing", "--whole", "months", "--missing"]
    assert ask(work, tmp_path / "run", *more, "--items", 4) == 0
    for record in records(tmp_path / "run"):
        assert [part.reason for part in record.parts] == list(record.reasons[:2])
        assert (record.units[0], record.units[2]) == (0.0, 0.0)
        for part in record.parts:
            moved = part.nearest or record.row
            assert moved[0] == record.row[0]
            assert moved[3] is None or moved[3] == int(moved[3])
    assert printed(capsys, "verify", tmp_path / "run", "--resample", 2)["passed"]
    (tmp_path / "units.json").write_text(json.dumps(dict.fromkeys(NAMES, 2.0)))
    for number, scale in enumerate(("percent", tmp_path / "units.json")):
        assert ask(work, tmp_path / f"scaled{number}", "--scale", scale, "--items", 2) == 0
        assert printed(capsys, "verify", tmp_path / f"scaled{number}", "--resample", 2)["passed"]
    first = records(tmp_path / "scaled0")[1]
    assert first.units[1] == pytest.approx(first.row[1] / 100)


def test_one_unit_is_said_to_be_what_it_is(work, tmp_path):
    """`?scale=` goes before the codebook's scales, and a codebook may state none."""
    numbers = {name: {"scale": 2.0} for name in NAMES if name != "housing"}
    (tmp_path / "scales.json").write_text(json.dumps({"columns": numbers | {"housing": {"fixed": True}}}))
    (tmp_path / "titles.json").write_text(json.dumps({"columns": {"months": {"title": "duration"}}}))
    scale = f"scale={work / 'people.csv'}"
    for number, (more, said) in enumerate(
        {
            f"codebook={tmp_path / 'scales.json'}": "as the codebook states it",
            f"codebook={tmp_path / 'scales.json'}&{scale}": "of the table that ?scale= names",
            f"codebook={tmp_path / 'titles.json'}&{scale}": "of the table that ?scale= names",
        }.items()
    ):
        out = tmp_path / str(number)
        assert ask(work, out, "--items", 1, "--fixed", "housing", data=f"people.csv?label=paid&{more}") == 0
        asked = records(out)[0].asked
        assert asked.source == f"one standard deviation, {said}"
        assert (asked.units[3] == 2.0) == ("codebook" in said)


def test_a_search_that_ends_early_says_at_least(work, tmp_path):
    assert ask(work, tmp_path / "run", "--nodes", 1) == 0
    known = [one.together for one in records(tmp_path / "run")]
    assert not all(part.exact for part in known)


def test_the_shipped_forest_and_its_applicants(tmp_path, capsys):
    words = ["tolerance", "--model", "credit-forest", "--data", "credit-sample", "--items", "2", "--workers", "1"]
    assert run([*words, "--out", str(tmp_path / "run")]) == 0
    for record in records(tmp_path / "run"):
        assert record.row[record.names.index("housing")] in record.asked.words["housing"]
        assert "credit_amount" in record.asked.whole
    assert printed(capsys, "verify", tmp_path / "run", "--resample", 1)["passed"]
    assert not any(
        one["violated"] for one in printed(capsys, "attack", tmp_path / "run", "--budget", "quick")["findings"]
    )


def test_certify_a_forest_on_a_table_with_words(work, tmp_path, capsys):
    where = work / "people.csv"
    words = ["certify", "--model", work / "credit.ubj", "--data", f"csv:{where}?label=paid&scale={where}"]
    words += ["--noise", "gaussian:0.25", "--reasons", 2, "--samples", 600, "--items", 2, "--workers", 1]
    assert run([*map(str, words), "--out", str(tmp_path / "run")]) == 0
    shown = printed(capsys, "show", tmp_path / "run")
    config = shown["config"]
    assert config["attribution"] == "treeshap"
    assert [unit > 0 for unit in config["units"]] == [True, True, False, True]  # there is nothing between two words
    assert shown["counts"] == {"certified": 2}
    assert printed(capsys, "verify", tmp_path / "run", "--resample", 1)["passed"]


@pytest.mark.parametrize("units", [(0.1, 0.1, 0.0, 0.1), (0.0, 1.0, 0.0, 1.0)])
def test_certificates_count_in_the_units_of_their_data(units, work, tmp_path, capsys):
    """Noise and epsilon in smaller units, or none for a column, agree with each other and are sampled again."""
    where = work / "people.csv"
    words = ["certify", "--model", work / "credit.ubj", "--data", f"csv:{where}?label=paid&scale={where}"]
    words += ["--noise", "gaussian:0.25", "--samples", 64, "--items", 1, "--workers", 1]
    assert run([*map(str, words), "--out", str(tmp_path / "run")]) == 0
    with Store.read_any(tmp_path / "run") as store:
        config, job = prepare(store.config)
    assert config.units is not None
    smaller = tuple(own * share for own, share in zip(config.units, units, strict=True))
    carry_out(replace(job, config=msgspec.structs.replace(config, units=smaller)), tmp_path / "forged", Local(1))
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "forged"), "--resample", "1", "--json"]) == 1
    (problems,) = json.loads(capsys.readouterr().out)["problems"].values()
    assert problems == [f"counts in other units than csv:{where} gives"]
