"""The one interface of attribution methods: a field maps every input of a batch to a map.

A map has the shape that the method gives it: that of the input for saliency, 7 x 7 for Grad-CAM, one number per token.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, final

import torch
from torch import Tensor

from attribound.bounds.facts import Fact
from attribound.errors import ArgumentError, FieldError
from attribound.forests.shap import TreeShap
from attribound.models.outputs import as_logits

Model = Callable[[Tensor], Any]
Output = Literal["logit", "probability"]
RunIn = Literal["float32", "bfloat16", "float16"]
"""The precision in which a model is run."""
Target = int | Tensor
"""The class that is explained: one for all rows, or (B,) one per row."""

WITHOUT_GRADIENTS = (
    "without gradients there are Function, TreeShap, Shap, and Captum's FeatureAblation, Occlusion, "
    "ShapleyValueSampling, KernelShap and Lime"
)
"""What works with any callable, in words."""

_RULED_OUT = -1e300
"""In place of a logit of minus infinity: its exponential is zero too."""


@final
@dataclass(frozen=True)
class Explanation:
    """What a field says about a batch.

    Attributes:
        maps: (B, ...) one map per row.
        logits: (B, K) the model's outputs at the rows themselves, where the method computed them anyway.
    """

    maps: Tensor
    logits: Tensor | None = None


class Field(ABC):
    """An attribution method with its model. Subclass it for a method of your own and write `explain`.

    Attributes:
        model: the classifier, a batch of inputs to logits (B, K).
        name: the method, as people type it after `--attribution`.
        reshaped: what was done to the method's map afterwards, e.g. ("pooled:7", "centred").
        output: what is explained, "logit" or "probability".
        cost: model gradients per row, so that batches can be sized.
        stops_at_layer: whether gradients stop at a layer, so that a call keeps few activations in memory.
        block: rows whose mean is one draw for the bounds (more than 1 only for a randomised path).
        random: whether the map of one row depends on more than the row.
        needs_gradients: whether it differentiates the model; a field that does not works with any callable.
        explains_scores: whether it explains the model's own scores; if not, they only name the class.
        takes_missing: whether inputs may have missing cells (NaN), which stay missing under noise.
        features: names of the map's cells, where the method knows them.
        precision: in which the model is run, "float32" (as it is), "bfloat16" or "float16".
        stated: facts that the user states about the field and the draws cannot prove.
    """

    model: Model
    name: str
    output: Output = "logit"
    reshaped: tuple[str, ...] = ()
    cost: int = 1
    stops_at_layer: bool = False
    block: int = 1
    random: bool = False
    needs_gradients: bool = True
    explains_scores: bool = True
    takes_missing: bool = False
    precision: RunIn = "float32"
    stated: tuple[Fact, ...] = ()
    features: tuple[str, ...] = ()

    @abstractmethod
    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """Maps of a batch; each row's map may depend on that row only.

        Args:
            inputs: (B, ...) points.
            target: the class that is explained.
            generator: source of randomness of a random field; deterministic fields ignore it.
            create_graph: keep the maps differentiable with respect to `inputs` (attacks need it).
        """

    @final
    def attribute(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Tensor:
        """The maps alone; the inputs stay as they are, whatever the field does to them."""
        found = self.explain(inputs.clone(), target, generator=generator, create_graph=create_graph)
        return check_explanation(found, self, len(inputs)).maps

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' '.join((self.name, *self.reshaped))}>"


class Wrapper(Field):
    """A field made of another one; everything that it does not change is the other's."""

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Remember what it is made with besides the other field, so that `around` can make it again."""
        wrapper = super().__new__(cls)
        wrapper._made_with = given[1:], {name: value for name, value in named.items() if name != "base"}
        return wrapper

    def __init__(self, base: Field) -> None:
        base = as_field(base)
        check_own(base)
        self.base = base
        self.model, self.output, self.reshaped = base.model, base.output, base.reshaped
        self.cost, self.block, self.random = base.cost, base.block, base.random
        self.needs_gradients, self.explains_scores = base.needs_gradients, base.explains_scores
        self.takes_missing, self.stops_at_layer = base.takes_missing, base.stops_at_layer

    @property
    def precision(self) -> RunIn:  # type: ignore[override]
        """The other's."""
        return self.base.precision

    @property
    def name(self) -> str:  # type: ignore[override]
        """The other's, which may learn more of its name from the first input."""
        return self.base.name

    def around(self, base: Field) -> Self:
        """The same wrapper around another field."""
        given, named = self._made_with
        return type(self)(base, *given, **named)


def as_field(value: Any) -> Field:
    """The value, if it is a field; `TreeShap`, which lives without torch, becomes one."""
    if isinstance(value, Field):
        return value
    if isinstance(value, TreeShap):
        from attribound.fields.forest import ForestField

        return ForestField(value)
    raise FieldError(f"expected a field such as Saliency(model), got {type(value).__name__}")


def refuse_graph(field: Field, create_graph: bool) -> None:
    """Raise FieldError where a field is asked to be differentiated that cannot be."""
    if create_graph:
        raise FieldError(f"{field.name} cannot be differentiated: use an attack that needs no gradient of it")


