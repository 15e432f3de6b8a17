"""Certify explanations: the public edge, where arguments are checked once."""

import hashlib
import operator
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attribound.bounds import arguments as check
from attribound.certificate import Certificate
from attribound.errors import ArgumentError, FieldError
from attribound.estimation import SHARES, Plan, Progress, Question, chunk_generator, estimate
from attribound.fields.base import Field, Model, check_evaluating, check_logits, check_rows
from attribound.fields.bounded import Bounded
from attribound.noise import Noise

_PROBES = 8
"""Noisy copies of the first input on which the model is checked to map rows independently."""

Targets = int | Sequence[int] | Tensor | None


def certify(
    field: Field,
    x: Tensor,
    target: Targets = None,
    *,
    noise: Noise,
    samples: int = 4096,
    alpha: float = 1e-3,
    seed: int = 0,
    until: tuple[float, float] | None = None,
    batch: int | None = None,
    item: int = 0,
    progress: Progress | None = None,
) -> Any:
    """Prove how far the smoothed explanation of an input can be bent.

    Args:
        field: a bounded attribution, e.g. `Unit(Saliency(model))`.
        x: one input, or a batch with a leading dimension (then a list of certificates is returned).
        target: class to explain, one for all or one per input; None: the predicted class.
        noise: `UniformBall(radius)` or `Gaussian(sigma)`, in the units of x.
        samples: the most noise draws per input (two draws, or two blocks of a random path, are always taken).
        alpha: with probability at least 1 - alpha everything an input's certificate says is true.
        seed: seed of the draws.
        until: (cosine, epsilon): stop sampling as soon as this is proved or cannot be within `samples`.
        batch: most rows per model call; None sizes it automatically.
        item: number of the (first) input; draws depend on (seed, item, chunk).
        progress: called with (samples done, samples planned) of the current input.

    Returns:
        A `Certificate`, or a list of them for a batch.
    """
    bounded = check_field(field)
    check_input(x)
    plan = Plan(
        samples=int(check.count("samples", samples)),
        alpha=float(check.alpha(alpha)),
        seed=_whole("seed", seed),
        item=_whole("item", item),
        batch=None if batch is None else int(check.count("batch", batch)),
        until=_question(until),
    )
    if not isinstance(noise, Noise):
        raise ArgumentError(f"expected `noise` UniformBall or Gaussian, got {type(noise).__name__}")
    inputs, single = as_batch(bounded.model, x)
    probes = noise.draw(_PROBES, inputs[0], chunk_generator(plan.seed, plan.item, 0, x.device, purpose="probe"))
    check_rows(bounded.model, (inputs[0] + probes).to(x.dtype))
    predictions, classes = predict(bounded.model, inputs)
    targets = _targets(target, predictions, classes)
    weights = model_hash(bounded.model)
    certificates = [
        _certify_one(bounded, one, targets[k], predictions[k], noise, replace(plan, item=item + k), weights, progress)
        for k, one in enumerate(inputs)
    ]
    return certificates[0] if single else certificates


def _certify_one(
    field: Bounded,
    x: Tensor,
    target: int,
    prediction: int,
    noise: Noise,
    plan: Plan,
    weights: str,
    progress: Progress | None,
) -> Certificate:
    result = estimate(field, x, target, noise, plan, progress)
    return Certificate(
        evidence=result.evidence,
        attribution=result.attribution.numpy(),
        map_radius=result.map_radius,
        norm=result.norm,
        target=target,
        prediction=prediction,
        method=field.name,
        output=field.output,
        bound_kind=field.kind,
        limit_source=field.source,
        samples=result.samples,
        draws=result.draws,
        alpha=plan.alpha,
        attacked_map_alpha=SHARES["attacked map"] * plan.alpha,
        seed=plan.seed,
        item=plan.item,
        stopped=result.stopped,
        budget=plan.samples,
        until=None if plan.until is None else (plan.until.cosine, plan.until.epsilon),
        seconds=result.seconds,
        versions={"attribound": version("attribound"), "torch": str(torch.__version__)},
        model_sha256=weights,
        input_sha256=input_hash(x),
    )


