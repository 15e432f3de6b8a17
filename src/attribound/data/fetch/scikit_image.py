"""Photographs free for any use, at their own size: the four of `--data photos`, a retina and a stained tissue."""

from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python

_FILES = ("astronaut.png", "chelsea.png", "coffee.png", "ihc.png", "retina.jpg", "rocket.jpg")


def convert(archive: Archive, folder: Path) -> None:
    """The pictures as they are, without labels."""
    for name in _FILES:
        (folder / name).write_bytes(archive.read(f"skimage/data/{name}"))


PACKAGE = Package(
    source=Python("scikit-image", "0.26.0", platform="manylinux_2_28_x86_64"),
    sha256="74aa5518ccea28121f57a95374581d3b979839adc25bb03f289b1bc9b99c58af",
    what="six free photographs at their own size: a cat, an espresso, a rocket, a retina, ...",
    files=_FILES,
    convert=convert,
    use="--data folder:{folder}",
)
