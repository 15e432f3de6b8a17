"""One estimate in one line."""

from attribound.certificates.statements.registry import statistics as default_statistics
from attribound.certification.method import estimate
from attribound.randomness import Purpose
from attribound.sampling import Around, AtPoint, CosineAt, Estimate, Plan
from attribound.sampling.norm import Norm
from attribound.sampling.radius import MapRadius
from attribound.sampling.spread import SecondMoments
from attribound.sampling.statistic import Statistic


def estimate_of(
    field,
    x,
    noise,
    samples=2048,
    *,
    target=0,
    alpha=1e-3,
    seed=0,
    item=0,
    batch=None,
    until=None,
    shape=None,
    statistics=None,
    progress=None,
    purpose=Purpose.CERTIFICATE,
    parts=16,
) -> Estimate:
    family, design = drawn(field, x, target, noise, seed, item, purpose, batch, parts=parts)
    plan = Plan(samples=samples, alpha=alpha, until=until)
    chosen = default_statistics() if statistics is None else statistics
    return estimate(family, design, plan, x.shape if shape is None else shape, chosen, progress)


run = estimate_of


def drawn(field, x, target, noise, *rest, **options) -> tuple[Around, AtPoint]:
    """The family around an input, and the design that draws from it."""
    return Around(field, target, x), AtPoint(noise, *rest, **options)


def basic_statistics() -> list[Statistic]:
    """Norm, spread and radius with all of alpha, as in version 0.1."""
    return [Norm(share=0.5), SecondMoments(share=0.25), MapRadius(share=0.25)]


def watched() -> tuple[list[Statistic], Statistic, Statistic]:
    """The default statistics, and among them those of the norm and the spread, to look inside."""
    statistics = default_statistics()
    return statistics, statistics[0], statistics[1]


def asking(cosine: float, epsilon: float) -> CosineAt:
    """Is this cosine certified at this epsilon?"""
    return CosineAt(cosine=cosine, epsilon=epsilon)