def check_field(field: Field) -> Bounded:
    """Complain unless the field has a limit and its model is in evaluation mode."""
    if not isinstance(field, Bounded):
        kind = type(field).__name__
        raise FieldError(f"expected a field with a limit, e.g. Unit({kind}(...)), got {kind}")
    check_evaluating(field.model)
    return field


def check_input(x: Tensor) -> None:
    """Complain unless x is a finite floating-point tensor."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"expected `x` to be a tensor, got {type(x).__name__}")
    if not x.is_floating_point():
        raise ArgumentError(f"expected a floating-point `x`, got {x.dtype}")
    if not torch.isfinite(x).all():
        raise ArgumentError("expected a finite `x`, got NaN or infinity in it")


def as_batch(model: Model, x: Tensor) -> tuple[Tensor, bool]:
    """The input as a batch, and whether it was a single one: whichever the model maps to one row of logits each."""
    readings = [(x[None], True), (x, False)] if x.ndim % 2 else [(x, False), (x[None], True)]
    problem: Exception | None = None
    for inputs, single in readings if x.ndim else [(x[None], True)]:
        try:
            check_logits(_forward(model, inputs), len(inputs))
        except FieldError as error:
            problem = error
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            problem = problem or error
        else:
            check.dimension(inputs[0].numel())
            return inputs.detach(), single
    raise FieldError(f"the model accepts `x` of shape {tuple(x.shape)} neither as one input nor as a batch: {problem}")


def predict(model: Model, inputs: Tensor) -> tuple[list[int], int]:
    """The predicted class of each input, and the number of classes."""
    logits = [_forward(model, part) for part in inputs.split(1)]
    return [int(one.argmax(dim=1)) for one in logits], logits[0].shape[1]


def input_hash(x: Tensor) -> str:
    """SHA-256 over the input's values in float32."""
    return hashlib.sha256(x.detach().float().cpu().contiguous().numpy().tobytes()).hexdigest()


def model_hash(model: Model) -> str:
    """SHA-256 over the model's named weights; "" for a plain function."""
    if not isinstance(model, nn.Module):
        return ""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        if isinstance(value, Tensor):
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _forward(model: Model, inputs: Tensor) -> Tensor:
    with torch.no_grad():
        return model(inputs)


def _targets(target: Targets, predictions: list[int], classes: int) -> list[int]:
    if target is None:
        return predictions
    many = isinstance(target, Sequence) or (isinstance(target, Tensor | np.ndarray) and target.ndim > 0)
    targets = [check_target(one, classes) for one in (target if many else [target] * len(predictions))]  # type: ignore[union-attr]
    if len(targets) != len(predictions):
        raise ArgumentError(f"expected one `target` per input ({len(predictions)}), got {len(targets)}")
    return targets


def check_target(target: Any, classes: int) -> int:
    """A class number, from any kind of whole number."""
    try:
        number = -1 if isinstance(target, bool) else operator.index(target)
    except TypeError:
        number = -1
    if not 0 <= number < classes:
        raise ArgumentError(f"expected `target` in 0..{classes - 1}, got {target}")
    return number


def _question(until: tuple[float, float] | None) -> Question | None:
    if until is None:
        return None
    try:
        cosine, epsilon = until
    except (TypeError, ValueError):
        raise ArgumentError(f"expected `until` to be (cosine, epsilon), got {until!r}") from None
    return Question(
        cosine=float(check.fraction("until's cosine", cosine)),
        epsilon=float(check.positive("until's epsilon", epsilon)),
    )


def _whole(name: str, value: int) -> int:
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise ArgumentError(f"expected `{name}` to be a whole number >= 0, got {value!r}")
    return int(value)
