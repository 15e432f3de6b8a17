"""A pytest plugin: explanations that must be certified, as tests beside other tests.

Registered by installing attribound; `pytest --markers` and `pytest --fixtures` name what it brings.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.noise import Noise

_MARKER = (
    "certified(**options): what the fixture `assert_certified` asks for in this test, e.g. cosine=0.8, epsilon=0.25, "
    "noise=Gaussian(0.5)"
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(name="assert_certified")
def _fixture(request: pytest.FixtureRequest) -> "Callable[..., Certificate]":
    """Call as `assert_certified(model_or_field, x)`; what the marker `certified` says is asked for."""
    marks = reversed(list(request.node.iter_markers("certified")))  # the closest one wins
    options = {key: value for mark in marks for key, value in mark.kwargs.items()}

    def asserted(subject: Any, x: Any, **others: Any) -> "Certificate":
        __tracebackhide__ = True
        return assert_certified(subject, x, **{**options, **others})

    return asserted


def assert_certified(
    subject: Any,
    x: Any,
    *,
    cosine: float,
    epsilon: float,
    noise: "Noise",
    target: int | None = None,
    fidelity: float = 0.5,
    samples: int = 4096,
    alpha: float = 1e-3,
    seed: int | None = None,
) -> "Certificate":
    """Fail unless the smoothed explanation provably keeps a cosine under every change of the input up to epsilon.

    A false assertion passes with probability at most alpha. Sampling stops as soon as it is decided. With `seed=None`
    the draws follow from the input: a test passes for everybody or for nobody. An x that was searched against its own
    draws, until it passed, is not covered.

    Args:
        subject: a bounded field, e.g. `Unit(GradCAM(model, "layer4"))`, or a model: its saliency, scaled to length 1.
        x: one input.
        cosine: the cosine to keep.
        epsilon: size of the change: l2, in units of each feature where the noise has them.
        noise: `Gaussian(sigma)` or `UniformBall(radius)`, in the units of x.
        target: class to explain; None: the predicted class.
        fidelity: the least cosine of the smoothed and the plain map, for noise that blinds the model makes every map
            robust; 0 accepts every map.
        samples: the most noise draws.
        alpha: failure probability.
        seed: seed of the draws.

    Returns:
        The certificate, for further questions.
    """
    from attribound.certificates.explain import unfaithful
    from attribound.certification.certifier import certify
    from attribound.checks import fraction
    from attribound.fields import Field, Saliency, Unit

    __tracebackhide__ = True
    fraction("fidelity", fidelity)
    field = subject if isinstance(subject, Field) else Unit(Saliency(subject))
    found = certify(field, x, target, noise=noise, samples=samples, alpha=alpha, seed=seed, until=(cosine, epsilon))
    if found.cosine(epsilon) < cosine or found.assumed:
        pytest.fail(found.explain(cosine, epsilon))
    if warning := unfaithful(found.fidelity, fidelity):
        pytest.fail(warning)
    return found
