"""What may be typed where only a few words are possible. Nothing here needs torch, so `--help` is quick.

A test compares these with the registries they stand for.
"""

from enum import StrEnum
from typing import Literal

from attribound.bounds.laws import LAWS

METHODS = ("direct", "ifia", "likelihood", "random")
"""Attacks: `attribound.attacks.METHODS`."""

Budget = Literal["quick", "normal", "thorough"]
"""How hard to attack: `attribound.attacks.BUDGETS`."""

EngineName = Literal["local", "ray"]
"""Where a run's work is done."""

OutputName = Literal["logit", "probability"]
"""What is explained."""

PrecisionName = Literal["float32", "bfloat16", "float16"]
"""In which the model is run: `attribound.fields.precision.PRECISIONS`."""

Format = Literal["csv", "json", "latex", "parquet", "evidence", "model-card"]
"""Forms of export: `attribound.runs.export.FORMATS`, and two that reports are made of."""

Form = Literal["text", "json", "md"]
"""Forms of what a command prints."""

Audience = Literal["everyone", "auditor"]
"""For whom a report is."""

PageForm = Literal["html", "pdf"]
"""Forms of a page."""

ObjectiveName = Literal["standard", "noise", "consistency", "adversarial", "trades", "ig-norm", "igr", "denoise"]
"""What a training minimises: `attribound.training.NAMES`."""

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

NormMode = Literal["mixed", "frozen"]
"""Batch norm in training: `attribound.training.NORMS`."""

NoiseKind = StrEnum("NoiseKind", {kind.upper(): kind for kind in LAWS})  # type: ignore[misc]
"""Laws of noise: `attribound.bounds.LAWS`."""

ReferenceName = Literal["shown", "plain"]
"""What maps of scanned changes are compared with."""

SizeName = Literal["l2", "each", "count"]
"""How changes of several columns are measured: `attribound.forests.sizes.SIZES`."""

FORESTS = (".json", ".ubj", ".txt")
"""Endings of forests: `attribound.models.forest.FOREST_SUFFIXES`."""


def is_forest(model: str) -> bool:
    """Whether what was typed after --model is the file of a forest."""
    return model == "credit-forest" or model.lower().endswith(FORESTS)


def default_attribution(model: str) -> str:
    """The method, if none was typed."""
    return "treeshap" if is_forest(model) else "saliency"
