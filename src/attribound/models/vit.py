"""A small vision transformer (Dosovitskiy et al. 2021) in plain operations that can be differentiated twice."""

from typing import final

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError


@final
class Attention(nn.Module):
    """Every token looks at every other, in several heads.

    Written with matrix products and softmax: the fused kernels have no second derivative, which attacks need.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        rows, count, width = tokens.shape
        split = self.qkv(tokens).view(rows, count, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        weights = (query @ key.transpose(-2, -1) * (width // self.heads) ** -0.5).softmax(dim=-1)
        mixed: Tensor = self.proj((weights @ value).transpose(1, 2).reshape(rows, count, width))
        return mixed


@final
class Block(nn.Module):
    """Attention, then two linear layers on each token, each after a normalisation and beside a shortcut."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        tokens = tokens + self.attn(self.norm1(tokens))
        result: Tensor = tokens + self.mlp(self.norm2(tokens))
        return result


@final
class ViT(nn.Module):
    """Patches to tokens, blocks, and a linear layer on the tokens' mean or on a class token in front of them.

    The output of `blocks.N` is (B, T, C): row by row the patches, after the class token if there is one.
    """

    input_range = (0.0, 1.0)

    def __init__(
        self,
        *,
        channels: int = 3,
        size: int = 32,
        patch: int = 4,
        width: int = 64,
        depth: int = 4,
        heads: int = 4,
        classes: int = 10,
        class_token: bool = False,
    ) -> None:
        super().__init__()
        if size % patch or width % heads:
            raise ArgumentError(
                "expected patches that tile the picture and heads that divide the width, got "
                f"{size}/{patch}, {width}/{heads}"
            )
        self.patch_embed = nn.Conv2d(channels, width, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width)) if class_token else None
        count = (size // patch) ** 2 + int(class_token)
        self.pos_embed = nn.Parameter(nn.init.trunc_normal_(torch.empty(1, count, width), std=0.02))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B, channels, size, size) in [0, 1] to logits (B, K)."""
        tokens = self.patch_embed(2 * images - 1).flatten(2).transpose(1, 2)
        if self.cls_token is not None:
            tokens = torch.cat([self.cls_token.expand(len(tokens), -1, -1), tokens], dim=1)
        tokens = tokens + self.pos_embed
        for block in self.blocks:
            tokens = block(tokens)
        tokens = self.norm(tokens)
        logits: Tensor = self.head(tokens.mean(dim=1) if self.cls_token is None else tokens[:, 0])
        return logits


def vit_tiny() -> ViT:
    """For 32 x 32 colour images: 64 tokens, 0.2 million weights."""
    return ViT()


def vit_tiny_grey() -> ViT:
    """For 28 x 28 grey images: 49 tokens."""
    return ViT(channels=1, size=28)
