"""Make the embedded sample and all shipped weights: `python scripts/assets/make_weights.py --mnist DIR --cifar10 DIR`.

The folders hold MNIST's IDX files and CIFAR-10's batches (`attribound data fetch` gets them), and for the denoiser of
photographs (`--patches DIR`) what scripts/assets/make_patches.py writes. Everything takes about five hours on two
cores; `--only NAME` makes one part. An interrupted training resumes, and a phase whose weights are there is not
repeated: delete them to make them anew.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from attribound.data import Dataset, open_data
from attribound.models import DENOISERS, SHIPPED, load_denoiser, load_shipped, make_model
from attribound.noise import Gaussian
from attribound.training import (
    Augmented,
    Behind,
    Bfloat16,
    Consistency,
    Denoise,
    FrozenNorm,
    IgNorm,
    Igr,
    Objective,
    OneSided,
    Recognised,
    Schedule,
    Standard,
    Trades,
    WithClean,
    WithNoise,
    fresh,
    train,
)
from attribound.training.denoise import measure_denoising
from attribound.training.session import measure

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "attribound"
PER_DIGIT = 30


@dataclass(frozen=True)
class Recipe:
    """How one shipped model is made, perhaps in phases.

    Attributes:
        data: the argument that says where the data are.
        objective: of the first phase.
        schedule: of the first phase.
        sigma: noise under which its card gives the accuracy.
        then: further phases.
        start: shipped name of the weights to start from.
        kept: in the end, this part of the way to the trained weights is kept: averages of weights that lie close
            together often generalise better than either (Wortsman et al. 2022).
        since: the way begins with the weights before this phase.
    """

    data: str
    objective: Objective
    schedule: Schedule
    sigma: float = 0.5
    then: tuple[tuple[Objective, Schedule], ...] = ()
    start: str | None = None
    kept: float = 1.0
    since: int = 0

    @property
    def phases(self) -> list[tuple[Objective, Schedule]]:
        """All phases in order."""
        return [(self.objective, self.schedule), *self.then]


NEAR = Denoise(low=0.15, high=0.35)


def behind(beta: float) -> Objective:
    """A denoiser behind which the shipped ResNet-20 recognises pictures, for reasons that hold under noise."""
    return Behind(NEAR, OneSided(Gaussian(0.25), beta=beta), "cifar10-resnet20", sigma=0.25)


DESCENT = {"rate": 0.2, "momentum": 0.9}
RECIPES = {
    "mnist-cnn": Recipe("mnist", Standard(), Schedule(epochs=3)),
    "mnist-cnn-noise": Recipe(
        "mnist", WithNoise(Standard(), Gaussian(0.5)), Schedule(epochs=3, rate=1.2e-3, decay=5e-4)
    ),
    "mnist-cnn-consistency": Recipe(
        "mnist", Consistency(Gaussian(0.75), beta=0.5), Schedule(epochs=5, rate=2e-3, decay=1e-4), sigma=0.75
    ),
    "mnist-cnn-trades": Recipe("mnist", Trades(), Schedule(epochs=3)),
    "mnist-cnn-ig-norm": Recipe("mnist", IgNorm(), Schedule(epochs=1)),
    "mnist-cnn-igr": Recipe("mnist", Igr(weight=4.0), Schedule(epochs=2)),
    "mnist-cnn-trades-noise": Recipe("mnist", WithNoise(Trades(), Gaussian(0.5)), Schedule(epochs=2, rate=1.2e-3)),
    "cifar10-resnet20": Recipe(
        "cifar10",
        Augmented(Standard()),
        Schedule(epochs=12, decay=5e-4, **DESCENT),
        0.25,
        then=((Augmented(Standard()), Schedule(epochs=2, rate=0.05, decay=5e-4, momentum=0.9)),),
    ),
    "cifar10-resnet20-noise": Recipe(
        "cifar10",
        WithNoise(Augmented(Standard()), Gaussian(0.25)),
        Schedule(epochs=10, decay=1e-4, **DESCENT),
        0.25,
        # Batch norm that has seen only noise misjudges clean images: a few epochs with both.
        then=(
            (
                WithNoise(Augmented(Standard()), Gaussian(0.25), share=0.7),
                Schedule(epochs=2, rate=0.05, decay=1e-4, momentum=0.9),
            ),
        ),
    ),
    "cifar10-resnet20-consistency": Recipe(
        "cifar10",
        Bfloat16(Augmented(FrozenNorm(WithClean(OneSided(Gaussian(0.25), beta=2.0))))),
        Schedule(epochs=1, batch=64, rate=1e-3),
        0.25,
        then=(
            (
                Bfloat16(Augmented(FrozenNorm(WithClean(OneSided(Gaussian(0.25), beta=2.0))))),
                Schedule(epochs=1, batch=64, rate=2e-4),
            ),
        ),
        start="cifar10-resnet20-noise",
        kept=0.75,
    ),
    "denoiser-cifar10": Recipe("cifar10", Denoise(), Schedule(epochs=8, batch=16, rate=2e-3)),
    "denoiser-cifar10-resnet20": Recipe(
        "cifar10",
        Bfloat16(Augmented(Recognised(NEAR, "cifar10-resnet20", weight=0.1))),
        Schedule(epochs=8, batch=64, rate=1.5e-3),
        then=(
            (Bfloat16(Augmented(behind(beta=2.0))), Schedule(epochs=2, batch=64, rate=5e-4)),
            (Bfloat16(Augmented(behind(beta=10.0))), Schedule(epochs=3, batch=64, rate=6e-4)),
        ),
        start="denoiser-cifar10",
        kept=0.2,
        since=2,
    ),
    "denoiser-photos": Recipe(
        "patches", Bfloat16(Denoise()), Schedule(epochs=10, batch=16, rate=1e-3), start="denoiser-cifar10"
    ),
}
TYPED = {
    "cifar10-resnet20-adversarial": ("cifar10-resnet20", "cifar10-adversarial"),
    "cifar10-resnet20-trades": ("cifar10-resnet20", "cifar10-trades"),
    "cifar10-resnet20-igr": ("cifar10-resnet20-trades", "cifar10-igr"),
    "cifar10-resnet20-ig-norm": ("cifar10-resnet20-trades", "cifar10-ig-norm"),
}
"""Models made by `attribound train`: what each starts from, and its file in examples/recipes."""
ARCHITECTURES = {**SHIPPED, **dict.fromkeys(DENOISERS, "denoiser")}


def make_sample(test: Dataset) -> None:
    """Store the first images of each digit of the test set, in the test set's order."""
    images, labels = test.batch(range(len(test)))
    chosen = torch.cat([(labels == digit).nonzero()[:PER_DIGIT, 0] for digit in range(10)]).sort().values
    pixels = (images[chosen, 0] * 255).round().to(torch.uint8).numpy()
    np.savez_compressed(
        PACKAGE / "data" / "mnist-sample.npz", images=pixels, labels=labels[chosen].numpy().astype(np.uint8)
    )


