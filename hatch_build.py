"""The package's description: the README without links into the repository, which an index does not show."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)\s]+)\)")


class DescriptionHook(MetadataHookInterface):
    """Fills `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Leave out what would lead nowhere."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": standing_alone(text)}


def standing_alone(text: str) -> str:
    """The text with the words of its relative links only, and without pictures that lie beside it."""
    return LINK.sub(lambda match: "" if match[1] else match[2], text)
