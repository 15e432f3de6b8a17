"""A gate's outcome in the forms that pipelines read: JUnit, Markdown, SARIF."""

import json
import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from attribound.rounding import exact_text
from attribound.runs.gate import Gate, GatedInput
from attribound.runs.markdown import escaped, table

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may hold, not even escaped."""
_RULES = {
    "uncertified": "The explanation of this input is not certified as far as asked for.",
    "unfaithful": "The smoothed explanation does not resemble the plain one: what is certified is another explanation.",
    "assumed": "The limit is assumed: what follows from it is not a certificate.",
    "doubtful": "The record is not as it should be: it does not count as certified.",
    "violated": "An attack broke the certificate of this input.",
    "error": "The input could not be certified because something went wrong.",
    "missing": "Inputs that the run was asked for have no record.",
    "gate": "Fewer inputs are certified than the gate asks for.",
}
_SHOWN = 50
"""Inputs that the Markdown summary names; a pull request is no place for thousands."""
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit(gate: Gate) -> str:
    """One test case per input, and one for the gate itself."""
    wrong = [case for case in gate.cases if case.outcome != "certified"]
    # Behind an open gate what is not certified is tolerated: no viewer may show it as a failure.
    kinds = Counter(_kind(case, gate) for case in wrong)
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(f"attribound gate {gate.name}"),
        tests=str(len(gate.cases) + 1),
        failures=str(kinds["failure"] + (not gate.passed)),
        errors=str(kinds["error"]),
        skipped=str(kinds["skipped"]),
        time=f"{sum(case.seconds for case in gate.cases):.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _figures(gate).items():
        ElementTree.SubElement(properties, "property", name=name, value=str(value))
    _testcase(suite, gate, "gate", 0.0, "" if gate.passed else "failure", gate.sentences[0])
    for case in gate.cases:
        _testcase(suite, gate, case.name, case.seconds, _kind(case, gate), case.reason, case.outcome)
    output = ElementTree.SubElement(suite, "system-out")
    output.text = _xml("\n".join(gate.sentences))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _kind(case: GatedInput, gate: Gate) -> str:
    if case.outcome == "certified":
        return ""
    return "skipped" if gate.passed else "error" if case.outcome == "error" else "failure"


def _testcase(
    suite: ElementTree.Element, gate: Gate, name: str, seconds: float, kind: str, text: str, outcome: str = "gate"
) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_xml(f"attribound.{gate.name}"), name=name, time=f"{seconds:.3f}"
    )
    if kind:
        found = ElementTree.SubElement(case, kind, message=_xml(f"{outcome}: {text}"), type=outcome)
        found.text = _xml(text)


def _xml(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def markdown(gate: Gate) -> str:
    """A summary for a pull request or a job's page."""
    first, *rest = gate.sentences
    config = gate.config
    rows = [
        ["model", config.network],
        ["data", config.data],
        ["explanation", config.method],
        [*config.varied],
        ["samples, alpha", f"{config.samples}, {exact_text(gate.alpha)}"],
    ]
    parts = [
        f"## Explanations: gate {'passed' if gate.passed else 'failed'}",
        f"**{escaped(first)}**",
        *(f"- {escaped(line)}" for line in rest),
        table(["run", escaped(gate.name)], rows),
    ]
    wrong = [case for case in gate.cases if case.outcome != "certified"]
    if wrong:
        parts.append(table(["input", "outcome", "why"], [[c.name, c.outcome, c.reason] for c in wrong[:_SHOWN]]))
    if len(wrong) > _SHOWN:
        parts.append(f"... and {len(wrong) - _SHOWN} more.")
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


def sarif(gate: Gate, run: Path) -> str:
    """Every input that is not certified as a result of a static analysis (SARIF 2.1.0)."""
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(run)}, "region": {"startLine": 1}}}
    results = [_result(case, place, gate) for case in gate.cases if case.outcome != "certified"]
    if gate.missing:
        results.append(_result(GatedInput(None, "missing", f"{gate.missing} inputs have no record"), place, gate))
    if not gate.passed:
        results.insert(0, _result(GatedInput(None, "missing"), place, gate) | _verdict(gate))
    driver = {
        "name": "attribound",
        "version": version("attribound"),
        "rules": [{"id": key, "shortDescription": {"text": text}} for key, text in _RULES.items()],
    }
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results, "properties": _figures(gate)}],
    }
    return json.dumps(log, indent=1, allow_nan=False) + "\n"


def _result(case: GatedInput, place: dict[str, Any], gate: Gate) -> dict[str, Any]:
    level = "error" if case.outcome in ("violated", "error", "doubtful") else "warning"
    logical = {"logicalLocations": [{"name": case.name, "kind": "member"}]}
    return {
        "ruleId": case.outcome,
        "ruleIndex": list(_RULES).index(case.outcome),
        "level": "note" if gate.passed else level,
        "message": {"text": f"{case.name}: {case.reason or _RULES[case.outcome]}"},
        "locations": [place | logical],
        "partialFingerprints": {"attribound/v1": f"{case.outcome}:{case.name}"},
    }


def _verdict(gate: Gate) -> dict[str, Any]:
    return {
        "ruleId": "gate",
        "ruleIndex": list(_RULES).index("gate"),
        "level": "error",
        "message": {"text": " ".join(gate.sentences)},
        "partialFingerprints": {"attribound/v1": "gate"},
    }


def _uri(run: Path) -> str:
    """Relative to where the pipeline runs, if the run is below it: what viewers of SARIF look for."""
    file = (run / "run.sqlite").resolve()
    base = Path.cwd()
    return quote(file.relative_to(base).as_posix()) if file.is_relative_to(base) else file.as_uri()


def _figures(gate: Gate) -> dict[str, Any]:
    """The numbers that a pipeline may want to plot."""
    names = ("passed", "inputs", "certified", "share", "true_least", "population_share_lower", "alpha")
    whole = gate.to_json()
    return {name: whole[name] for name in names}
