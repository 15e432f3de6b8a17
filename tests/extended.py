"""Run by test_extend.py beside a package of its own: certify with everything that it adds, found by name."""

import importlib
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch import nn

import attribound as ab
from attribound.attacks import attack
from attribound.bounds import RULES, Closeness, Evidence, Length, Spread
from attribound.bounds.shares import SHARES
from attribound.certificates import Certificate, verify, verify_record
from attribound.certificates.statements.registry import STATEMENTS
from attribound.certification.certifier import certify
from attribound.data import open_data
from attribound.data.specs import READERS
from attribound.errors import ArgumentError
from attribound.fields import Saliency, Unit, make_field
from attribound.noise import Gaussian, parse_noise
from tests.problems import AbsFirst
from tests.sampling.running import default_statistics

HOME = Path(sys.argv[1])
torch.set_num_threads(1)
assert not [name for name in sys.modules if name.startswith("my_package")], "nothing is loaded before it is asked for"
COSINE_AT, COSINES = (0.1, 0.25, 0.5), (0.8, 0.9)
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
    plain, asked = (
        certify(
            Unit(Saliency(AbsFirst())), torch.tensor([1.2, 0.1]), 0, noise=Gaussian(0.5), samples=2048, seed=0, **more
        )
        for more in ({}, {"axis": True})
    )
    unchanged = all(asked.record.facts[name] == fact for name, fact in plain.record.facts.items())
    importlib.import_module("my_package.cone")
    certificate = asked.stating(COSINE_AT, COSINES)
    cosines = certificate.evidence.cosines(0.05)
    facts = {**certificate.record.facts, "axis": {"lower": 1.5}}
    forged = Certificate(msgspec.structs.replace(certificate.record, facts=facts))
    return {
        "problems": stored(certificate, "rule.json"),
        "unchanged": unchanged,
        "answer": certificate.record.stated_answers["axis"],
        "facts": list(certificate.record.facts),
        "cone": float(cosines["cone"]),
        "tight": float(cosines["tight"]),
        "forged": verify_record(forged).problems,
        "shares": math.fsum(one.share for one in default_statistics(cells=(0.5,), intervals=True, axis=True)),
        "spent": math.fsum(SHARES.values()),
    }


def field() -> dict:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3)).eval()
    x = torch.rand(1, 4, 4, generator=torch.Generator().manual_seed(1)) * 3
    certificate = certify(make_field(model, "bands"), x, noise=Gaussian(0.1), samples=512, seed=0)
    centred = certify(make_field(model, "bands", maps=["centred"]), x, noise=Gaussian(0.1), samples=64, seed=0)
    paired = certify(make_field(model, "bands", maps=["paired"]), x, noise=Gaussian(0.1), samples=64, seed=0)
    return {
        "shape": list(certificate.attribution.shape),
        "problems": stored(certificate, "field.json"),
        "attribution": certificate.record.attribution,
        "max_epsilon": certificate.max_epsilon(0.5),
        "centred": list(centred.record.maps),
        "paired": list(paired.record.maps),
        "paired_shape": list(paired.attribution.shape),
    }


def refused(do: Callable[[], object]) -> str:
    """What is said in place of an answer."""
    try:
        do()
    except ArgumentError as error:
        return str(error)
    return ""


def broken() -> dict:
    """Plug-ins that keep no promise, and names that are taken."""
    model = AbsFirst()
    return {
        "missing": refused(lambda: parse_noise("broken:0.5")),
        "silent": refused(lambda: make_field(model, "silent")),
        "unknown": refused(lambda: parse_noise("nobody:0.5")),
        "taken": refused(lambda: ab.register_reader("npz", READERS["csv"])),
        "named": refused(lambda: ab.register_field("a:b", make_field)),
        "rule": refused(lambda: ab.register_rule(RULES[0])),
        "share": refused(lambda: ab.register_statement(STATEMENTS["cells"], shares={"much": 0.2})),
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


class Square(nn.Module):
    """Half the squared length: its gradient is the input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.square().sum(dim=1) / 2, torch.zeros(len(x))], dim=1)


def change() -> dict:
    x = torch.tensor([0.9, 0.1, 0.1, 0.1])
    known = ab.tolerance(Unit(Saliency(Square().eval())), x, "haze:80%", samples=1024, seed=0)["haze"]
    shares = np.linspace(0.0, 0.8, 8001)
    maps = (1 - shares)[:, None] * x.numpy() + shares[:, None]
    cosines = maps @ x.numpy() / np.linalg.norm(maps, axis=1) / float(x.norm())
    return {
        "spec": known.record.change.spec,
        "alpha": known.alpha,
        "reach": known.reach(0.8)[1],
        "exact": 100 * float(shares[cosines >= 0.8].max()),
        "window": known.window,
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
            "change": change(),
            "attack": attacked(),
            "reader": reader(),
            "loaded": sorted(name for name in sys.modules if name.startswith("my_package")),
            "broken": broken(),
        }
    )
)
