"""Architectures, shipped weights, and loading of people's own."""

from attribound.models.architectures import ARCHITECTURES, make_model
from attribound.models.cnn import SmallCNN
from attribound.models.denoised import DENOISERS, Denoised, denoiser_card, load_denoiser
from attribound.models.denoiser import Denoiser
from attribound.models.efficientnet import EfficientNetLite, efficientnet_lite0
from attribound.models.functions import Scores
from attribound.models.inputs import Fixed
from attribound.models.load import code_hash, load_model
from attribound.models.normalize import Normalize
from attribound.models.outputs import FromProbabilities, Logits, as_logits
from attribound.models.resnet import ResNet, resnet18, resnet20, resnet50, resnet50_keras
from attribound.models.shipped import SHIPPED, card, load_shipped
from attribound.models.vit import ViT, vit_tiny, vit_tiny_grey

__all__ = [
    "ARCHITECTURES", "DENOISERS", "SHIPPED", "Denoised", "Denoiser", "EfficientNetLite", "Fixed", "FromProbabilities",
    "Logits", "Normalize", "ResNet", "Scores", "SmallCNN", "ViT", "as_logits", "card", "code_hash", "denoiser_card",
    "efficientnet_lite0", "load_denoiser", "load_model", "load_shipped", "make_model", "resnet18", "resnet20",
    "resnet50", "resnet50_keras", "vit_tiny", "vit_tiny_grey",
]  # fmt: skip
