"""A photo classifier compiled by torch: the same network in about two thirds of the time on a processor.

    cd examples
    attribound tolerance --model compiled_network:efficientnet_lite0 --data folder:PHOTOS \
        --attribution gradcam:features --change rotation:45 --out my-run

Gradients stop at the layer of Grad-CAM, so all before it can be compiled for inference, with BatchNorm folded into the
convolutions. The compiler rounds differently: what is certified is the map of this network. Compiling takes a minute or
two and is remembered by torch. `ATTRIBOUND_WEIGHTS` names the folder of `attribound data fetch` (default: data).
"""

import copy
import os
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.models.load import load_model

ROWS = 6
"""Rows of one call: attribound asks for six pictures of this size at once, and the compiler makes code for one number.

Fewer are filled up, and rows never see each other."""


class Maps(nn.Module):
    """EfficientNet-Lite without its last two layers."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, 224, 224) in [0, 1] to (B, C, 7, 7)."""
        net = self.network
        x = net.normalize(images).contiguous(memory_format=torch.channels_last)
        x = functional.relu6(net._bn0(net._conv_stem(net.pad(x))))
        for block in net._blocks:
            x = block(x)
        return net.head(net._bn1(net._conv_head(x)))


class Features(nn.Module):
    """The same, compiled, without gradients."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network.requires_grad_(False)
        # A copy out of sight of hooks, which would cut the compiled code into pieces; weights are hashed in `network`.
        self._compiled = (torch.compile(Maps(copy.deepcopy(network)), dynamic=False),)

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, 224, 224) in [0, 1] to (B, C, 7, 7)."""
        parts = []
        with torch.no_grad():
            for rows in images.split(ROWS):
                filled = torch.cat([rows, rows[-1:].expand(ROWS - len(rows), *rows.shape[1:])])
                parts.append(self._compiled[0](filled)[: len(rows)].contiguous())
        return torch.cat(parts)


class Classifier(nn.Module):
    """Compiled features, their mean, and the network's own linear layer."""

    input_size = 224
    input_range = (0.0, 1.0)

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.features = Features(network.eval())

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, 224, 224) to logits (B, 1000)."""
        return self.features.network._fc(self.features(images).mean(dim=(2, 3)))


def efficientnet_lite0() -> nn.Module:
    """EfficientNet-Lite0 with the weights of `attribound data fetch efficientnet-lite0`."""
    import torch._inductor.config as inductor

    inductor.freezing = True
    folder = Path(os.environ.get("ATTRIBOUND_WEIGHTS", "data"))
    found = sorted(folder.glob("**/efficientnet-lite0.safetensors"))
    if not found:
        raise FileNotFoundError(f"no efficientnet-lite0.safetensors below {folder}: attribound data fetch it first")
    return Classifier(load_model(str(found[0]), "efficientnet-lite0")).eval()


if __name__ == "__main__":
    print(__doc__)
