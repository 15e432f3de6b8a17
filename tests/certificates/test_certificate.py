"""What a certificate answers, and in which words."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from attribound.certificates.certificate import Certificate
from attribound.certification.certifier import certify
from attribound.errors import ArgumentError, StoredDataError
from attribound.fields import Assumed, Proved, Saliency, Unit
from attribound.noise import Gaussian
from tests.problems import AbsFirst, Linear


def test_contract(certificate) -> None:
    assert certificate.status == "certified"
    assert certificate.rule in certificate.evidence.cosines(0.1)
    assert certificate.limit_source.startswith("by construction")
    assert (certificate.samples, certificate.alpha, certificate.seed, certificate.limit) == (1024, 1e-3, 7, 1.0)
    assert certificate.attribution.shape == (1, 28, 28)
    assert certificate.norm_lower < certificate.norm
    assert certificate.target == certificate.prediction == 7
    assert (certificate.noise, certificate.dim, certificate.item) == ("gaussian:0.5", 784, 0)


def test_answers_agree_with_each_other(certificate) -> None:
    epsilon = certificate.max_epsilon(0.8)
    assert epsilon > 0.4
    assert certificate.cosine(epsilon) >= 0.8 > certificate.cosine(epsilon * 1.001)
    assert certificate.cosine(0.0) == pytest.approx(1.0, abs=1e-6)
    assert certificate.cosine(50.0) == -1.0
    assert certificate.max_epsilon(1.0) == 0.0
    # A sampled map differs from the exact one, so what is visible is certified for less.
    assert 0 < certificate.visible_cosine(0.1) < certificate.cosine(0.1)
    assert certificate.visible_cosine(0.1, samples=100_000) > certificate.visible_cosine(0.1)


def test_the_largest_visible_epsilon_is_the_last_one(certificate) -> None:
    epsilon = certificate.max_visible_epsilon(0.8)
    assert 0 < epsilon < certificate.max_epsilon(0.8)
    assert certificate.visible_cosine(epsilon) >= 0.8 > certificate.visible_cosine(epsilon * 1.001)
    assert certificate.max_visible_epsilon(1.0) == 0.0
    with pytest.raises(ArgumentError, match=r"expected `cosine` in \[0, 1\], got 1.5"):
        certificate.max_visible_epsilon(1.5)


def test_cosines_fall_with_epsilon(certificate) -> None:
    for answer in (certificate.cosine, certificate.visible_cosine):
        values = [answer(e) for e in np.linspace(0, 1.5, 60)]
        assert all(a >= b - 1e-12 for a, b in pairwise(values))


def test_top_k_and_signs(certificate) -> None:
    overlaps = [certificate.top_k(100, e) for e in (0.0, 0.05, 0.2, 0.5)]
    assert overlaps == sorted(overlaps, reverse=True)
    assert overlaps[0] > 20
    assert certificate.signs(0.0).sum() > certificate.signs(0.1).sum()
    assert certificate.signs(0.1).shape == (1, 28, 28)


def test_explanations_say_what_would_help(certificate) -> None:
    assert "certified: cosine >= 0.9" in certificate.explain(0.8, 0.1)
    text = certificate.explain(0.8, 1.2)
    needed = 0.5 * 1.2 / certificate.max_epsilon(0.8)
    assert f"sigma >= {needed:.3g} would do if the norm stayed" in text


def test_nothing_certified_has_a_reason() -> None:
    x = torch.zeros(2, dtype=torch.float64)  # sign(y_1) averages to zero here
    empty = certify(Unit(Saliency(AbsFirst())), x, 0, noise=Gaussian(1.0), samples=501)
    assert (empty.status, empty.rule, empty.max_epsilon(0.8), empty.cosine(0.1)) == ("uncertified", None, 0.0, -1.0)
    assert "cannot be told from 0 after 501 samples; about" in empty.reason


def test_a_model_that_ignores_its_input_is_uncertified_and_can_be_stored(tmp_path) -> None:
    blind = certify(Unit(Saliency(Linear(torch.zeros(2)))), torch.zeros(2), 0, noise=Gaussian(1.0))
    assert "every attribution drawn is zero, or they cancel" in blind.reason
    blind.save(tmp_path / "blind.json")
    assert Certificate.load(tmp_path / "blind.json").status == "uncertified"


def test_assumed_limits_are_marked_everywhere(tmp_path) -> None:
    field = Assumed(Saliency(Linear(torch.tensor([3.0, 4.0]))), 5.0)
    marked = certify(field, torch.zeros(2), 0, noise=Gaussian(1.0), samples=500)
    assert marked.status == "assumed"
    assert "ASSUMED" in repr(marked)
    assert "ASSUMED" in marked._repr_html_()
    assert "ASSUMED" in marked.limit_source
    assert "not a certificate" in marked.explain(0.5, 0.01)
    marked.save(tmp_path / "a.json")
    assert Certificate.load(tmp_path / "a.json").status == "assumed"


def test_nothing_vacuous_or_assumed_is_offered(certificate) -> None:
    assert "accept cosine" not in certificate.explain(0.8, 5.0)
    assert "accept cosine" in certificate.explain(0.99, certificate.max_epsilon(0.9))
    field = Assumed(Saliency(Linear(torch.tensor([3.0, 4.0]))), 6.0)
    marked = certify(field, torch.zeros(2), 0, noise=Gaussian(0.5), samples=500)
    text = marked.explain(0.99, 2 * marked.max_epsilon(0.99))
    assert "ASSUMED limit (not a certificate)" in text


@pytest.mark.parametrize(
    ("output", "continuous", "expected"),
    [("probability", True, True), ("probability", False, False), ("logit", True, False)],
)
def test_curvature_rule_must_be_asked_for(output, continuous, expected) -> None:
    base = Saliency(Linear(torch.tensor([3.0, 4.0], dtype=torch.float64)), output=output, continuous=continuous)
    field = Proved(base, 5.0, reason="||w|| = 5 and a sigmoid's slope is <= 1/4")
    certificate = certify(field, torch.zeros(2, dtype=torch.float64), 0, noise=Gaussian(2.0), samples=2000)
    assert ("curvature" in certificate.evidence.cosines(0.1)) is expected


def test_a_saw_tooth_is_not_certified_by_the_curvature_rule() -> None:
    """Rounding hides jumps from autograd: the mean gradient is not the gradient of the mean. True cosine: -1."""

    class SawTooth(nn.Module):
        def forward(self, y):
            size = y[:, 0].abs()
            score = 1e3 * (size - (size * 1e3).round() / 1e3)
            return torch.stack([score, score * 0], dim=1)

    field = Proved(Saliency(SawTooth(), output="probability"), 250.0, reason="1000 times a sigmoid's slope 1/4")
    x = torch.tensor([-0.05, 0.0], dtype=torch.float64)
    assert certify(field, x, 0, noise=Gaussian(1.0), samples=4096).cosine(0.1) == -1.0


def test_rounding_at_a_claimed_limit_is_cut_off() -> None:
    field = Proved(Saliency(Linear(torch.tensor([3.0, 4.0]))), 5.0 * (1 - 1e-6), reason="rounded")
    certificate = certify(field, torch.zeros(2), 0, noise=Gaussian(1.0), samples=500)
    assert certificate.norm == pytest.approx(certificate.limit, rel=1e-12)


def test_fidelity_is_the_cosine_of_smoothed_and_plain_map() -> None:
    """A linear model's map is the same everywhere; |y_1| to the left of its kink has a plain map of its own sign."""
    linear = certify(Unit(Saliency(Linear(torch.tensor([3.0, 4.0])))), torch.zeros(2), 0, noise=Gaussian(1.0))
    assert linear.fidelity == pytest.approx(1.0)
    x = torch.tensor([-0.5, 0.0], dtype=torch.float64)
    assert certify(Unit(Saliency(AbsFirst())), x, 0, noise=Gaussian(0.5), samples=500).fidelity == pytest.approx(1.0)


