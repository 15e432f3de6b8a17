"""The package's description: the README with absolute links, because an index shows it without the repository."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)\s]+)\)")


class DescriptionHook(MetadataHookInterface):
    """Fills `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Replace links into the repository by links to this version of it."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        described = absolute(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": described}


def absolute(text: str, repository: str, version: str) -> str:
    """The text with absolute links: pictures as files, everything else as pages."""

    def replace(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return LINK.sub(replace, text)
