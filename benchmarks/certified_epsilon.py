"""Certified epsilon at cosines 0.8 and 0.9 (alpha 0.001), medians over images of the embedded sample.

Every statistic is on: both cosines, cells of three fractions, the class, error bars. The peer is what the covariance
rule gives from the same measurements, for the ball the tight theorem. The table of docs/compare.md has 40 images
(`ATTRIBOUND_ITEMS=40`). No seconds are measured here, so each model has a process of its own.
"""

import multiprocessing
import os
from collections.abc import Iterator

import attribound as ab
from attribound.bounds import Evidence
from attribound.bounds.rules.moment import MomentBounds
from attribound.data import mnist_sample
from attribound.models import load_shipped
from attribound.rounding import lower_quantile
from benchmarks.figure import Figure

ITEMS = int(os.environ.get("ATTRIBOUND_ITEMS", "10"))
CASES = {
    "certified_epsilon": ("mnist-cnn-noise", 0.5),
    "certified_epsilon_consistency": ("mnist-cnn-consistency", 0.75),
}
COSINES, MOST = (0.8, 0.9), 100_000


def peer(certificate: ab.Certificate, cosine: float) -> float:
    """Without the moments; for the ball from norm and limit alone."""
    evidence, law = certificate.evidence, certificate.law
    if law.normal_shift(0.0) is None:
        return float(law.epsilon_at(ab.bounds.largest_moved_fraction(evidence.norm_lower, evidence.limit, cosine)))
    facts = {kind: fact for kind, fact in evidence.facts.items() if kind is not MomentBounds}
    return float(Evidence(law, evidence.limit, facts).max_epsilon(cosine))


def figures(name: str, model: str, noise: ab.UniformBall | ab.Gaussian, samples: int, items: int) -> list[Figure]:
    images, field = mnist_sample()[0], ab.Unit(ab.Saliency(load_shipped(model)))
    certificates = ab.certify_batch(field, images[:items], noise=noise, samples=samples, seed=0, cells=(0.5, 0.3, 0.1))
    found = []
    for cosine in COSINES:
        ours = lower_quantile([one.max_epsilon(cosine) for one in certificates], 0.5)
        theirs = lower_quantile([peer(one, cosine) for one in certificates], 0.5)
        label = f"{name}_{noise.law(784).kind}_{samples}_{cosine:g}"
        found.append(Figure(label, ours, theirs, ours / theirs, f"epsilon at cosine {cosine:g}"))
    return found


def case(name: str, items: int, most: int) -> list[Figure]:
    """All figures of one model, with up to `most` draws."""
    model, sigma = CASES[name]
    normal, ball = ab.Gaussian(sigma), ab.UniformBall.from_sigma(sigma, 784)
    plans = [(normal, 8192, items), (normal, 2048, items), (ball, 8192, items), (normal, 100_000, max(items // 20, 1))]
    return [
        one for noise, samples, count in plans if samples <= most for one in figures(name, model, noise, samples, count)
    ]


def measure() -> Iterator[Figure]:
    with multiprocessing.get_context("spawn").Pool(len(CASES)) as pool:
        for found in pool.starmap(case, [(name, ITEMS, MOST) for name in CASES]):
            yield from found
