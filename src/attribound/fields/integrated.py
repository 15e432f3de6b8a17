"""Integrated gradients (Sundararajan et al. 2017), by quadrature or with a randomised path."""

import hashlib
from copy import copy
from typing import Literal, final

import torch
from torch import Tensor

from attribound import checks as check
from attribound.errors import ArgumentError
from attribound.fields.base import Explanation, Field, Model, Output, Target, check_output, explained_gradient, forward

Path = Literal["quadrature", "random"]
_STEPS = 16


@final
class IntegratedGradients(Field):
    """(z - b) * mean over t in [0, 1] of grad f(b + t (z - b)), b the baseline.

    path="quadrature": the midpoint rule with `steps` gradients per draw; a deterministic field.

    path="random": one gradient per draw. Rows come in blocks of `steps`; row j of a block takes t uniform in
    [j / steps, (j + 1) / steps], and every row has its own noise. The mean of a block is one draw for the bounds.

    Under `Proved` and `Assumed` both smooth to the same map (up to the quadrature's error); the limit must hold for
    the integrand (z - b) * grad f(...) when the path is random. `Unit` and `Clip` act on every row, so with them
    the two paths are two different, both certified, maps.
    """

    def __init__(
        self,
        model: Model,
        baseline: float | Tensor = 0.0,
        steps: int = _STEPS,
        path: Path = "quadrature",
        output: Output = "logit",
    ) -> None:
        """Explain a model.

        Args:
            model: the classifier.
            baseline: a number, or a tensor of the input's shape.
            steps: points on the path.
            path: "quadrature" or "random".
            output: "logit" or "probability".
        """
        check_output(output)
        if path not in ("quadrature", "random"):
            raise ArgumentError(f"expected `path` 'quadrature' or 'random', got {path!r}")
        self.model, self.path, self.output = model, path, output
        self.baseline = baseline.detach().clone() if isinstance(baseline, Tensor) else baseline
        self.steps = int(check.count("steps", steps))
        self.random = path == "random"
        self.name = ("ig-random" if self.random else "ig") + self._settings()
        self.cost, self.block = (1, self.steps) if self.random else (self.steps, 1)
        self.alone = False

    def _settings(self) -> str:
        """A fingerprint of baseline and steps, for the name; empty for those of the command line."""
        values = torch.as_tensor(self.baseline).detach().double().cpu()
        if self.steps == _STEPS and values.ndim == 0 and values == 0:
            return ""
        content = repr((self.steps, tuple(values.shape))).encode() + values.contiguous().numpy().tobytes()
        return f"@{hashlib.sha256(content).hexdigest()[:8]}"

    def one_by_one(self) -> "IntegratedGradients":
        """The same method with every point of a path alone in the model; a row's place in its block stays its own."""
        field = copy(self)
        field.alone = True
        return field

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """Displacement from the baseline times the mean gradient along the path."""
        away = inputs - self._baseline(inputs)
        if self.path == "random":
            slopes = self._gradient_at(inputs, away, self._positions(inputs, generator), target, create_graph)
            return Explanation(away * slopes)
        rows, steps = len(inputs), self.steps
        middles = (torch.arange(steps, device=inputs.device, dtype=inputs.dtype) + 0.5) / steps
        slopes = self._gradient_at(
            inputs.repeat_interleave(steps, 0),
            away.repeat_interleave(steps, 0),
            middles.repeat(rows),
            target.repeat_interleave(steps) if isinstance(target, Tensor) and target.ndim else target,
            create_graph,
        )
        return Explanation(away * slopes.view(rows, steps, *inputs.shape[1:]).mean(dim=1))

    def _gradient_at(
        self, inputs: Tensor, away: Tensor, positions: Tensor, target: Target, create_graph: bool
    ) -> Tensor:
        """Gradient of the model at b + t (z - b), written as z - (1 - t)(z - b)."""
        left = (1 - positions).view(-1, *[1] * (inputs.ndim - 1))
        points = inputs - left * away
        if not points.requires_grad:
            points = points.detach().requires_grad_(True)
        logits = forward(self.model, points) if not self.alone else self._forward_alone(points)
        return explained_gradient(logits, target, self.output, inputs=points, create_graph=create_graph)

    def _forward_alone(self, points: Tensor) -> Tensor:
        return torch.cat([forward(self.model, point[None]) for point in points])

    def _positions(self, inputs: Tensor, generator: torch.Generator | None) -> Tensor:
        if generator is None:
            raise ArgumentError("expected a `generator` for path='random'")
        if len(inputs) % self.steps:
            raise ArgumentError(f"expected rows in blocks of {self.steps} for path='random', got {len(inputs)}")
        uniform = torch.rand(len(inputs), generator=generator, device=inputs.device, dtype=torch.float64)
        stratum = torch.arange(len(inputs), device=inputs.device) % self.steps
        return ((stratum + uniform) / self.steps).to(inputs.dtype)

    def _baseline(self, inputs: Tensor) -> Tensor:
        if not isinstance(self.baseline, Tensor):
            return torch.full_like(inputs[:1], float(self.baseline))
        if self.baseline.shape != inputs.shape[1:]:
            raise ArgumentError(
                f"expected a `baseline` of shape {tuple(inputs.shape[1:])}, got {tuple(self.baseline.shape)}"
            )
        return self.baseline.to(inputs)[None]
