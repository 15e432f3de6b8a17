"""The curvature rule with units, against smoothed gradients that are known exactly."""

import json

import numpy as np
import torch

from attribound import Gaussian, Proved, Saliency, certify
from attribound.certificates.verify import verify
from tests.certificates.forging import resealed
from tests.soundness.waves import Waves


def certified(frequencies, units, x, sigma=1.0, samples=4096):
    model = Waves(torch.tensor(frequencies, dtype=torch.float64))
    field = Proved(Saliency(model, "probability", continuous=True), model.limit, reason="cosines are at most 1")
    noise = Gaussian(sigma, scale=units)
    return model, certify(field, torch.tensor(x, dtype=torch.float64), 0, noise=noise, samples=samples, seed=1)


def cosine(first, second) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_small_units_do_not_shrink_the_displacement() -> None:
    """Two fast waves, 0.01 as the unit: a change of two units turns the map to 0.76; it was certified at 0.996."""
    x, change, deviations = np.full(2, np.pi / 200), np.array([0.01, -0.01]) * 2**0.5, np.full(2, 0.01)
    model, certificate = certified([50.0, 50.0], [0.01, 0.01], x.tolist())
    turned = cosine(model.smoothed(x, deviations), model.smoothed(x + change, deviations))
    assert abs(turned - 0.76025) < 1e-5
    assert certificate.cosine(2.0) <= turned


def test_no_change_beats_the_rule_in_any_units() -> None:
    """30 models, units over four orders of magnitude, every rule at 64 changes each; seeded, so no false alarms."""
    rng = np.random.default_rng(0)
    informative = 0
    for _ in range(30):
        units = np.exp(rng.uniform(-5, 4, 2))
        x, frequencies = units * rng.uniform(-1, 1, 2), rng.uniform(0.5, 1.5, 2) / units
        model, certificate = certified(frequencies.tolist(), units.tolist(), x.tolist())
        before = model.smoothed(x, units)
        for epsilon in (0.05, 0.1, 0.4, 1.2):
            claims, radius = certificate.evidence.cosines(epsilon), certificate.evidence.displacement(epsilon)
            for direction in rng.normal(size=(64, 2)):
                after = model.smoothed(x + units * direction * epsilon / np.linalg.norm(direction), units)
                assert np.linalg.norm(after - before) <= radius
                assert cosine(before, after) >= max(claims.values()), claims
            informative += claims["curvature"] > 0.3
    assert informative >= 10


class Steep(torch.nn.Module):
    """The margin 1000 x2 tanh(50 x1): where x2 = 0 its probability's slope in x2 is 250 tanh(50 x1), and in x1 zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        margin = 1000 * x[:, 1] * torch.tanh(50 * x[:, 0])
        return torch.stack([margin / 2, -margin / 2], dim=1)


def test_the_rule_says_nothing_where_a_feature_does_not_move() -> None:
    """No noise smooths the slope in such a feature: 0.99996 was certified where the map turns round."""
    field = Proved(Saliency(Steep(), "probability", continuous=True), 250.0, reason="x2 stays 0")
    x = torch.tensor([0.3, 0.0], dtype=torch.float64)
    certificate = certify(field, x, 0, noise=Gaussian(1.0, scale=[1.0, 0.0]), samples=4096, seed=0)
    slopes = [np.tanh(50 * (centre + np.random.default_rng(0).normal(size=10**5))).mean() for centre in (0.3, -0.5)]
    assert slopes[0] > 0.2
    assert slopes[1] < -0.2
    assert certificate.status == "certified"
    assert certificate.cosine(0.8) == -1
    assert "curvature" not in certificate.evidence.cosines(0.8)


def test_verify_refuses_a_record_that_states_the_number_without_the_factor(tmp_path) -> None:
    _, certificate = certified([50.0, 50.0], [0.01, 0.01], [np.pi / 200, np.pi / 200])
    certificate.save(tmp_path / "c.json")
    assert verify(tmp_path / "c.json").passed
    stored = json.loads((tmp_path / "c.json").read_text())
    stored["cosine"]["0.5"], stored["max_epsilon"]["0.8"], stored["rule"] = 0.99975, 13.0, "curvature"
    (tmp_path / "c.json").write_text(json.dumps(resealed(stored)))
    found = "; ".join(verify(tmp_path / "c.json").problems)
    assert "states cosine(0.5) = 0.99975, but its evidence gives only" in found
    assert "states max_epsilon(0.8) = 13, but its evidence gives only" in found


def test_verify_refuses_the_rule_for_a_map_that_was_changed_after_the_gradient(tmp_path) -> None:
    _, certificate = certified([50.0, 50.0], [0.01, 0.01], [0.0, 0.0], samples=64)
    certificate.save(tmp_path / "c.json")
    stored = json.loads((tmp_path / "c.json").read_text())
    stored["maps"] = stored["subject"]["maps"] = ["scaled"]
    (tmp_path / "c.json").write_text(json.dumps(resealed(stored)))
    assert verify(tmp_path / "c.json").problems == ["the curvature rule does not apply to this field"]
