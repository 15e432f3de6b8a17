"""attribound: prove how far an explanation can be bent.

    import attribound as ab
    cert = ab.certify(ab.Unit(ab.Saliency(model)), x, noise=ab.Gaussian(0.5))
    cert.cosine(0.25), cert.max_epsilon(0.8)

Names are loaded when first used, so that `attribound.bounds` works without importing torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attribound import bounds as bounds
    from attribound.attacks import attack as attack
    from attribound.certificate import Certificate as Certificate
    from attribound.certification import certify as certify
    from attribound.errors import AttriboundError as AttriboundError
    from attribound.fields import (
        Assumed as Assumed,
    )
    from attribound.fields import (
        Captum as Captum,
    )
    from attribound.fields import (
        Clip as Clip,
    )
    from attribound.fields import (
        IntegratedGradients as IntegratedGradients,
    )
    from attribound.fields import (
        Proved as Proved,
    )
    from attribound.fields import (
        Saliency as Saliency,
    )
    from attribound.fields import (
        Unit as Unit,
    )
    from attribound.models import Denoised as Denoised
    from attribound.noise import Gaussian as Gaussian
    from attribound.noise import UniformBall as UniformBall
    from attribound.report.plots import plot as plot
    from attribound.search import min_radius as min_radius

_HOMES = {
    "attack": "attribound.attacks",
    "Certificate": "attribound.certificate",
    "certify": "attribound.certification",
    "AttriboundError": "attribound.errors",
    "Assumed": "attribound.fields",
    "Captum": "attribound.fields",
    "Clip": "attribound.fields",
    "IntegratedGradients": "attribound.fields",
    "Proved": "attribound.fields",
    "Saliency": "attribound.fields",
    "Unit": "attribound.fields",
    "Denoised": "attribound.models",
    "Gaussian": "attribound.noise",
    "UniformBall": "attribound.noise",
    "min_radius": "attribound.search",
    "plot": "attribound.report.plots",
}

__all__ = ["bounds", *_HOMES]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use."""
    if name == "bounds":
        return import_module("attribound.bounds")
    if name not in _HOMES:
        raise AttributeError(f"module 'attribound' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
