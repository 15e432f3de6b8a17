"""Certified epsilon at cosine 0.8 (alpha 0.001, 8,192 samples), median over 40 images of the embedded sample.

The peer is the best rule known before: for Gaussian noise plain Cauchy-Schwarz, sigma sqrt(ln(1 + c^2 s^2 / lambda)),
for the ball the tight theorem, each from the same measurements.
"""

import math

import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped
from attribound.rounding import lower_quantile
from benchmarks.figure import Figure

ITEMS = 40


def earlier_rule(certificate: ab.Certificate) -> float:
    evidence, law = certificate.evidence, certificate.law
    if law.curvature is None:
        return float(law.epsilon_at(ab.bounds.largest_moved_fraction(evidence.norm_lower, 1.0, 0.8)))
    return law.scale * math.sqrt(math.log1p((0.6 * certificate.norm_lower) ** 2 / certificate.record.eigenvalue_upper))


def figures(name: str, model: str, sigma: float) -> list[Figure]:
    images, field = mnist_sample()[0], ab.Unit(ab.Saliency(load_shipped(model)))
    found = []
    for noise in (ab.UniformBall.from_sigma(sigma, 784), ab.Gaussian(sigma)):
        certificates = ab.certify_batch(field, images[:ITEMS], noise=noise, samples=8192, seed=0)
        ours = lower_quantile([one.max_epsilon(0.8) for one in certificates], 0.5)
        peer = lower_quantile([earlier_rule(one) for one in certificates], 0.5)
        kind = noise.law(784).kind
        found.append(Figure(f"{name}_{kind}", ours, peer, ours / peer, "epsilon at cosine 0.8"))
    return found


def measure() -> list[Figure]:
    return [
        *figures("certified_epsilon", "mnist-cnn-noise", 0.5),
        *figures("certified_epsilon_consistency", "mnist-cnn-consistency", 0.75),
    ]
