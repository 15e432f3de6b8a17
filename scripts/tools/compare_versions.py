"""Certificates of 0.2.0 and of this version, made in one job on one machine: the same numbers, or which differ and why.

Run from the repository, which must have its history:

    python scripts/tools/compare_versions.py [--old COMMIT]

Each version runs in a process of its own, with 0.2.0's shares of alpha. Left out is what follows other rules now: noise
with units, the curvature rule with units, gradients of probabilities, and the moment rule for maps of up to 31 cells,
whose moments are kept whole.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OLD = "be15057"
"""The commit of 0.2.0."""
SHARES = {"moments": 1 / 2}
"""Shares of alpha of 0.2.0 that are others now."""
TOLERANCE = 1e-12
"""Relative; for sums that are made in another order."""
SEARCHED = ("max_epsilon", "max_visible_epsilon")
SEARCHES = 1e-9
"""The largest epsilon is searched in another way now. Every epsilon was found certified: the search decides about
strength only. Relative."""
FEW_CELLS, MOMENTS = 31, ("facts.moments", "cosine", "max_epsilon")
"""Maps whose moments are others now, and what follows from them."""
EPSILONS, COSINES = (0.05, 0.1, 0.25, 0.5), (0.5, 0.8, 0.9)


# --- in each version's own process


def numbers() -> dict[str, Any]:
    """Every case's numbers, by this process's version."""
    from attribound.bounds import shares

    if isinstance(shares.SHARES, dict):
        shares.SHARES |= SHARES  # before anything reads them
    import torch

    torch.set_num_threads(1)
    return {name: answers(make()) for name, make in cases().items()}


def cases() -> dict[str, Callable[[], Any]]:
    """Certificates to make, by name: every kind of map, both laws, every statement, stopping early."""
    import attribound as ab
    from attribound.data import mnist_sample
    from attribound.models import load_shipped

    images, normal, ball = mnist_sample()[0], ab.Gaussian(0.5), ab.UniformBall(14.0)
    network, trained = load_shipped("mnist-cnn-noise"), load_shipped("mnist-cnn-consistency")
    saliency = ab.Unit(ab.Saliency(network))
    patches = ab.Unit(ab.Centred(ab.Pooled(ab.Saliency(trained), 7)))
    table, row = _table()

    def certify(field: Any, x: Any, noise: Any, **settings: Any) -> Callable[[], Any]:
        return lambda: ab.certify(field, x, noise=noise, **{"samples": 1024, "seed": 3, **settings})

    return {
        **{f"saliency, normal, image {item}": certify(saliency, images[item], normal, item=item) for item in range(4)},
        **{f"saliency, ball, image {item}": certify(saliency, images[item], ball, item=item) for item in range(2)},
        "clipped": certify(ab.Clip(ab.Saliency(network), 2.0), images[4], normal),
        "integrated gradients": certify(ab.Unit(ab.IntegratedGradients(network, steps=8)), images[5], normal),
        "patches, cells": certify(patches, images[7], ab.Gaussian(0.75), cells=(0.5, 0.3), samples=2048),
        "patches, ball, cells": certify(patches, images[8], ab.UniformBall(21.0), cells=(0.5,), samples=2048),
        "reasons": certify(ab.Unit(ab.Saliency(table)), row, normal, reasons=4, samples=4096),
        "few numbers": certify(ab.Unit(ab.Saliency(table)), row, ab.Gaussian(0.2), samples=2048),
        "stopped when proved": certify(saliency, images[9], normal, until=(0.8, 0.1), samples=4096),
        "stopped when futile": certify(saliency, images[9], normal, until=(0.8, 1.5), samples=4096),
    }


def _table() -> tuple[Any, Any]:
    """A small model of 20 features, with weights from a fixed stream, and a row."""
    import torch

    generator = torch.Generator().manual_seed(11)
    model = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) / 3
    return model.eval().requires_grad_(False), torch.rand(20, generator=generator)


def answers(certificate: Any) -> dict[str, Any]:
    """All that a certificate says in numbers: facts, answers, marks, and its map."""
    record = certificate.record
    said: dict[str, Any] = {
        "samples": record.samples,
        "reach": certificate.law.reach,
        "norm": record.norm,
        "norm_lower": record.norm_lower,
        "eigenvalue_upper": record.eigenvalue_upper,
        "map_radius": record.map_radius,
        "facts": record.facts,
        "cosine": {str(one): certificate.cosine(one) for one in EPSILONS},
        "visible_cosine": {str(one): certificate.visible_cosine(one) for one in EPSILONS},
        "displacement": {str(one): certificate.displacement(one) for one in EPSILONS},
        "max_epsilon": {str(one): certificate.max_epsilon(one) for one in COSINES},
        "max_visible_epsilon": {str(one): certificate.max_visible_epsilon(one) for one in COSINES},
        "prediction_radius": certificate.prediction_radius,
        "fidelity": record.fidelity,
        "map": certificate.attribution.ravel().tolist(),
    }
    for fraction in map(float, record.cells):
        said[f"cells {fraction}"] = certificate.cells(fraction, 0.1).ravel().tolist()
    return said


# --- here


def main() -> None:
    """Run both versions and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", default=OLD, help="commit to compare with")
    parser.add_argument("--numbers", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.numbers:
        print(json.dumps(numbers()))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "old"
        git("worktree", "add", "--quiet", "--detach", str(tree), options.old)
        try:
            before, now = run(tree / "src"), run(ROOT / "src")
        finally:
            git("worktree", "remove", "--force", str(tree))
    counts = sum((compare(name, before[name], now[name]) for name in before), Counter[str]())
    print(f"{len(before)} certificates, {counts.total():,} numbers")
    for how, count in counts.most_common():
        print(f"{count:7,} {how}")
    if counts["DIFFERENT"]:
        raise SystemExit(1)


def git(*arguments: str) -> None:
    """Run git on this repository."""
    subprocess.run(["git", *arguments], cwd=ROOT, check=True)


def run(source: Path) -> dict[str, Any]:
    """The numbers of the version whose source this is."""
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--numbers"]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(name: str, before: dict[str, Any], now: dict[str, Any]) -> Counter[str]:
    """Numbers of a certificate by how they compare; prints what differs by more than it may."""
    old, new = dict(flat(before)), dict(flat(now))
    left_out = MOMENTS if len(now["map"]) <= FEW_CELLS else ()
    counts: Counter[str] = Counter()
    for key in sorted(old.keys() | new.keys()):
        if key.startswith(left_out):
            counts["left out"] += 1
        elif key not in old or key not in new:
            counts["DIFFERENT"] += 1
            print(f"{name}: {key} is only in {'0.2.0' if key in old else 'this version'}")
        elif old[key] == new[key]:
            counts["equal to the bit"] += 1
        elif not all(isinstance(one, int | float) for one in (old[key], new[key])):
            counts["DIFFERENT"] += 1
            print(f"{name}: {key} was {old[key]!r}, is {new[key]!r}")
        elif math.isclose(old[key], new[key], rel_tol=TOLERANCE):
            counts["within 1e-12"] += 1
        elif key.startswith(SEARCHED) and math.isclose(old[key], new[key], rel_tol=SEARCHES):
            counts["largest epsilons within 1e-9, by another search"] += 1
        else:
            counts["DIFFERENT"] += 1
            print(f"{name}: {key} was {old[key]!r}, is {new[key]!r}")
    return counts


def flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves by their path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from flat(inner, f"{key}[{place}]")
    else:
        yield key, value


if __name__ == "__main__":
    main()
