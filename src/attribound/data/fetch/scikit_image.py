"""Photographs free for any use, at their own size: the four of `--data photos`, a retina and a stained tissue."""

from attribound.data.fetch.package import Package, Python, copied

_FILES = ("astronaut.png", "chelsea.png", "coffee.png", "ihc.png", "retina.jpg", "rocket.jpg")

PACKAGE = Package(
    source=Python("scikit-image", "0.26.0", platform="manylinux_2_28_x86_64"),
    sha256="74aa5518ccea28121f57a95374581d3b979839adc25bb03f289b1bc9b99c58af",
    files=_FILES,
    convert=copied({f"skimage/data/{name}": name for name in _FILES}),
    use="--data folder:{folder}",
)
