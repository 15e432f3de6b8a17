"""Objectives: hand-computed values on a two-pixel model, gradients against finite differences, what the attacks do."""

import math

import pytest
import torch
from torch import nn

from attribound.noise import Gaussian
from attribound.training import Adversarial, Consistency, IgNorm, Igr, OneSided, Standard, Trades, WithNoise, fresh
from attribound.training.attributions import angle_loss, integrated_gradients, summed_entropy, true_logit
from attribound.training.perturbation import worst_in_ball

W = [[1.0, -2.0], [0.5, 3.0]]
X, ATTACKED, LABEL = [0.3, 0.7], [0.9, 0.1], 1


class TwoPixels(nn.Module):
    """Logits W y: everything can be computed by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(W, dtype=torch.float64))

    def forward(self, y):
        return y @ self.weights.T


def tensors() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        torch.tensor([X], dtype=torch.float64),
        torch.tensor([ATTACKED], dtype=torch.float64),
        torch.tensor([LABEL]),
    )


def probabilities(point: list[float]) -> list[float]:
    logits = [sum(w * y for w, y in zip(row, point, strict=True)) for row in W]
    total = sum(math.exp(value) for value in logits)
    return [math.exp(value) / total for value in logits]


def entropy(point: list[float]) -> float:
    return -math.log(probabilities(point)[LABEL])


def kl() -> float:
    return sum(p * math.log(p / q) for p, q in zip(probabilities(X), probabilities(ATTACKED), strict=True))


def test_standard() -> None:
    x, _, y = tensors()
    assert float(Standard().loss(TwoPixels(), x, y, torch.Generator()).detach()) == pytest.approx(entropy(X))


@pytest.mark.parametrize("printed", [False, True])
def test_trades(printed: bool) -> None:
    x, attacked, y = tensors()
    value = Trades(beta=2.5, attacked_cross_entropy=printed).terms(TwoPixels(), x, attacked, y)
    assert float(value.detach()) == pytest.approx(entropy(ATTACKED if printed else X) + 2.5 * kl())


def test_ig_norm() -> None:
    """One point on the path: the middle, where the loss has gradient W^T (p - onehot)."""
    x, attacked, y = tensors()
    middle = [(a + b) / 2 for a, b in zip(X, ATTACKED, strict=True)]
    errors = [p - (k == LABEL) for k, p in enumerate(probabilities(middle))]
    slopes = [sum(W[k][i] * errors[k] for k in range(2)) for i in range(2)]
    size = sum(abs((ATTACKED[i] - X[i]) * slopes[i]) for i in range(2))
    value = IgNorm(weight=0.7, path_steps=1).terms(TwoPixels(), x, attacked, y)
    assert float(value.detach()) == pytest.approx(entropy(X) + 0.7 * size)


def test_igr() -> None:
    """A linear logit's integrated gradients from black are input x weight, whatever the path."""
    x, attacked, y = tensors()
    one, two = ([a * w for a, w in zip(point, W[LABEL], strict=True)] for point in (X, ATTACKED))
    cosine = sum(a * b for a, b in zip(one, two, strict=True)) / (math.hypot(*one) * math.hypot(*two))
    value = Igr(trades=Trades(beta=2.5), weight=3.0, path_steps=2).terms(TwoPixels(), x, attacked, y)
    assert float(value.detach()) == pytest.approx(entropy(X) + 2.5 * kl() + 3.0 * (1 - cosine))


def test_consistency_of_a_linear_model_is_cross_entropy_under_noise() -> None:
    """Its gradient never changes, so the second term vanishes and beta does not matter."""
    x, _, y = tensors()
    values = [
        float(Consistency(Gaussian(0.4), beta).loss(TwoPixels(), x, y, torch.Generator().manual_seed(3)).detach())
        for beta in (0.0, 50.0)
    ]
    generator = torch.Generator().manual_seed(3)
    draws = [Gaussian(0.4).draw(1, x[0], generator)[0].tolist() for _ in range(2)]
    expected = sum(entropy([X[0] + d[0], X[1] + d[1]]) for d in draws) / 2
    assert values == pytest.approx([expected, expected])


def test_consistency_estimates_one_minus_kappa_squared() -> None:
    """|y_1|: the normalised gradient is +-e_1, kappa = erf(x_1 / (sigma sqrt 2))."""

    class Sign(nn.Module):
        def forward(self, y):
            return torch.stack([y[:, 0].abs(), y[:, 1] * 0], dim=1)

    x = torch.tensor([[0.3, 0.0]], dtype=torch.float64).expand(20_000, 2)
    objective, labels = Consistency(Gaussian(0.5), beta=1.0), torch.zeros(20_000, dtype=torch.long)
    with_angle = objective.loss(Sign(), x, labels, torch.Generator().manual_seed(1))
    without = Consistency(Gaussian(0.5), beta=0.0).loss(Sign(), x, labels, torch.Generator().manual_seed(1))
    kappa = math.erf(0.3 / (0.5 * math.sqrt(2)))
    # 20,000 values in [0, 2]: standard error below 0.0071; five of them.
    assert float((with_angle - without).detach()) == pytest.approx(1 - kappa**2, abs=0.036)


def test_one_sided_consistency_has_the_same_mean_slope() -> None:
    """Means over 40,000 pairs of draws agree to a few percent; counting one slope once instead of twice would not."""
    x, labels = torch.tensor([[0.3, -0.2]]).repeat(40_000, 1), torch.zeros(40_000, dtype=torch.long)
    slopes = []
    for objective in (Consistency(Gaussian(0.5), beta=5.0), OneSided(Gaussian(0.5), beta=5.0)):
        model = fresh(lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)), 0)
        loss = objective.loss(model, x, labels, torch.Generator().manual_seed(1))
        loss.backward()
        slopes.append((float(loss.detach()), model[0].weight.grad.flatten()))
    (value, slope), (other_value, other_slope) = slopes
    assert other_value == pytest.approx(value, rel=0.03)
    assert float((other_slope - slope).norm()) < 0.1 * float(slope.norm())


