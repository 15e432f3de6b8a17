"""The pack of evidence: a run with everything that others need to check it, and sums over every file."""

import hashlib
import io
import json
import os
import platform
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.metadata import version
from pathlib import Path

from attribound.errors import StoredDataError
from attribound.files import utf8, write_whole
from attribound.report.auditor.card import model_card
from attribound.report.auditor.page import render
from attribound.report.shared import wording
from attribound.runs import Store
from attribound.runs.copies import copy_run

SUMS = "SHA256SUMS"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Files in the archive have no time of their own: the same evidence gives the same archive, but for the dates in it."""
_README = """# Evidence about the run {name}

| file | what it is |
| --- | --- |
| run/run.sqlite | the run itself: `attribound show run`, `attribound report run`, `attribound verify run` |
| records.jsonl | its records, one JSON object per line, as they were stored, each with its seal |
| findings.json | what attacks found, by input |
| config.json | what was run, with hashes of model and data |
| versions.json | of the programs that certified, and of the one that made this pack |
| audit.html | the report for auditors |
| model-card.md | a section for a model card |
| SHA256SUMS | the sum of every other file |
| verify.py | checks with Python alone the sums, the seals, and that records, findings and configuration are those of \
run.sqlite; with attribound installed, derives every number in run.sqlite again |

    python verify.py

The model and the data are not in here; config.json has their hashes. This repeats the run:

    {command}

audit.html, model-card.md and versions.json are not derived again: only their sums are compared with SHA256SUMS, which
the maker of this pack wrote, like verify.py. Keep the sum of SHA256SUMS elsewhere. If you do not trust the pack, run
your own `attribound verify run` and make the pages again with `attribound report run --audience auditor`.

Sums and seals detect accidents. Anyone who can write them can write false ones: only sampling again, with the model and
the data (`attribound verify run --resample 3`), shows that a record is true.
"""


def write_pack(run: Path, out: Path) -> Path:
    """Write the pack: a zip archive if the name ends so, else a new folder."""
    files = dict(_files(run))
    files[SUMS] = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()
    if out.suffix == ".zip":
        return write_whole(out, _zipped(files))
    if out.exists():
        raise StoredDataError(f"expected a new folder for the evidence, or a name that ends in .zip, but {out} exists")
    for name, content in files.items():
        write_whole(out / name, content)
    return out


def _zipped(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(files):
            target.writestr(zipfile.ZipInfo(name, _EPOCH), files[name], zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def _files(run: Path) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        # Everything is read from one copy, so that a run which is still written cannot differ between the files.
        copied = Path(folder) / (run.resolve().name or "run")
        copy_run(run, copied)
        with Store.read(run) as original, Store.read(copied) as twin:
            written = original.file.stat().st_mtime
            os.utime(twin.file, (written, written))
        with Store.read(copied) as store:
            yield "records.jsonl", "".join(f"{text}\n" for text in store.texts()).encode()
            yield "findings.json", _json({str(item): one.row() for item, one in store.findings().items()})
            yield "config.json", _json(store.recall("config"))
            yield "versions.json", _json(_versions(store))
            yield "audit.html", utf8(render(store))
            yield "model-card.md", utf8(model_card(store))
            command = wording.command(store.config, copied.name)
            yield "README.md", utf8(_README.format(name=copied.name, command=command))
            yield "run/run.sqlite", store.file.read_bytes()
    yield "verify.py", (resources.files("attribound.report.auditor") / "templates" / "verify.py.txt").read_bytes()


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def _versions(store: Store) -> dict[str, object]:
    certified = {
        json.dumps(one.versions, sort_keys=True): one.versions for one in store.records() if hasattr(one, "versions")
    }
    packed = {name: version(name) for name in ("attribound", "numpy", "scipy")}
    return {
        "certified_with": list(certified.values()),
        "packed_with": packed | {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version},
    }
