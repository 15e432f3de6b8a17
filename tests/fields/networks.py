"""Tiny networks with known layers, for the tests of maps."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Convolutions(nn.Module):
    """Two convolutions, a mean over positions and a linear layer: (B, 2, 8, 8) to (B, 3)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 5, 3, stride=2, padding=1)
        self.act = nn.ReLU(inplace=True)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.last = nn.Linear(5, 3)

    def forward(self, images: Tensor) -> Tensor:
        x = torch.tanh(self.first(images))
        x = self.act(self.second(x))
        # Not the mean alone: gradients at the layer differ from position to position.
        return self.last(self.pool(x + x.square()).flatten(1))


class Attention(nn.Module):
    """Self-attention by torch's fused function."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        rows, count, width = tokens.shape
        parts = self.qkv(tokens).view(rows, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts)
        return self.proj(mixed.transpose(1, 2).reshape(rows, count, width))


class Block(nn.Module):
    """A transformer's block; like some libraries' it returns a tuple if asked to."""

    def __init__(self, width: int, heads: int, as_tuple: bool) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.as_tuple = Attention(width, heads), as_tuple
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, tokens: Tensor) -> Tensor | tuple[Tensor, ...]:
        tokens = tokens + self.attention(self.norm1(tokens))
        tokens = tokens + self.mlp(self.norm2(tokens))
        return (tokens, tokens.sum()) if self.as_tuple else tokens


class TinyViT(nn.Module):
    """A vision transformer in plain torch with a class token: (B, 1, 12, 8) or (B, 1, 8, 8) to (B, 3)."""

    def __init__(self, height: int = 8, as_tuple: bool = False, extra: int = 1) -> None:
        super().__init__()
        width = 8
        self.patches = nn.Conv2d(1, width, 2, 2)
        self.extra = nn.Parameter(torch.randn(1, extra, width))
        self.position = nn.Parameter(torch.randn(1, height // 2 * 4 + extra, width) / 2)
        self.blocks = nn.ModuleList(Block(width, 2, as_tuple) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 3)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.extra.expand(len(tokens), -1, -1), tokens], dim=1) + self.position
        for block in self.blocks:
            result = block(tokens)
            tokens = result[0] if isinstance(result, tuple) else result
        return self.head(self.norm(tokens)[:, 0])


def seeded(make: type[nn.Module], *args: object, dtype: torch.dtype = torch.float64, **named: object) -> nn.Module:
    """A network with reproducible weights, ready to be explained."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make(*args, **named).to(dtype).eval().requires_grad_(False)


def images(count: int = 3, channels: int = 2, height: int = 8, dtype: torch.dtype = torch.float64) -> Tensor:
    """Reproducible random images, 8 wide."""
    generator = torch.Generator().manual_seed(1)
    return torch.rand(count, channels, height, 8, generator=generator, dtype=torch.float64).to(dtype)
