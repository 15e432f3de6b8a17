"""Pictures and maps under affine maps of the plane: bilinear interpolation, zero outside."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def warp(pictures: Tensor, linear: Tensor, shape: Sequence[int]) -> Tensor:
    """Each place, counted from the middle, takes its value from linear @ place.

    Args:
        pictures: (B, C, h, w) pictures, or maps of them of any resolution.
        linear: (B, 2, 2) in lengths, so that a rotation is one whatever the picture's proportions.
        shape: (..., H, W) of the pictures.
    """
    height, width = shape[-2:]
    sides = torch.tensor([width, height], dtype=torch.float64, device=pictures.device)
    matrix = linear.to(sides) * sides[None, None, :] / sides[None, :, None]
    return sampled(pictures, torch.cat([matrix, torch.zeros_like(matrix[:, :, :1])], dim=2))


def sampled(pictures: Tensor, theta: Tensor) -> Tensor:
    """Pictures (B, C, h, w) at affine places (B, 2, 3) in [-1, 1]^2; float64 places, zero outside."""
    grid = F.affine_grid(theta, list(pictures.shape), align_corners=False).to(pictures.dtype)
    return F.grid_sample(pictures, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def turned(pictures: Tensor, degrees: Tensor, shape: Sequence[int]) -> Tensor:
    """Pictures turned counter-clockwise about their middle."""
    angle = torch.deg2rad(degrees.to(pictures.device, torch.float64))
    cosine, sine = angle.cos(), angle.sin()
    return warp(pictures, torch.stack([cosine, -sine, sine, cosine], dim=1).view(-1, 2, 2), shape)


def enlarged(pictures: Tensor, logs: Tensor, shape: Sequence[int]) -> Tensor:
    """Pictures enlarged about their middle by the factors exp(logs)."""
    factors = torch.exp(-logs.to(pictures.device, torch.float64))
    square = torch.eye(2, dtype=torch.float64, device=pictures.device)
    return warp(pictures, factors[:, None, None] * square, shape)


def shifted(pictures: Tensor, parts: Tensor) -> Tensor:
    """Pictures shifted right and down by parts (B, 2) of their width and height."""
    square = torch.eye(2, dtype=torch.float64, device=pictures.device).expand(len(pictures), 2, 2)
    return sampled(pictures, torch.cat([square, -2 * parts.to(square)[:, :, None]], dim=2))
