"""Many at once says what each says alone, or a little less."""

import numpy as np
import pytest

from attribound.bounds.many import cosines_of_many
from attribound.bounds.rules import Evidence


@pytest.mark.parametrize(
    ("kind", "scale", "gradient", "loss"),
    [("gaussian", 0.75, False, 2e-3), ("gaussian", 0.5, True, 2e-3), ("uniform", 14.0, False, 1e-9)],
)
def test_never_above_the_certificate_and_close_to_it(kind, scale, gradient, loss) -> None:
    generator = np.random.default_rng(0)
    evidences = [
        Evidence(
            dim=784,
            noise_kind=kind,
            scale=scale,
            limit=1.0,
            norm_lower=float(generator.uniform(0.0, 1.0)),
            eigenvalue_upper=float(10.0 ** generator.uniform(-4, 0)),
            probability_gradient=gradient,
        )
        for _ in range(12)
    ]
    epsilons = np.linspace(0.0, 2.0 * scale if kind == "gaussian" else 1.5, 9)
    found = cosines_of_many(evidences, epsilons)
    alone = np.array([[one.best(float(epsilon))[0] for epsilon in epsilons] for one in evidences])
    assert (found <= alone).all()
    both = (found >= 0) & (alone >= 0.3)
    assert np.abs(found - alone)[both].max() <= loss
    assert (found >= 0).any()
    assert (found < 0).any()
