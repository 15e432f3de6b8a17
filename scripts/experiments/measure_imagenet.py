"""Sample class activation maps of photos under noise.

`python scripts/experiments/measure_imagenet.py --model FILE --arch A ...`. Stage 1 of results/imagenet.md; stage 2 is
scripts/experiments/imagenet_table.py. One file of draws per (model, sigma, photo) goes to --draws: run again to resume.
A file holds the *signed, uncentred* maps of three methods, which share a forward pass, at every noisy copy of the
photo, and the class that the model gave to the copy. So whatever is proved about maps can be proved from these draws
again when the proofs get better.

Everything before the layer is compiled, which saves a third to a half of the time; `check` compares the maps with the
plain model's.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.certification.certifier import certify
from attribound.data.folder import Folder
from attribound.fields import Saliency, Unit
from attribound.fields.bounded import Clip
from attribound.fields.cam import CAM, GradCAM, GradCAMPlusPlus, LayerCAM
from attribound.fields.families import noisy
from attribound.hashes import input_hash
from attribound.models import Denoised, load_denoiser, load_model
from attribound.noise import Gaussian
from attribound.sampling import Around, AtPoint

SAMPLES, SALIENCY_SAMPLES, BATCH = 1024, 256, 8
SIGMAS = (0.05, 0.1, 0.25, 0.15, 0.33)
METHODS = (GradCAM, LayerCAM, GradCAMPlusPlus)
UNBOUNDED = 1e6


class Together(CAM):
    """Three methods from one pass: maps (B, 3, height, width)."""

    method = "together"

    def combine(self, activations: Tensor, slopes: Tensor) -> Tensor:
        """The formulas of METHODS."""
        return torch.stack([kind.combine(self, activations, slopes) for kind in METHODS], dim=1)


def efficientnet_trunk(model: nn.Module, images: Tensor) -> Tensor:
    """EfficientNet-Lite up to `head`."""
    x = model.normalize(images).contiguous(memory_format=torch.channels_last)
    x = functional.relu6(model._bn0(model._conv_stem(model.pad(x))))
    for block in model._blocks:
        x = block(x)
    return model.head(model._bn1(model._conv_head(x)))


def resnet_trunk(model: nn.Module, images: Tensor) -> Tensor:
    """ResNet up to `layer4`."""
    x = model.normalize(images).contiguous(memory_format=torch.channels_last)
    x = model.maxpool(model.relu(model.bn1(model.conv1(x))))
    return model.layer4(model.layer3(model.layer2(model.layer1(x))))


class Split(nn.Module):
    """The same model in two modules: `trunk`, compiled, whose output is the map's layer, and the rest."""

    def __init__(self, trunk: Callable[[Tensor], Tensor], last: nn.Module) -> None:
        super().__init__()
        self.trunk, self.last = Trunk(trunk), last

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) to logits."""
        return self.last(self.trunk(images).mean(dim=(2, 3)))


class Trunk(nn.Module):
    """Everything up to the layer; nothing there needs a gradient."""

    def __init__(self, trunk: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.compiled = torch.compile(trunk)

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) to activations; a last batch of another size is not worth compiling for."""
        missing = -len(images) % BATCH
        padded = torch.cat([images, images[-1:].expand(missing, -1, -1, -1)]) if missing else images
        return self.compiled(padded)[: len(images)].clone()


def split(plain: nn.Module, denoiser: nn.Module | None = None, sigma: float = 0.0) -> Split:
    """The split model of a plain one, behind a denoiser if there is one."""

    def clean(images: Tensor) -> Tensor:
        return images if denoiser is None else denoiser(images, torch.full((len(images),), sigma))

    if hasattr(plain, "layer4"):
        return Split(lambda images: resnet_trunk(plain, clean(images)), plain.fc).eval()
    return Split(lambda images: efficientnet_trunk(plain, clean(images)), plain._fc).eval()


