"""A section for a model card: what is proved about a model's explanations, in Markdown."""

import re
import shlex
from collections.abc import Sequence

from attribound.report.auditor.page import Audit, read
from attribound.report.shared import wording
from attribound.report.shared.quantiles import quantiles
from attribound.runs import Store, remarks
from attribound.runs.markdown import escaped, table
from attribound.sanitise import blank

_HEADS = ("cosine", "turns at most")


def model_card(store: Store) -> str:
    """The section; every number is one that the run's records prove."""
    audit = read(store)
    parts = ["## Robustness of explanations", *_warnings(audit), escaped(audit.verdict.text)]
    parts += [escaped(line) for line in (audit.verdict.apart, audit.verdict.seen, audit.verdict.chance) if line]
    parts += [_numbers(audit), "### How it was measured", _setting(audit), "### Limits"]
    parts.append("\n".join(f"- {escaped(limit)}" for limit in wording.limits(audit.run.config)))
    commands = [
        wording.command(audit.run.config, audit.name),
        f"attribound verify {shlex.quote(audit.name)} --resample 3",
    ]
    parts += ["### Repeat it", _code(commands)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _code(lines: Sequence[str]) -> str:
    """A block of commands that nothing inside it can end."""
    text = "\n".join(map(blank, lines))
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}sh\n{text}\n{fence}"


def _warnings(audit: Audit) -> list[str]:
    found = wording.alarms(audit.run)
    if audit.run.assumed:
        found = [*found, remarks.ASSUMED.text]
    found = [*found, *(f"{claim}." for claim in audit.run.summary.claims)]
    return [f"> **{escaped(line)}**" for line in found]


def _numbers(audit: Audit) -> str:
    """Quantiles of the certified epsilon."""
    shown = quantiles(audit.run)
    if not shown["rows"]:
        return ""
    heads = [*_HEADS, *(f"{share} of all {audit.noun}s" for share in shown["shares"]), "50 %, maps as sampled"]
    rows = [[row["cosine"], f"{row['degrees']}°", *row["reached"], row["visible"]] for row in shown["rows"]]
    title = f"Up to which epsilon (the change's {audit.run.config.size}) explanations keep a cosine, {audit.run.word}:"
    return f"{title}\n\n{table(heads, rows)}"


def _setting(audit: Audit) -> str:
    facts = [*wording.facts(audit.run, audit.verdict), *wording.provenance(audit.run)]
    rows = [[fact["name"], fact["text"]] for fact in facts]
    rows.append(["Records SHA-256", audit.records_sha256])
    rows.append(["Section made", f"{audit.today:%Y-%m-%d}"])
    return table(["what", "value"], rows)
