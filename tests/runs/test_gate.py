"""The gate: what counts as certified, exit codes, and files that pipelines can read."""

import json
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from attribound import cli
from attribound.certificates.record import Failure
from attribound.runs import RunConfig, Store
from attribound.runs.engines import Local
from attribound.runs.gate import Asked, Gate, GatedInput, judge
from attribound.runs.gate_files import junit, markdown, sarif
from attribound.runs.markdown import escaped
from attribound.runs.runner import prepare
from attribound.runs.runner import run as certify
from attribound.runs.tasks import Outcome
from tests.report.conftest import finding
from tests.runs.conftest import CONFIG

EVIL = "<b>&]]>\x00\x1b|@all`*[x](y)\ud83d"[:-1] + "\ufffe"
ASKED = Asked(cosine=0.8, epsilon=0.1, share=0.5)


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    path = tmp_path_factory.mktemp("gate") / "run"
    certify(prepare(CONFIG)[1], path, Local(1))
    return path


@pytest.fixture
def run(certified, tmp_path):
    """Four inputs, certified."""
    return Path(shutil.copytree(certified, tmp_path / "run"))


def change(path, *outcomes, findings=()) -> None:
    with Store.append(path) as store:
        for outcome in outcomes:
            store.add(outcome)
        for found in findings:
            store.add_finding(found, {})


def stored(path) -> list:
    with Store.read(path) as store:
        return list(store.records())


def test_inputs_whose_map_is_another_one_do_not_count(run, capsys) -> None:
    _, second, third, _ = stored(run)
    change(
        run,
        Outcome(second.item, msgspec.structs.replace(second, fidelity=0.0625, seal="")),
        Outcome(third.item, msgspec.structs.replace(third, fidelity=None, seal="")),
    )
    gate = judge(run, ASKED)
    assert gate.counts == {"certified": 2, "unfaithful": 2}
    assert "is only 0.06, less than 0.5" in gate.cases[1].reason
    assert "is unknown, less than 0.5" in gate.cases[2].reason
    assert judge(run, Asked(cosine=0.8, epsilon=0.1, share=1.0, fidelity=0.0)).passed
    flags = ["gate", str(run), "--cosine", "0.8", "--epsilon", "0.1", "--share", "1.0"]
    assert cli.run(flags) == 1
    assert "2 unfaithful" in capsys.readouterr().out
    assert cli.run([*flags, "--fidelity", "0"]) == 0


def test_everything_but_a_certificate_counts_as_none(run) -> None:
    _, second, third, _ = stored(run)
    assert judge(run, ASKED).counts == {"certified": 4}
    limit = msgspec.structs.replace(second.bound, kind="assumed")  # which its run does not know of
    change(
        run,
        Outcome(0, Failure(item=0, message="broken")),
        Outcome(1, msgspec.structs.replace(second, bound=limit)),
        findings=[finding(Outcome(2, third), worst=0.1, worst_most=0.2)],
    )
    connection = sqlite3.connect(run / "run.sqlite")
    with connection:  # a record that was changed after it was written, and one that is gone
        text = connection.execute("SELECT record FROM records WHERE item = 3").fetchone()[0]
        changed = text.replace('"prediction":', '"prediction":1', 1)
        connection.execute("UPDATE records SET record = ? WHERE item = 3", (changed,))
    connection.close()
    found = judge(run, ASKED)
    assert found.counts == {"error": 1, "violated": 1, "doubtful": 2}
    assert not found.passed
    assert found.inputs == 4
    assert (found.true_least, found.population) == (0, 0.0)
    assert not judge(run, Asked(cosine=0.8, epsilon=0.1, share=0.0)).passed, "a violated certificate closes every gate"


def test_nothing_follows_from_a_run_with_a_broken_certificate(run) -> None:
    change(run, findings=[finding(Outcome(2, stored(run)[2]), worst=0.1, worst_most=0.2)])
    found = judge(run, ASKED)
    assert found.counts == {"certified": 3, "violated": 1}
    assert (found.true_least, found.population, found.passed) == (0, 0.0, False)


def test_missing_inputs_are_counted(run) -> None:
    connection = sqlite3.connect(run / "run.sqlite")
    with connection:
        connection.execute("DELETE FROM records WHERE item > 0")
    connection.close()
    found = judge(run, Asked(cosine=0.8, epsilon=0.1, share=0.9))
    assert (found.counts, found.inputs, found.passed) == ({"certified": 1, "missing": 3}, 4, False)
    assert "3 inputs have no record" in sarif(found, run)


def test_a_run_of_the_whole_data_set_knows_how_many_there_are(make) -> None:
    count = 0

    def stop() -> bool:
        nonlocal count
        count += 1
        return count > 2

    found = judge(make(items=None, samples=16, stop=stop), ASKED)
    assert found.inputs == 300 > len(found.cases)


def test_asked_at_another_cosine_than_stated(run) -> None:
    records = stored(run)
    smallest = min(one.max_epsilon["0.9"] for one in records)
    assert judge(run, Asked(cosine=0.9, epsilon=smallest, share=1.0)).passed
    beyond = judge(run, Asked(cosine=0.9, epsilon=10.0, share=0.1))
    assert beyond.counts == {"uncertified": 4}
    assert "nothing is certified at epsilon 10, asked for: 0.9" in beyond.cases[0].reason


