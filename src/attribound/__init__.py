"""attribound: prove how far an explanation can be bent.

    import attribound as ab
    cert = ab.certify(ab.Unit(ab.Saliency(model)), x, noise=ab.Gaussian(0.5))
    cert.cosine(0.25), cert.max_epsilon(0.8)

Names are loaded when first used, so that `attribound.bounds` works without importing torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from attribound import bounds as bounds
    from attribound.attacks import attack as attack
    from attribound.attacks import register_attack as register_attack
    from attribound.bounds import register_law as register_law
    from attribound.bounds import register_rule as register_rule
    from attribound.certificates.certificate import Certificate as Certificate
    from attribound.certificates.statements.registry import register_statement as register_statement
    from attribound.certification.certifier import Certifier as Certifier
    from attribound.certification.certifier import certify as certify
    from attribound.certification.certifier import certify_batch as certify_batch
    from attribound.changes import Blur as Blur
    from attribound.changes import Brightness as Brightness
    from attribound.changes import Contrast as Contrast
    from attribound.changes import Explanations as Explanations
    from attribound.changes import Flip as Flip
    from attribound.changes import Gamma as Gamma
    from attribound.changes import HiddenWord as HiddenWord
    from attribound.changes import Jpeg as Jpeg
    from attribound.changes import ResizeMethod as ResizeMethod
    from attribound.changes import Rotation as Rotation
    from attribound.changes import Saturation as Saturation
    from attribound.changes import Shift as Shift
    from attribound.changes import Together as Together
    from attribound.changes import Warmth as Warmth
    from attribound.changes import Zoom as Zoom
    from attribound.changes import register_change as register_change
    from attribound.codebook import Codebook as Codebook
    from attribound.data import register_reader as register_reader
    from attribound.errors import AttriboundError as AttriboundError
    from attribound.fields import Absolute as Absolute
    from attribound.fields import Assumed as Assumed
    from attribound.fields import Centred as Centred
    from attribound.fields import Clip as Clip
    from attribound.fields import Explanation as Explanation
    from attribound.fields import Field as Field
    from attribound.fields import Function as Function
    from attribound.fields import GradCAM as GradCAM
    from attribound.fields import GradCAMPlusPlus as GradCAMPlusPlus
    from attribound.fields import Grouped as Grouped
    from attribound.fields import HiResCAM as HiResCAM
    from attribound.fields import IntegratedGradients as IntegratedGradients
    from attribound.fields import LayerCAM as LayerCAM
    from attribound.fields import Pooled as Pooled
    from attribound.fields import Proved as Proved
    from attribound.fields import Relative as Relative
    from attribound.fields import Saliency as Saliency
    from attribound.fields import Scaled as Scaled
    from attribound.fields import Shap as Shap
    from attribound.fields import Tokens as Tokens
    from attribound.fields import Unit as Unit
    from attribound.fields import register_field as register_field
    from attribound.fields import register_map as register_map
    from attribound.fields.captum import Captum as Captum
    from attribound.forests import Forest as Forest
    from attribound.forests import TreeShap as TreeShap
    from attribound.models import Denoised as Denoised
    from attribound.noise import Gaussian as Gaussian
    from attribound.noise import UniformBall as UniformBall
    from attribound.report.figures.highlight import highlight as highlight
    from attribound.report.figures.tolerance_plot import plot as plot
    from attribound.report.page.from_python import save_report as save_report
    from attribound.runs.frame import read_run as read_run
    from attribound.sampling import TopK as TopK
    from attribound.search import min_radius as min_radius
    from attribound.tolerances.ask import tolerance as tolerance
    from attribound.tolerances.sheet import Sheet as Sheet

_HOMES = {
    "attack": "attacks",
    "plot": "report.figures.tolerance_plot",
    "save_report": "report.page.from_python",
    "highlight": "report.figures.highlight",
    "min_radius": "search",
    "AttriboundError": "errors",
    "read_run": "runs.frame",
    "Captum": "fields.captum",
    "Denoised": "models",
    **dict.fromkeys(("Forest", "TreeShap"), "forests"),
    "Codebook": "codebook",
    "TopK": "sampling",
    "Certificate": "certificates.certificate",
    **dict.fromkeys(("Certifier", "certify", "certify_batch"), "certification.certifier"),
    "Sheet": "tolerances.sheet",
    "tolerance": "tolerances.ask",
    **dict.fromkeys(("Rotation", "Zoom", "Contrast", "Gamma", "Blur", "Saturation", "Brightness"), "changes"),
    **dict.fromkeys(
        ("Explanations", "Warmth", "Shift", "Together", "Jpeg", "Flip", "HiddenWord", "ResizeMethod"), "changes"
    ),
    **dict.fromkeys(("Gaussian", "UniformBall"), "noise"),
    **dict.fromkeys(("Saliency", "IntegratedGradients", "Field", "Explanation"), "fields"),
    **dict.fromkeys(("Function", "Shap"), "fields"),
    **dict.fromkeys(("register_law", "register_rule"), "bounds"),
    **dict.fromkeys(("register_field", "register_map"), "fields"),
    "register_attack": "attacks",
    "register_change": "changes",
    "register_reader": "data",
    "register_statement": "certificates.statements.registry",
    **dict.fromkeys(("GradCAM", "HiResCAM", "LayerCAM", "GradCAMPlusPlus"), "fields"),
    **dict.fromkeys(("Unit", "Clip", "Proved", "Assumed"), "fields"),
    **dict.fromkeys(("Absolute", "Centred", "Pooled", "Relative", "Scaled", "Tokens", "Grouped"), "fields"),
}
"""Where each public name lives."""

__all__ = ["__version__", "bounds", *_HOMES]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use."""
    if name == "bounds":
        return import_module("attribound.bounds")
    if name == "__version__":
        from importlib.metadata import version

        return version("attribound")
    if name not in _HOMES:
        raise AttributeError(f"module 'attribound' has no attribute {name!r}")
    value = getattr(import_module(f"attribound.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
