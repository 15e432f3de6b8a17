"""Does everything work on an accelerator, and how fast? Two minutes; paste what it prints into an issue.

    python scripts/tools/check_accelerator.py            # the first accelerator that torch finds
    python scripts/tools/check_accelerator.py --device cuda:1

It certifies digits with the shipped model, on the processor and on the accelerator, and compares: maps must agree as
float32 does, certified epsilons to a few per cent (noise is drawn by another generator there). Then it times draws
in every precision. Nothing is fetched or written.
"""

import argparse
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import torch

import attribound as ab
from attribound.data import mnist_sample
from attribound.fields.pace import seconds
from attribound.fields.precision import PRECISIONS, in_precision
from attribound.models import load_shipped

ITEMS, SAMPLES, NOISE = 2, 2048, ab.Gaussian(0.5)
ROWS, ROUNDS = 256, 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=_first(), help="e.g. cuda, cuda:1, mps, xpu")
    device = parser.parse_args().device
    if device is None:
        print("torch finds no accelerator here: name one with --device (cpu tries the check itself)", file=sys.stderr)
        return 2
    print(f"attribound {version('attribound')}, torch {torch.__version__}, Python {platform.python_version()}")
    print(f"device: {device} ({_called(device)})")
    checks: dict[str, Callable[[str], str]] = {
        "maps": _maps,
        "certificates": _certificates,
        "again": _again,
        "precisions": _precisions,
    }
    failed = 0
    for name, check in checks.items():
        started = time.perf_counter()
        try:
            line = check(device)
        except Exception as error:  # the line that is wanted, whatever goes wrong
            line, failed = f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:300]}", failed + 1
        print(f"{name:13} {line}  [{time.perf_counter() - started:.1f} s]", flush=True)
    return 1 if failed else 0


def _first() -> str | None:
    if torch.cuda.is_available():
        return "cuda"
    for name in ("mps", "xpu"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            return name
    return None


def _called(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else platform.machine()


def _field(device: str) -> ab.Unit:
    return ab.Unit(ab.Saliency(load_shipped("mnist-cnn-noise").to(device)))


def _maps(device: str) -> str:
    """The same points give the same maps, up to float32."""
    points = mnist_sample()[0][:ROWS]
    here, there = (_field(where).attribute(points.to(where), 3).detach().cpu().flatten(1) for where in ("cpu", device))
    cosines = torch.nn.functional.cosine_similarity(here, there)
    assert float(cosines.min()) > 0.999, f"maps differ: the smallest cosine is {float(cosines.min()):.6f}"
    return f"smallest cosine with the processor's {float(cosines.min()):.7f}"


def _certify(device: str) -> list[ab.Certificate]:
    field, images = _field(device), mnist_sample()[0]
    return [ab.certify(field, images[item].to(device), noise=NOISE, samples=SAMPLES, seed=0) for item in range(ITEMS)]


def _certificates(device: str) -> str:
    """Other noise, the same law: epsilons agree to a few per cent."""
    pairs = [
        (here.max_epsilon(0.8), there.max_epsilon(0.8))
        for here, there in zip(_certify("cpu"), _certify(device), strict=True)
    ]
    worst = max(abs(here - there) / max(here, there, 1e-9) for here, there in pairs)
    assert worst < 0.1, f"epsilons differ by {worst:.1%}: {pairs}"
    return f"epsilons at 0.8 agree to {worst:.1%}: " + ", ".join(f"{there:.3f}" for _, there in pairs)


def _again(device: str) -> str:
    """The same seed on the same device gives the same certificate."""
    first, second = (_certify(device)[0] for _ in range(2))
    assert first.record.facts == second.record.facts, "two runs with one seed differ"
    return "two runs with one seed agree to the bit"


def _precisions(device: str) -> str:
    """Maps per second in every precision."""
    field, x, lines = _field(device), mnist_sample()[0][0].to(device), list[str]()
    for precision in PRECISIONS:
        if precision == "float16" and device == "cpu":
            continue
        rounded = in_precision(field, precision)
        took = sorted(seconds(rounded, x, ROWS) for _ in range(ROUNDS + 1))[ROUNDS // 2]
        cosine = torch.nn.functional.cosine_similarity(
            *(one.attribute(x[None], 3).detach().flatten(1) for one in (field, rounded))
        )
        lines.append(f"{precision} {ROWS / took:,.0f} maps/s (cosine {float(cosine):.5f})")
    return ", ".join(lines)


if __name__ == "__main__":
    sys.exit(main())