def make_weights(name: str, folder: str) -> None:
    """Train one model and store its weights and card."""
    recipe = RECIPES[name]
    learn, test = data(recipe.data, folder)
    model = start(name, recipe)
    out = PACKAGE / "models" / "weights" / f"{name}.safetensors"
    before = finished(out.with_suffix(".json"), recipe)
    if before:
        model.load_state_dict(load_file(out))
    origin = start(name, recipe)
    for number, (objective, schedule) in list(enumerate(recipe.phases))[len(before) :]:
        if number == recipe.since > 0:
            origin.load_state_dict(model.state_dict())
        card = train(
            model,
            ARCHITECTURES[name],
            learn,
            test,
            objective,
            schedule,
            out,
            noise=Gaussian(recipe.sigma),
            command=f"python scripts/assets/make_weights.py --{recipe.data} DIR --only {name}",
            report=lambda epoch, loss: print(f"{name} epoch {epoch}: {loss:.4f}", flush=True),
        )
        if ARCHITECTURES[name] == "denoiser" and recipe.kept == 1:
            card |= halve(model, out, test)
        if recipe.start:
            card["start"] = recipe.start
        out.with_suffix(".json").write_text(json.dumps({**card, "before": before}, indent=1) + "\n")
        before = [*before, {key: card[key] for key in PHASE if key in card}]
        print(json.dumps(card), flush=True)
    if recipe.kept < 1 and "kept" not in json.loads(out.with_suffix(".json").read_text()):
        mix(model, origin, recipe, out, test)


