"""Run by test_extend.py with an extended copy of the package: certify with everything that was added."""

import json
import math
import sys
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import nn

from attribound.attacks import attack
from attribound.bounds import Closeness, Evidence, Length, Spread
from attribound.certificates import Certificate, verify, verify_record
from attribound.certification.certifier import certify
from attribound.data import open_data
from attribound.fields import Saliency, Unit, make_field
from attribound.noise import Gaussian, parse_noise
from tests.problems import AbsFirst
from tests.sampling.running import default_statistics

HOME = Path(sys.argv[1])
torch.set_num_threads(1)
WIDTHS = (math.sqrt(0.4), math.sqrt(1.6))


def smoothed(place: float, sigma: float) -> float:
    """First coordinate of the smoothed saliency of |y_1| under the mixture."""
    return sum(AbsFirst.smoothed_gaussian(place, width * sigma) for width in WIDTHS) / 2


def stored(certificate: Certificate, name: str) -> list[str]:
    """What verify says about the certificate after it was stored and read."""
    certificate.save(HOME / name)
    return verify(HOME / name).problems


def law() -> dict:
    noise = parse_noise("mixture:0.5")
    certificate = certify(Unit(Saliency(AbsFirst())), torch.tensor([0.6, 0.1]), 0, noise=noise, samples=2048, seed=0)
    return {
        "noise": certificate.noise,
        "problems": stored(certificate, "law.json"),
        "norm_lower": certificate.norm_lower,
        "exact_norm": smoothed(0.6, 0.5),
        "max_epsilon": certificate.max_epsilon(0.8),
        "beyond": certificate.cosine(1.2),
        "rules": sorted(certificate.evidence.cosines(0.1)),
    }


def cases() -> dict:
    """|y_1| under the mixture, exactly: how often a rule is above the true cosine."""
    rng, violations, useful, optimist = np.random.default_rng(0), 0, 0, 0
    for _ in range(300):
        sigma, first = float(rng.uniform(0.1, 2)), float(rng.exponential(0.5))
        epsilon = first * float(rng.uniform(0.5, 3))
        norm = smoothed(first, sigma)
        facts = (Length(norm, norm), Spread(1 - norm**2), Closeness(0.0, 1e-4))
        evidence = Evidence.of(parse_noise(f"mixture:{sigma!r}").law(2), 1.0, *facts)
        true = 1.0 if epsilon < first else -1.0
        bounds = [float(value) for value in evidence.cosines(epsilon).values()]
        violations += max(bounds) > true + 1e-9
        useful += max(bounds) > 0.3
        optimist += max(float(value) for value in evidence.cosines(epsilon / 2).values()) > true + 1e-9
    return {"count": 300, "violations": violations, "useful": useful, "optimist": optimist}


def rule() -> dict:
    certificate = certify(
        Unit(Saliency(AbsFirst())), torch.tensor([1.2, 0.1]), 0, noise=Gaussian(0.5), samples=2048, seed=0
    )
    cosines = certificate.evidence.cosines(0.05)
    facts = {**certificate.record.facts, "axis": {"lower": 1.5}}
    forged = Certificate(msgspec.structs.replace(certificate.record, facts=facts))
    return {
        "problems": stored(certificate, "rule.json"),
        "facts": list(certificate.record.facts),
        "cone": float(cosines["cone"]),
        "tight": float(cosines["tight"]),
        "forged": verify_record(forged).problems,
        "shares": math.fsum(one.share for one in default_statistics(cells=(0.5,), intervals=True)),
    }


def field() -> dict:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3)).eval()
    x = torch.rand(1, 4, 4, generator=torch.Generator().manual_seed(1)) * 3
    certificate = certify(make_field(model, "bands"), x, noise=Gaussian(0.1), samples=512, seed=0)
    centred = certify(make_field(model, "bands", maps=["centred"]), x, noise=Gaussian(0.1), samples=64, seed=0)
    return {
        "shape": list(certificate.attribution.shape),
        "problems": stored(certificate, "field.json"),
        "attribution": certificate.record.attribution,
        "max_epsilon": certificate.max_epsilon(0.5),
        "centred": list(centred.record.maps),
    }


def attacked() -> dict:
    bounded, x, noise = Unit(Saliency(AbsFirst())), torch.tensor([1.2, 0.1]), Gaussian(0.5)
    certificate = certify(bounded, x, 0, noise=noise, samples=1024, seed=0)
    epsilon = certificate.max_epsilon(0.8)
    found = attack(
        bounded, x, 0, noise=noise, epsilon=epsilon, method="one-feature", steps=4, restarts=1, samples=32,
        rescore_samples=512,
    )  # fmt: skip
    return {
        "method": found.method,
        "length": found.length,
        "epsilon": epsilon,
        "cosine": found.cosine,
        "certified": certificate.cosine(epsilon),
    }


def reader() -> dict:
    np.save(HOME / "inputs.npy", np.arange(12.0).reshape(3, 4))
    data = open_data(f"npy:{HOME / 'inputs.npy'}")
    name = data.name.partition(":")[0]
    return {"length": len(data), "shape": list(data.shape), "name": name, "label": data.label(0)}


print(
    json.dumps(
        {
            "law": law(),
            "cases": cases(),
            "rule": rule(),
            "field": field(),
            "attack": attacked(),
            "reader": reader(),
        }
    )
)
