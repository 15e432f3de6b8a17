"""What may be typed where only a few words are possible. Nothing here needs torch, so `--help` is quick.

A test compares these with the registries they stand for.
"""

from enum import StrEnum

from attribound.bounds.laws import LAWS

METHODS = ("direct", "ifia", "likelihood", "random")
"""Attacks: `attribound.attacks.METHODS`."""


class Budget(StrEnum):
    """How hard to attack: `attribound.attacks.BUDGETS`."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


class EngineName(StrEnum):
    """Where a run's work is done."""

    LOCAL = "local"
    RAY = "ray"


class OutputName(StrEnum):
    """What is explained."""

    LOGIT = "logit"
    PROBABILITY = "probability"


class PrecisionName(StrEnum):
    """In which the model is run: `attribound.fields.precision.PRECISIONS`."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Format(StrEnum):
    """Forms of export: `attribound.runs.export.FORMATS`, and two that reports are made of."""

    CSV = "csv"
    JSON = "json"
    LATEX = "latex"
    PARQUET = "parquet"
    EVIDENCE = "evidence"
    MODEL_CARD = "model-card"


class Form(StrEnum):
    """Forms of what a command prints."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


class Audience(StrEnum):
    """For whom a report is."""

    EVERYONE = "everyone"
    AUDITOR = "auditor"


class PageForm(StrEnum):
    """Forms of a page."""

    HTML = "html"
    PDF = "pdf"


class ObjectiveName(StrEnum):
    """What a training minimises: `attribound.training.NAMES`."""

    STANDARD = "standard"
    NOISE = "noise"
    CONSISTENCY = "consistency"
    ADVERSARIAL = "adversarial"
    TRADES = "trades"
    IG_NORM = "ig-norm"
    IGR = "igr"
    DENOISE = "denoise"


ATTRIBUTIONS = (
    *("saliency", "ig", "ig-random", "treeshap", "gradcam", "hirescam", "layercam", "gradcam++"),
    *("input-x-gradient", "guided-backprop", "deconvolution", "deeplift", "feature-ablation"),
    *("shapley-sampling", "kernel-shap", "lime"),
)
"""Methods without their layers: `attribound.fields.ATTRIBUTIONS`."""

MAPS = ("raw", "centred", "pooled", "pooled-signed", "tokens", "tokens-signed", "abs", "scaled", "relative")
"""Shapes of maps without their sizes: `attribound.fields.MAPS`."""

DATA = ("mnist-sample", "credit-sample", "photos", "mnist", "cifar10", "folder", "npz", "csv", "parquet")
"""Kinds of data: `attribound.data.specs.READERS`."""

MODELS = (
    *("mnist-cnn", "mnist-cnn-noise", "mnist-cnn-consistency", "mnist-cnn-trades", "mnist-cnn-ig-norm"),
    *("mnist-cnn-igr", "mnist-cnn-trades-noise"),
    *("cifar10-resnet20", "cifar10-resnet20-noise", "cifar10-resnet20-consistency"),
    *("cifar10-resnet20-adversarial", "cifar10-resnet20-trades"),
    *("cifar10-resnet20-ig-norm", "cifar10-resnet20-igr", "credit-forest"),
)
"""Shipped models: `attribound.models.SHIPPED`."""


class NormMode(StrEnum):
    """Batch norm in training: `attribound.training.NORMS`."""

    MIXED = "mixed"
    FROZEN = "frozen"


NoiseKind = StrEnum("NoiseKind", {kind.upper(): kind for kind in LAWS})  # type: ignore[misc]
"""Laws of noise: `attribound.bounds.LAWS`."""


class ReferenceName(StrEnum):
    """What maps of scanned changes are compared with."""

    SHOWN = "shown"
    PLAIN = "plain"


class SizeName(StrEnum):
    """How changes of several columns are measured: `attribound.forests.sizes.SIZES`."""

    L2 = "l2"
    EACH = "each"
    COUNT = "count"


FORESTS = (".json", ".ubj", ".txt")
"""Endings of forests: `attribound.models.forest.FOREST_SUFFIXES`."""


def is_forest(model: str) -> bool:
    """Whether what was typed after --model is the file of a forest."""
    return model == "credit-forest" or model.lower().endswith(FORESTS)


def default_attribution(model: str) -> str:
    """The method, if none was typed."""
    return "treeshap" if is_forest(model) else "saliency"