def check(plain: nn.Module, fast: Split, x: Tensor) -> None:
    """Raise unless the split model gives the plain model's maps."""
    points = noisy(x, Gaussian(0.1), BATCH, torch.Generator().manual_seed(0))
    kept = {"centred": False, "relu": False}
    layer = "model.layer4" if hasattr(getattr(plain, "model", None), "layer4") else None
    layer = "model.head" if hasattr(getattr(plain, "model", None), "head") else layer
    first, second = (
        Together(plain, layer, **kept).explain(points, 7),
        Together(fast, "trunk", **kept).explain(points, 7),
    )
    for ours, theirs in ((first.logits, second.logits), (first.maps, second.maps)):
        difference = float((ours - theirs).norm() / ours.norm())
        print(f"split against plain: relative difference {difference:.1e}", flush=True)
        if difference > 1e-4:
            raise SystemExit("error: the split model is not the plain one")


def sample(fast: Split, x: Tensor, sigma: float, item: int) -> dict[str, np.ndarray]:
    """The draws of one photo: those that `certify` takes with seed 0 and this item."""
    field = Together(fast, "trunk", centred=False, relu=False)
    with torch.no_grad():
        logits = fast(x[None])
    target = int(logits.argmax())
    family = Around(Clip(field, UNBOUNDED), target, x)
    design = AtPoint(Gaussian(sigma), item=item, batch=BATCH, classes=True)
    chunks = list(design.rounds(family, SAMPLES))
    plain = field.attribute(x[None], target)[0]
    return {
        "maps": torch.cat([chunk.maps for chunk in chunks]).view(-1, *plain.shape).float().numpy(),
        "classes": torch.cat([chunk.classes for chunk in chunks]).numpy(),
        "plain": plain.numpy(),
        "target": np.array(target),
        "chunk": np.array(design.chunk_rows(family, SAMPLES)),
    }


def saliency(plain: nn.Module, x: Tensor, sigma: float, item: int) -> dict[str, float]:
    """A certificate of the raw gradient, for comparison: its map is too large to store draws of."""
    field = Unit(Saliency(plain))
    certificate = certify(field, x, noise=Gaussian(sigma), samples=SALIENCY_SAMPLES, batch=BATCH, seed=0, item=item)
    return {
        "norm": certificate.norm,
        "epsilon": certificate.max_epsilon(0.8),
        "fidelity": certificate.fidelity,
        "samples": SALIENCY_SAMPLES,
    }


def main() -> None:
    """Go through all (sigma, photo) that have no file yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a file of weights")
    parser.add_argument("--arch", required=True)
    parser.add_argument("--photos", nargs="+", required=True, help="folders of photos")
    parser.add_argument("--draws", type=Path, required=True)
    parser.add_argument("--sigmas", type=float, nargs="+", default=SIGMAS)
    parser.add_argument("--denoiser", help="put this denoiser in front")
    parser.add_argument("--saliency", action="store_true", help="certify raw gradients instead")
    parser.add_argument("--items", type=int, default=None, help="the first so many photos only")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    torch._inductor.config.freezing = True
    plain = load_model(chosen.model, chosen.arch)
    denoiser = None if chosen.denoiser is None else load_denoiser(chosen.denoiser)
    name = chosen.arch if denoiser is None else f"{chosen.arch}+denoiser"
    photos = [(folder, index) for folder in map(Folder, chosen.photos) for index in range(len(folder))][: chosen.items]
    chosen.draws.mkdir(parents=True, exist_ok=True)
    for sigma in chosen.sigmas:
        ending = "json" if chosen.saliency else "npz"
        paths = [chosen.draws / f"{name}-{sigma:g}-{item:02d}.{ending}" for item in range(len(photos))]
        missing = [item for item, path in enumerate(paths) if not path.exists()]
        whole = plain if denoiser is None else Denoised(plain, denoiser, sigma).eval()
        if missing and not chosen.saliency:
            fast = split(plain, denoiser, sigma)
            check(whole, fast, photos[0][0].input(0))
        for item in missing:
            (folder, index), path = photos[item], paths[item]
            started, x, photo = time.perf_counter(), folder.input(index), folder._files[index][0].stem
            if chosen.saliency:
                path.write_text(json.dumps({"photo": photo, **saliency(whole, x, sigma, item)}))
                continue
            draws = sample(fast, x, sigma, item)
            number = folder._files[index][0].parent.name.partition("_")[0]
            label = int(number) if number.isdecimal() else -1  # a folder without a number is no class of ImageNet
            np.savez(path, **draws, name=np.array(photo), label=np.array(label), sha256=np.array(input_hash(x)))
            print(f"{path.stem} {photo} {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
