"""Certify and attack the shipped models.

`python scripts/experiments/measure_leaderboard.py --runs DIR [--cifar10 DIR]`. One run per line of ENTRIES goes to
--runs, with an audit of its first inputs; run again to resume, or to add a line. Afterwards `python
scripts/experiments/leaderboard.py DIR/*` puts them on the leaderboard. Digits come from the embedded sample.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from attribound.cli import run
from attribound.models import SHIPPED

SAMPLES = 2048
ITEMS = {"mnist": 10, "cifar10": 5}
ATTACKED = {"mnist": 2, "cifar10": 1}
"""Inputs per run, and how many of them are attacked: a picture of CIFAR-10 costs ten times a digit."""


@dataclass(frozen=True)
class Entry:
    """One run: what to explain and how."""

    model: str
    noise: str
    attribution: str = "saliency"
    denoiser: str | None = None

    @property
    def kind(self) -> str:
        """Which data the model is for."""
        return self.model.partition("-")[0]

    @property
    def name(self) -> str:
        """The run's folder."""
        parts = (self.model, self.denoiser, self.attribution, self.noise)
        return "-".join(part.replace(":", "-") for part in parts if part)


ENTRIES = (
    Entry("mnist-cnn-consistency", "gaussian:0.75"),
    Entry("mnist-cnn-noise", "gaussian:0.5"),
    Entry("mnist-cnn", "gaussian:0.5"),
    Entry("mnist-cnn-consistency", "uniform:21"),
    Entry("mnist-cnn-consistency", "gaussian:0.75", "gradcam"),
    Entry("cifar10-resnet20-noise", "gaussian:0.25"),
    Entry("mnist-cnn-trades-noise", "gaussian:0.5"),
    Entry("mnist-cnn-trades", "gaussian:0.5"),
    Entry("mnist-cnn-igr", "gaussian:0.5"),
    Entry("mnist-cnn-ig-norm", "gaussian:0.5"),
    Entry("cifar10-resnet20-noise", "gaussian:0.25", "gradcam"),
    Entry("cifar10-resnet20-consistency", "gaussian:0.25"),
    Entry("cifar10-resnet20", "gaussian:0.25"),
    Entry("cifar10-resnet20", "gaussian:0.25", denoiser="denoiser-cifar10"),
    Entry("mnist-cnn-noise", "gaussian:0.5", "gradcam"),
    Entry("mnist-cnn-consistency", "gaussian:0.75", "ig-random"),
)


def measure(entry: Entry, data: str, out: Path) -> None:
    """Certify, then attack; what is done already is not done again."""
    denoiser = ["--denoiser", entry.denoiser] if entry.denoiser else []
    certify = ["certify", "--model", entry.model, "--data", data, "--noise", entry.noise, "--out", str(out)]
    certify += ["--attribution", entry.attribution, "--samples", str(SAMPLES), "--items", str(ITEMS[entry.kind])]
    certify += ["--cells", "0.5", "--epsilon", "0.1", "0.25", "0.5", "1", "--workers", "1", "--json", *denoiser]
    attack = ["attack", str(out), "--budget", "quick", "--items", str(ATTACKED[entry.kind]), "--data", data, "--json"]
    for words in (certify, attack):
        if code := run(words):
            sys.exit(f"error: attribound {' '.join(words)} ended with {code}")


def main() -> None:
    """Go through the entries whose data is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--cifar10", type=Path)
    chosen = parser.parse_args()
    for entry in ENTRIES:
        if entry.model not in SHIPPED:
            print(f"{entry.model} is not shipped in this version", flush=True)
        elif entry.kind == "mnist":
            measure(entry, "mnist-sample", chosen.runs / entry.name)
        elif chosen.cifar10:
            measure(entry, f"cifar10:{chosen.cifar10}", chosen.runs / entry.name)


if __name__ == "__main__":
    main()
