"""Text inside Markdown: what a file says is shown, and neither formats nor mentions anybody."""

import re

from attribound.sanitise import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def escaped(text: str) -> str:
    """One line that Markdown shows as it is, also inside a table."""
    line = printable(str(text))
    return "".join(_NAMED.get(letter, letter) for letter in _SPECIAL.sub(r"\\\1", line))


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table of texts that are escaped here."""
    lines = [heads, ["---"] * len(heads)]
    body = [[escaped(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [*lines, *body])