@pytest.mark.parametrize("question", [lambda c: c.cosine(-0.1), lambda c: c.top_k(5, -0.1), lambda c: c.signs(-0.1)])
def test_negative_epsilon(question, certificate) -> None:
    with pytest.raises(ArgumentError, match=r"expected `epsilon` >= 0, got -0\.1"):
        question(certificate)


def test_bad_k_and_cosine(certificate) -> None:
    with pytest.raises(ArgumentError, match=r"expected `k` in 1\.\.784, got 1000"):
        certificate.top_k(1000, 0.1)
    with pytest.raises(ArgumentError, match=r"expected `cosine` in \[0, 1\], got 1.5"):
        certificate.max_epsilon(1.5)
    with pytest.raises(ArgumentError, match="expected `samples` to be a whole number >= 1, got 0"):
        certificate.visible_cosine(0.1, samples=0)


@pytest.mark.parametrize("question", [lambda c: c.signs(0.0), lambda c: c.top_k(3, 0.0), lambda c: c.attribution])
def test_questions_about_a_map_that_was_not_stored_are_refused(question, certificate) -> None:
    """Version 0.1 answered with a map of zeros: every sign lost, any features on top."""
    bare = Certificate(certificate.record)
    assert bare.cosine(0.1) == certificate.cosine(0.1)
    with pytest.raises(StoredDataError, match="stored without its map, so nothing can be said about features"):
        question(bare)
