"""The small convolutional network for MNIST."""

from typing import final

from torch import Tensor, nn


@final
class SmallCNN(nn.Module):
    """Two strided convolutions and two linear layers with ReLU: 28 x 28 grey images in [0, 1] to 10 logits.

    The first kernel is wide (8 x 8): it averages over the noise, which raised the certified norm most per parameter.
    """

    input_range = (0.0, 1.0)

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=8, stride=2, padding=3),
            nn.ReLU(),
            nn.Conv2d(32, 32, kernel_size=4, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, images: Tensor) -> Tensor:
        """(B, 1, 28, 28) to (B, 10)."""
        logits: Tensor = self.layers(images)
        return logits
