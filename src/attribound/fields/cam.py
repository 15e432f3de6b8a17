"""Class activation maps: one number per position of a layer, from its activations and their gradients.

Gradients stop at the layer, so a map costs a forward pass and the backward pass of what comes after the layer. A map is
centred unless one asks otherwise: such maps are non-negative, and two of them have a high cosine whatever they show.
"""

from abc import abstractmethod
from typing import ClassVar, final

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError
from attribound.fields.base import Explanation, Field, Model, Output, Target, check_output, explained_gradient, forward
from attribound.fields.layers import Grid, Layer, arranged, as_grid, check_watched, last_spatial, named_layer, watched
from attribound.fields.reshaped import centre


class CAM(Field):
    """The one base of the family: it runs the model, and a method's own file part is its formula.

    Attributes:
        layer: the layer, None until the default is known.
    """

    method: ClassVar[str]
    stops_at_layer = True

    def __init__(
        self,
        model: Model,
        layer: nn.Module | str | None = None,
        output: Output = "logit",
        *,
        centred: bool = True,
        relu: bool = True,
        grid: Grid | None = None,
    ) -> None:
        """Explain a model.

        Args:
            model: the classifier.
            layer: a module or its name; None: the last module whose output is a picture of more than one position and
                matters to the model's, found by a forward pass. Of a module that is called twice, the last call counts.
            output: "logit" or "probability".
            centred: subtract each map's mean, so that cosines are Pearson's correlations.
            relu: keep what speaks for the class only, as the papers do; False keeps both signs.
            grid: (height, width) of a layer of tokens (B, T, C); those in front of it are dropped. None: T tokens, or
                T - 1 after a class token, in the proportions of the picture.
        """
        check_output(output)
        if grid is not None and not _is_grid(grid):
            raise ArgumentError(f"expected a `grid` (height, width) of whole numbers >= 1, got {grid!r}")
        self.model, self.output, self.centred, self.relu, self.grid = model, output, centred, relu, grid
        self.reshaped = ("centred",) if centred else ()
        self.layer: Layer | None = None
        self.name = self.method if relu else f"{self.method}-signed"
        if layer is not None:
            self._choose(named_layer(model, layer))

    def _choose(self, layer: Layer) -> Layer:
        """Settle on a layer: from now on the name says which."""
        self.layer = layer
        shape = "" if self.grid is None else f"@{self.grid[0]}x{self.grid[1]}"
        self.name = f"{self.name}:{layer.name}{shape}"
        return layer

    def _arranged(self, points: Tensor) -> Layer:
        """The layer with its layout, which the first inputs show."""
        if self.layer is None:
            return self._choose(last_spatial(self.model, points))
        if self.layer.channels is None:
            self.layer = arranged(self.model, self.layer, points)
        return self.layer

    @abstractmethod
    def combine(self, activations: Tensor, slopes: Tensor) -> Tensor:
        """The method's formula.

        Args:
            activations: (B, C, ...) the layer's output.
            slopes: (B, C, ...) the gradient of each row's explained output with respect to it.

        Returns:
            (B, ...) one number per position.
        """

    @final
    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """One forward pass, and one backward pass from the output to the layer."""
        points = inputs if create_graph else inputs.detach()
        layer = self._arranged(points)
        with watched(layer, create_graph=create_graph) as seen:
            logits = forward(self.model, points)
        activations = check_watched(seen, layer, self.model, points)
        what = f"the layer {layer.name!r}"
        slopes = explained_gradient(logits, target, self.output, inputs=activations, create_graph=create_graph, of=what)
        precise = torch.promote_types(slopes.dtype, torch.float32)  # half precision would overflow in sums
        grids = (as_grid(values, layer, self.grid, points).to(precise) for values in (activations, slopes))
        with torch.autocast(points.device.type, enabled=False):  # the formula is exact also where the model is rounded
            maps = self.combine(*grids)
        positive = _positive(maps) if self.relu else maps
        kept = positive if create_graph else positive.detach()
        return Explanation(centre(kept) if self.centred else kept, logits.detach())


@final
class GradCAM(CAM):
    """Grad-CAM (Selvaraju et al. 2017): channels weighted by their mean gradient."""

    method = "gradcam"

    def combine(self, activations: Tensor, slopes: Tensor) -> Tensor:
        """The sum over channels k of mean(g_k) A_k."""
        return _weighted(slopes.flatten(2).mean(dim=2), activations)


@final
class HiResCAM(CAM):
    """HiResCAM (Draelos and Carin 2020): every position with its own gradient, nothing averaged."""

    method = "hirescam"

    def combine(self, activations: Tensor, slopes: Tensor) -> Tensor:
        """The sum over channels k of g_k A_k, position by position."""
        return (slopes * activations).sum(dim=1)


@final
class LayerCAM(CAM):
    """LayerCAM (Jiang et al. 2021): as HiResCAM, with positive gradients only."""

    method = "layercam"

    def combine(self, activations: Tensor, slopes: Tensor) -> Tensor:
        """The sum over channels k of max(g_k, 0) A_k, position by position."""
        return (_positive(slopes) * activations).sum(dim=1)


@final
class GradCAMPlusPlus(CAM):
    """Grad-CAM++ (Chattopadhay et al. 2018) for the score exp(S), S the explained output.

    Its derivatives are then powers of g = dS/dA, and channel k has the weight sum of a max(g, 0) over positions with
    a = g^2 / (2 g^2 + g^3 sum A_k) = 1 / (2 + g sum A_k). The factor exp(S), common to all positions, is left out.
    """

    method = "gradcam++"

    def combine(self, activations: Tensor, slopes: Tensor) -> Tensor:
        """The sum over channels k of w_k A_k; where a's denominator is zero, a is zero."""
        totals = activations.flatten(2).sum(dim=2).view(*activations.shape[:2], *[1] * (activations.ndim - 2))
        rising = _positive(slopes)
        below = 2 + rising * totals
        shares = rising / torch.where(below == 0, torch.inf, below)
        return _weighted(shares.flatten(2).sum(dim=2), activations)


def _is_grid(grid: object) -> bool:
    return isinstance(grid, tuple) and len(grid) == 2 and all(isinstance(side, int) and side >= 1 for side in grid)


def _weighted(weights: Tensor, activations: Tensor) -> Tensor:
    """(B, C) and (B, C, ...) to (B, ...): the weighted sum of the channels."""
    sums = torch.einsum("bc,bcp->bp", weights, activations.flatten(2))
    return sums.view(len(weights), *activations.shape[2:])


def _positive(values: Tensor) -> Tensor:
    """max(values, 0); not a relu, which attacks replace by something smoother."""
    return values.clamp(min=0)