def test_an_assumed_limit_is_no_certificate(make) -> None:
    found = judge(make(bound="assumed:10.0", items=2, samples=256), Asked(cosine=0.1, epsilon=0.001, share=0.5))
    assert (found.counts, found.passed) == ({"assumed": 2}, False)
    assert found.cases[0].reason == "the limit is ASSUMED: this is not a certificate"


@pytest.mark.parametrize("confidence", [0.95, 0.9, 0.99, 0.7, 0.999999, 0.9999999999999999, 0.5])
def test_the_level_is_never_more_than_asked_for(confidence) -> None:
    level = Fraction(Asked(cosine=0.8, epsilon=0.1, share=0.6, confidence=confidence).level)
    asked = 1 - Fraction(repr(confidence))
    assert 0 < level <= asked
    assert level == pytest.approx(float(asked), rel=1e-15)


def test_the_confidence_of_the_share(run) -> None:
    found = judge(run, Asked(cosine=0.8, epsilon=0.1, share=0.6, confidence=0.9))
    assert found.passed
    assert found.true_least == 4
    # 4 of 4: Clopper and Pearson's bound is the fourth root of 0.1.
    expected = (0.1**0.25 - found.alpha) / (1 - found.alpha)
    assert found.population == pytest.approx(expected, rel=1e-8)
    assert "at least 56.1 % of the population" in found.sentences[2]
    assert "with confidence 90 %" in found.sentences[2]
    assert "if these are an independent random sample that nothing was chosen by" in found.sentences[2]
    assert not judge(run, Asked(cosine=0.8, epsilon=0.1, share=0.6, confidence=0.9, population=True)).passed
    assert judge(run, Asked(cosine=0.8, epsilon=0.1, share=0.5, confidence=0.9, population=True)).passed


@pytest.fixture
def evil(run) -> Gate:
    change(run, Outcome(1, Failure(item=1, message=EVIL)))
    return judge(run, Asked(cosine=0.8, epsilon=0.1, share=1.0))


def test_junit(evil) -> None:
    suite = ElementTree.fromstring(junit(evil)).find("testsuite")
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    assert len(suite.findall("testcase")) == 5
    message = suite.find("testcase/error").get("message")
    assert message.startswith("error: <b>&]]>\ufffd\ufffd|@all")
    names = {one.get("name") for one in suite.findall("properties/property")}
    assert {"passed", "share", "population_share_lower"} <= names


def test_behind_an_open_gate_nothing_is_red(run) -> None:
    change(run, Outcome(1, Failure(item=1, message="broken")))
    gate = judge(run, ASKED)
    suite = ElementTree.fromstring(junit(gate)).find("testsuite")
    assert [suite.get(key) for key in ("failures", "errors", "skipped")] == ["0", "0", "1"]
    assert {one["level"] for one in json.loads(sarif(gate, run))["runs"][0]["results"]} == {"note"}


def test_sarif_has_what_its_schema_requires(evil, run) -> None:
    log = json.loads(sarif(evil, run))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    driver = log["runs"][0]["tool"]["driver"]
    assert driver["name"] == "attribound"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    for result in log["runs"][0]["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("run.sqlite")
        assert place["region"]["startLine"] >= 1
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["gate", "error"]


def test_markdown(evil) -> None:
    text = markdown(evil)
    assert "**FAILED: 3 of 4" in text
    assert "<b>" not in text
    assert "@all" not in text
    row = next(line for line in text.splitlines() if line.startswith("| item 1"))
    assert row.replace(r"\|", "").count("|") == 4
    assert escaped("a|b <i> `c`") == r"a\|b &lt;i&gt; \`c\`"


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_exit_codes_and_files(run, tmp_path, capsys) -> None:
    asked = ("gate", run, "--cosine", "0.8", "--epsilon", "0.1")
    files = {kind: tmp_path / f"gate.{kind}" for kind in ("junit", "markdown", "sarif")}
    flags = [word for kind, file in files.items() for word in (f"--{kind}", file)]
    code, out, _ = call(capsys, *asked, "--share", "0.9", *flags)
    assert code == 0
    assert out.startswith("passed: 4 of 4 inputs (100.0 %) are certified for cosine 0.8 at epsilon 0.1")
    assert all(file.stat().st_size for file in files.values())
    code, out, _ = call(capsys, "gate", run, "--cosine", "0.8", "--epsilon", "9", "--share", "0.9", "--json")
    assert (code, json.loads(out)["passed"], json.loads(out)["certified"]) == (1, False, 0)
    code, _, err = call(capsys, *asked, "--share", "1.5")
    assert (code, err) == (2, "error: expected `share` in [0, 1], got 1.5\n")
    code, _, err = call(capsys, *asked, "--share", "1", "--confidence", "1")
    assert (code, err) == (2, "error: expected `confidence` in (0, 1), got 1\n")
    code, _, err = call(capsys, "gate", tmp_path, "--cosine", "0.8", "--epsilon", "0.1", "--share", "0.9")
    assert code == 2
    assert "is not a run" in err
    assert call(capsys, "gate", run, "--epsilon", "0.1")[0] == 2


def test_nine_of_ten_are_nine_tenths() -> None:
    cases = [GatedInput(item, "certified" if item < 9 else "uncertified") for item in range(10)]
    for inputs in (10, 70):
        many = cases * (inputs // 10)
        asked = Asked(cosine=0.8, epsilon=0.1, share=0.9)
        gate = Gate("run", RunConfig(model="m", data="d"), asked, many, 0, 1e-3, None, None)
        assert gate.passed
        assert not Gate("run", gate.config, asked, many, 1, 1e-3, None, None).passed