def type_train(name: str, folder: str) -> None:
    """Make one model by the command that its card tells; the folder is seen from the repository's."""
    out = PACKAGE / "models" / "weights" / f"{name}.safetensors"
    if out.exists():
        return
    start, recipe = TYPED[name]
    words = ["--data", f"cifar10:{folder}", "--arch", "resnet20", "--start", start]
    words += ["--recipe", f"examples/recipes/{recipe}.toml", "--out", str(out.relative_to(ROOT))]
    subprocess.run([sys.executable, "-m", "attribound", "train", *words], cwd=ROOT, check=True)


def mix(model: nn.Module, first: nn.Module, recipe: Recipe, out: Path, test: Dataset) -> None:
    """Go back a part of the way to earlier weights, and measure again."""
    old, card = first.state_dict(), json.loads(out.with_suffix(".json").read_text())
    mixed = {
        key: torch.lerp(old[key], new, recipe.kept).contiguous() if new.is_floating_point() else new
        for key, new in model.state_dict().items()
    }
    model.load_state_dict(mixed)
    save_file(mixed, out)
    denoises = card["architecture"] == "denoiser"
    found = halve(model, out, test) if denoises else measure(model.eval(), test, Gaussian(recipe.sigma))
    card |= {"kept": recipe.kept, "since": recipe.since, **found}
    out.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n")
    print(json.dumps(card), flush=True)


def data(kind: str, folder: str) -> tuple[Dataset, Dataset]:
    """What to learn from and what to measure on, with names that do not depend on the folder."""
    if kind == "patches":
        learn, test = (open_data(f"npz:{folder}/{name}.npz") for name in ("patches", "held-out"))
        learn.name, test.name = "patches of 40 photographs", "24 other photographs"
    else:
        learn, test = (open_data(f"{kind}:{folder}", split) for split in ("train", "test"))
        learn.name, test.name = f"{kind} train", f"{kind} test"
    return learn, test


def start(name: str, recipe: Recipe) -> nn.Module:
    """The model before its first phase."""
    if recipe.start is None:
        return fresh(lambda: make_model(ARCHITECTURES[name]), recipe.schedule.seed)
    load = load_denoiser if recipe.start in DENOISERS else load_shipped
    return load(recipe.start).requires_grad_(True)


def halve(denoiser: nn.Module, out: Path, test: Dataset) -> dict[str, Any]:
    """Store a denoiser's weights in half precision, half the size, and measure it as stored."""
    save_file({name: value.half().contiguous() for name, value in denoiser.state_dict().items()}, out)
    denoiser.load_state_dict(load_file(out))
    return measure_denoising(denoiser, test)


PHASE = ("objective", "schedule", "test_accuracy", "psnr")


def finished(card: Path, recipe: Recipe) -> list[dict[str, Any]]:
    """The phases behind stored weights, if they are this recipe's first ones."""
    if not card.exists():
        return []
    last = json.loads(card.read_text())
    done = [*last.get("before", []), {key: last[key] for key in PHASE if key in last}]
    wanted = [(repr(objective), asdict(schedule)) for objective, schedule in recipe.phases]
    stored = [(phase["objective"], asdict(Schedule(**phase["schedule"]))) for phase in done]
    return done if stored == wanted[: len(done)] else []


def main() -> None:
    """Parse the arguments and make what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", help="folder with MNIST's IDX files")
    parser.add_argument("--cifar10", help="folder with CIFAR-10's batches")
    parser.add_argument("--patches", help="folder with patches.npz and held-out.npz")
    parser.add_argument("--only", choices=["sample", *RECIPES, *TYPED], nargs="*", help="make only these")
    chosen = parser.parse_args()
    wanted = chosen.only or ["sample", *RECIPES, *TYPED]
    if "sample" in wanted:
        make_sample(open_data(f"mnist:{chosen.mnist}"))
    for name in (name for name in RECIPES if name in wanted):
        make_weights(name, getattr(chosen, RECIPES[name].data))
    for name in (name for name in TYPED if name in wanted):
        type_train(name, chosen.cifar10)


if __name__ == "__main__":
    main()
