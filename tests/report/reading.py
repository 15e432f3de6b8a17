"""A page as a browser would see it."""

import json
from html.parser import HTMLParser
from pathlib import Path

from attribound.report.page import write_report


class Page(HTMLParser):
    """Elements and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.scripts, self._inside = "", [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag) -> None:
        self._inside = ""

    def handle_data(self, data) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])

    @property
    def kind(self) -> str:
        return next(attrs["class"] for _, attrs in self.elements if attrs.get("id") == "verdict")


def report(path: Path, **options) -> Page:
    return Page(write_report(path, **options))