def check_own(field: Field) -> None:
    """Raise FieldError if a field of the user's own lacks a part, in place of Python's own error later."""
    kind = type(field).__name__
    for part, meaning in (("model", "the classifier"), ("name", "the method's name")):
        if not hasattr(field, part):
            raise FieldError(f"expected the field {kind} to have `{part}`, {meaning}: set self.{part} in its __init__")
    parameters = inspect.signature(field.explain).parameters.values()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return
    if lacking := {"generator", "create_graph"} - {one.name for one in parameters}:
        raise FieldError(
            f"expected {kind}.explain(self, inputs, target, *, generator=None, create_graph=False): it does not take "
            f"`{sorted(lacking)[-1]}`"
        )


def check_explanation(found: Any, field: Field, rows: int) -> Explanation:
    """What a field returned; raises FieldError unless it is an Explanation with one map per row."""
    kind = type(field).__name__
    if not isinstance(found, Explanation) or not isinstance(found.maps, Tensor):
        raise FieldError(f"expected {kind}.explain to return Explanation(maps), got {type(found).__name__}")
    if found.maps.ndim < 2 or len(found.maps) != rows:
        raise FieldError(
            f"expected {kind}.explain to return one map per row ({rows}, ...), got shape {tuple(found.maps.shape)}"
        )
    return found


def innermost(field: Field) -> Field:
    """The method itself, inside all wrappers."""
    return innermost(field.base) if isinstance(field, Wrapper) else field


class MapWrapper(Wrapper):
    """A wrapper that changes each map by itself."""

    @abstractmethod
    def change(self, maps: Tensor) -> Tensor:
        """(B, ...) maps to (B, ...) maps; rows do not see each other."""

    @final
    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """The wrapped maps, changed."""
        plain = check_explanation(
            self.base.explain(inputs, target, generator=generator, create_graph=create_graph), self.base, len(inputs)
        )
        return Explanation(self.change(plain.maps), plain.logits)


def check_output(output: str) -> None:
    """Raise unless `output` is one of the two things that can be explained."""
    if output not in ("logit", "probability"):
        raise ArgumentError(f"expected `output` 'logit' or 'probability', got {output!r}")


def forward(model: Model, inputs: Tensor) -> Tensor:
    """(B, K) the model's logits, whatever it wraps them in. It has a copy of the inputs, for it may write to them."""
    return as_logits(model(inputs.clone()), len(inputs))


def explained_gradient(
    logits: Tensor, target: Target, output: Output, *, inputs: Tensor, create_graph: bool, of: str = "its input"
) -> Tensor:
    """Gradient of each row's explained output, a logit or a softmax probability, with respect to its row of `inputs`.

    With the margin m = z_t - logsumexp of the other logits, the probability is p = sigmoid(m), and its gradient is
    sigmoid(m) sigmoid(-m) grad m. The softmax's own backward pass subtracts nearly equal numbers where p is near 1, and
    what is left of the map there is rounding. Each row's factor is float64: float32's would vanish beyond m = 88.

    Args:
        logits: (B, K) the model's outputs at `inputs`.
        target: the class that is explained.
        output: "logit" or "probability".
        inputs: (B, ...) what the logits were computed from.
        create_graph: keep the result differentiable.
        of: what `inputs` are, in words.

    Returns:
        (B, ...) like `inputs`; float64 for a probability.
    """
    chosen = _classes(target, logits)
    if output == "logit":
        return gradient(logits.gather(1, chosen)[:, 0], inputs, create_graph=create_graph, of=of)
    margins = _margins(logits, chosen)
    slopes = gradient(margins, inputs, create_graph=create_graph, of=of)
    factors = margins.sigmoid() * (-margins).sigmoid()
    kept = factors if create_graph else factors.detach()
    return kept.view(-1, *[1] * (slopes.ndim - 1)) * slopes


def _classes(target: Target, logits: Tensor) -> Tensor:
    """(B, 1) the explained class of each row."""
    chosen = torch.as_tensor(target).flatten().tolist()
    if not all(0 <= one < logits.shape[1] for one in chosen):
        raise ArgumentError(f"expected `target` in 0..{logits.shape[1] - 1}, got {chosen[0]}")
    return torch.tensor(chosen, device=logits.device).expand(len(logits))[:, None]


def _margins(logits: Tensor, chosen: Tensor) -> Tensor:
    """(B,) by how much the chosen logit exceeds the logsumexp of all others, in float64."""
    # Minus infinity, a class that is ruled out, would make 0 * inf of a gradient that is 0.
    values = logits.double().clamp(min=_RULED_OUT)
    others = values.scatter(1, chosen, _RULED_OUT)
    return values.gather(1, chosen)[:, 0] - others.logsumexp(dim=1)


def gradient(scores: Tensor, inputs: Tensor, *, create_graph: bool, of: str = "its input") -> Tensor:
    """Gradient of each row's score with respect to its own row of `inputs`; `of` says what these are."""
    if scores.requires_grad:
        # Rows do not see each other, so the gradient of the sum holds every row's own gradient.
        found = torch.autograd.grad(scores.sum(), inputs, create_graph=create_graph, allow_unused=True)[0]
        if found is not None:
            return found
    raise FieldError(
        f"the model's output does not depend on {of} through differentiable operations: {WITHOUT_GRADIENTS}"
    )
