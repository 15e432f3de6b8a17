"""What the pages of all comparisons share: settings side by side, and pairs for a pull request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from attribound.runs.compared import ComparedRuns
from attribound.runs.markdown import escaped, table

MOST_LINES = 50
"""How many pairs a pull request shows: what changed first."""


@final
@dataclass(frozen=True)
class Lines:
    """A title, the heads of a table, and a row for each pair."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def markdown_of(sentences: Sequence[str], lines: Lines) -> str:
    """The text for a pull request."""
    first, *rest = sentences
    parts = [f"## {lines.title}", f"**{escaped(first)}**", "\n".join(f"- {escaped(line)}" for line in rest)]
    left = len(lines.rows) - MOST_LINES
    more = [f"... and {left} more."] if left > 0 else []
    return "\n\n".join([*parts, table(lines.heads, lines.rows[:MOST_LINES]), *more]) + "\n"


def settings(found: ComparedRuns[Any], names: Sequence[str], asked: Mapping[str, str] | None = None) -> list[list[str]]:
    """What was run, side by side; `asked` names settings about columns, with their titles."""
    both = [config.to_json() for config in found.configs]
    shown = [[name.replace("_", " "), *(_text(one[name]) for one in both)] for name in names]
    return shown + [[title, *(_text(one["columns"][name]) for one in both)] for name, title in (asked or {}).items()]


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value) or "none"
