"""Any attribution method of Captum as a field. The only file that knows Captum."""

import contextlib
import inspect
import warnings
from typing import Any, final

import torch
from captum import attr
from torch import Tensor, nn

from attribound.errors import FieldError
from attribound.fields.base import Explanation, Field, Model, Target, refuse_graph
from attribound.fields.layers import named_layer
from attribound.fields.seeding import seeded

_DETERMINISTIC = (
    attr.Deconvolution,
    attr.DeepLift,
    attr.FeatureAblation,
    attr.GuidedBackprop,
    attr.InputXGradient,
    attr.IntegratedGradients,
    attr.InternalInfluence,
    attr.LayerActivation,
    attr.LayerConductance,
    attr.LayerDeepLift,
    attr.LayerFeatureAblation,
    attr.LayerGradCam,
    attr.LayerGradientXActivation,
    attr.LayerIntegratedGradients,
    attr.Occlusion,
    attr.Saliency,
)
"""Methods whose maps follow from the input: a probe decides whether their rows may share a batch."""
_RANDOM_BY_ROW = (attr.GradientShap,)
"""Random methods known to treat the rows of a batch independently; all others run row by row."""

_BY_NAME: dict[str, type[attr.Attribution]] = {
    "input-x-gradient": attr.InputXGradient,
    "guided-backprop": attr.GuidedBackprop,
    "deconvolution": attr.Deconvolution,
    "deeplift": attr.DeepLift,
    "feature-ablation": attr.FeatureAblation,
    "shapley-sampling": attr.ShapleyValueSampling,
    "kernel-shap": attr.KernelShap,
    "lime": attr.Lime,
}
"""Methods that need nothing but the model, by the name that people type."""


def named(name: str, model: Model) -> "Captum":
    """The method of that name; records keep the name."""
    field = Captum(_BY_NAME[name](model))
    field.name = name
    return field


@final
class Captum(Field):
    """Adapter: `Captum(captum.attr.InputXGradient(model))`, further arguments go to `attribute`.

    A stochastic method (GradientShap, methods under NoiseTunnel) is a *random field*: each draw takes fresh
    randomness, independent of the noise, and the smoothed map is the mean over both. The bounds hold for that mean.
    Captum draws from the global generators; they are seeded from the given generator and put back afterwards.

    The bounds need independent draws. Deterministic methods run in batches if a probe finds that their rows do not see
    each other (DeepLift's do where the model holds a softmax); random ones (some share one permutation among the rows)
    run row by row, each with its own randomness. Layer methods give maps in the layer's shape and are called by the
    layer too. Methods that explain no class, such as LayerActivation, give the same map for every target.

    Methods that only change the input (Occlusion, FeatureAblation, ShapleyValueSampling, KernelShap, Lime) work with
    any callable; wrap one of numpy arrays: `Captum(FeatureAblation(attribound.models.Scores(predict)))`.
    """

    def __init__(self, method: attr.Attribution, /, **arguments: Any) -> None:
        if not isinstance(method, attr.Attribution):
            raise FieldError(f"expected a captum.attr method, got {type(method).__name__}")
        if isinstance(method, attr.FeaturePermutation | attr.LayerFeaturePermutation):
            raise FieldError(
                f"{type(method).__name__} mixes the rows of a batch: it is not an attribution of one input"
            )
        self.method = method
        self.model: Model = method.forward_func
        self.arguments = arguments
        self.name = _name(method)
        self.random = type(method) not in _DETERMINISTIC
        self.needs_gradients = not isinstance(
            getattr(method, "attribution_method", method), attr.PerturbationAttribution
        )  # NoiseTunnel holds another method

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """The method's own attribution of the batch."""
        refuse_graph(self, create_graph)
        if type(self.method) in (*_DETERMINISTIC, *_RANDOM_BY_ROW):
            return Explanation(self._attribute(inputs, target, generator))
        targets = torch.as_tensor(target).expand(len(inputs)).tolist()
        rows = zip(inputs.split(1), targets, strict=True)
        return Explanation(torch.cat([self._attribute(row, one, generator) for row, one in rows]))

    def _attribute(self, inputs: Tensor, target: Target, generator: torch.Generator | None) -> Tensor:
        points = inputs.detach().clone().requires_grad_(True)  # the model may write to it
        # A method without randomness is not seeded: the same seed again would hide that of the model's gradient.
        with seeded(generator if self.random else None), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Setting forward, backward hooks and attributes")
            try:
                values = self.method.attribute(points, **_explained(self.method, target), **self.arguments)
            except (AssertionError, AttributeError, LookupError, ValueError, TypeError, RuntimeError) as error:
                raise FieldError(f"{self.name} failed: {self._reason(error, points)}") from error
        if not isinstance(values, Tensor) or len(values) != len(inputs) or values.ndim < 2:
            raise FieldError(f"expected {self.name} to give one map per input, {len(inputs)} of them")
        return values.detach()

    def _reason(self, error: Exception, points: Tensor) -> str:
        """Why Captum failed, where its own message does not tell."""
        with torch.no_grad(), contextlib.suppress(Exception):
            output = self.model(points[:1])
            if not isinstance(output, Tensor):
                return (
                    f"Captum needs a model that returns its logits as a tensor, got {type(output).__name__}: give the "
                    f"method attribound.models.Logits(model) in place of the model"
                )
        if isinstance(self.method, attr.LRP) and isinstance(error, AttributeError):
            return f"Captum's LRP has no rule for this layer, choose one with weights of its own ({error})"
        return str(error)


def _name(method: attr.Attribution) -> str:
    """The method, and the layer that it looks at if there is one."""
    layer, kind = getattr(method, "layer", None), f"captum-{type(method).__name__}"
    return f"{kind}:{named_layer(method.forward_func, layer).name}" if isinstance(layer, nn.Module) else kind


def _explained(method: attr.Attribution, target: Target) -> dict[str, Target]:
    """The class as an argument, for methods that explain one; wrappers such as NoiseTunnel hand it on."""
    known = inspect.signature(method.attribute).parameters.values()
    return {"target": target} if any(one.name == "target" or one.kind is one.VAR_KEYWORD for one in known) else {}