def test_with_noise_adds_noise_first() -> None:
    x, _, y = tensors()
    value = WithNoise(Standard(), Gaussian(0.4)).loss(TwoPixels(), x, y, torch.Generator().manual_seed(5))
    draw = Gaussian(0.4).draw(1, x[0], torch.Generator().manual_seed(5))[0].tolist()
    assert float(value.detach()) == pytest.approx(entropy([X[0] + draw[0], X[1] + draw[1]]))


def test_attacks_stay_in_the_ball_and_do_harm() -> None:
    x, _, _ = tensors()
    many = x.expand(6, 2)
    worst = worst_in_ball(
        many, lambda p: p[:, 0].sum(), epsilon=0.5, steps=20, step_size=0.2, generator=torch.Generator().manual_seed(0)
    )
    assert ((worst - many).norm(dim=1) <= 0.5 + 1e-9).all()
    assert torch.allclose(worst[:, 0] - many[:, 0], torch.full((6,), 0.5, dtype=torch.float64), atol=1e-2)


def test_adversarial_loss_exceeds_the_clean_one() -> None:
    x, _, y = tensors()
    attacked = Adversarial(epsilon=0.5).loss(TwoPixels(), x, y, torch.Generator().manual_seed(0))
    # The worst point of a linear model lies epsilon along W_other - W_label.
    away = [W[0][i] - W[1][i] for i in range(2)]
    worst = [X[i] + 0.5 * away[i] / math.hypot(*away) for i in range(2)]
    assert float(attacked.detach()) == pytest.approx(entropy(worst), rel=1e-3)


def test_one_sided_igr_has_the_value_and_twice_the_slope_of_the_attacked_side() -> None:
    """Against angles taken by hand, with the map of the clean input fixed."""
    model, generator = small_net(), torch.Generator().manual_seed(1)
    x = torch.randn(4, 5, dtype=torch.float64, generator=generator)
    attacked, y = x + 0.3 * torch.randn(4, 5, dtype=torch.float64, generator=generator), torch.tensor([0, 1, 2, 1])
    both, one = (Igr(path_steps=3, one_sided=sided).turn(model, x, attacked, y) for sided in (False, True))
    assert float(one.detach()) == pytest.approx(float(both.detach()))
    score = true_logit(model, y)
    fixed, after = (integrated_gradients(score, torch.zeros_like(x), points, 3) for points in (x, attacked))
    weights = model[0].weight
    expected = torch.autograd.grad(angle_loss(fixed.detach(), after), weights)[0]
    assert torch.allclose(torch.autograd.grad(one, weights)[0], 2 * expected)


def test_the_entropy_attack_of_ig_norm_raises_what_bounds_the_norm() -> None:
    """Integrated gradients sum to the rise of the loss, so the l1 norm is at least that."""
    model, generator = small_net(), torch.Generator().manual_seed(1)
    x, y = torch.randn(4, 5, dtype=torch.float64, generator=generator), torch.tensor([0, 1, 2, 1])
    objective = IgNorm(epsilon=0.5, path_steps=200, entropy_attack=True)
    attacked = objective.attack(model, x, y, generator)
    rise = (summed_entropy(model, y)(attacked) - summed_entropy(model, y)(x)) / 4
    assert float(rise.detach()) > 0.05
    assert float(objective.size(model, x, attacked, y).detach()) >= float(rise.detach())


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Softplus(), nn.Linear(7, 3)).double()


@pytest.mark.parametrize(
    "objective",
    [IgNorm(weight=0.8, path_steps=3), Igr(weight=1.5, path_steps=3), Trades(beta=2.0)],
    ids=["ig_norm", "igr", "trades"],
)
def test_weight_gradients_match_finite_differences(objective) -> None:
    model, generator = small_net(), torch.Generator().manual_seed(1)
    x = torch.randn(4, 5, dtype=torch.float64, generator=generator)
    attacked, y = x + 0.3 * torch.randn(4, 5, dtype=torch.float64, generator=generator), torch.tensor([0, 1, 2, 1])
    value = objective.terms(model, x, attacked, y)
    slopes = torch.autograd.grad(value, list(model.parameters()))
    for parameter, slope in zip(model.parameters(), slopes, strict=True):
        for index in range(0, parameter.numel(), 5):
            ends = []
            for step in (1e-5, -1e-5):
                with torch.no_grad():
                    parameter.view(-1)[index] += step
                ends.append(float(objective.terms(model, x, attacked, y).detach()))
                with torch.no_grad():
                    parameter.view(-1)[index] -= step
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(float(slope.view(-1)[index]), abs=2e-6)


@pytest.mark.parametrize("objective", [Adversarial(), Trades(), IgNorm(), Igr(), Consistency(Gaussian(0.3))])
def test_losses_are_reproducible_and_reach_all_weights(objective) -> None:
    model = small_net()
    x, y = torch.randn(6, 5, dtype=torch.float64), torch.randint(3, (6,))
    values = [objective.loss(model, x, y, torch.Generator().manual_seed(2)) for _ in range(2)]
    assert torch.equal(*values)
    assert all(bool(g.abs().sum() > 0) for g in torch.autograd.grad(values[0], list(model.parameters())))


def test_angle_loss() -> None:
    one, two = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.0, 2.0], [3.0, 3.0]])
    assert float(angle_loss(one, two)) == pytest.approx(0.5)
