"""Twenty labelled photographs of ImageNet, 2 MB, in folders whose names begin with the class number."""

import json
from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python, copied
from attribound.data.imagenet import folder_name, imagenet_classes

_LABELS = (243, 559, 438, 990, 949, 853, 609, 609, 915, 455, 541, 630, 741, 471, 129, 99, 251, 22, 317, 305)
_FILES = {
    f"foolbox/data/imagenet_{i:02d}_{n}.jpg": f"{folder_name(n)}/imagenet_{i:02d}.jpg" for i, n in enumerate(_LABELS)
}


def convert(archive: Archive, folder: Path) -> None:
    """The pictures as they are, one folder per class, and the names of all classes."""
    copied(_FILES)(archive, folder)
    (folder / "classes.json").write_text(json.dumps(imagenet_classes(), indent=0))


PACKAGE = Package(
    source=Python("foolbox", "3.3.4"),
    sha256="11049d515d38e765e206a73ace9cc648b81a0d6d1da9ad9057e149ee117989cb",
    files=(*_FILES.values(), "classes.json"),
    convert=convert,
    use="--data folder:{folder}",
)
