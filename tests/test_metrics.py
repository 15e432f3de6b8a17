"""Metrics: against naive or library references, and what is defined where they are not."""

import time

import numpy as np
import pytest
import torch
from scipy import stats

from attribound.errors import ArgumentError
from attribound.metrics import cosine_similarity, grid_pointing_game, kendall, make_grid, top_k_intersection


def maps(count: int = 6, dim: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(count, dim, generator=generator), torch.randn(count, dim, generator=generator)


def test_cosine_matches_a_loop() -> None:
    a, b = maps()
    naive = [
        float(np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y))) for x, y in zip(a.numpy(), b.numpy(), strict=True)
    ]
    assert cosine_similarity(a, b).tolist() == pytest.approx(naive, abs=1e-6)


def test_kendall_is_scipys_tau_b_also_with_ties() -> None:
    a, b = maps()
    a, b = (a * 2).round(), (b * 2).round()
    expected = [stats.kendalltau(x, y).statistic for x, y in zip(a.numpy(), b.numpy(), strict=True)]
    assert kendall(a, b).tolist() == pytest.approx(expected, abs=1e-12)


def test_kendall_by_counting_pairs() -> None:
    a, b = maps(1, 25)
    i, j = np.triu_indices(25, 1)
    x, y = a[0].double().numpy(), b[0].double().numpy()
    agree = np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
    assert float(kendall(a, b)) == pytest.approx(float(agree.mean()), abs=1e-12)


def test_kendall_is_fast_on_large_images() -> None:
    a, b = maps(1, 150_528)
    started = time.perf_counter()
    value = float(kendall(a, b))
    assert time.perf_counter() - started < 5.0
    assert abs(value) < 0.01


def test_top_k_matches_sets() -> None:
    a, b = maps()
    for k in (1, 7, 40):
        sets = [
            len(set(np.argsort(-x)[:k]) & set(np.argsort(-y)[:k])) / k
            for x, y in zip(a.numpy(), b.numpy(), strict=True)
        ]
        assert top_k_intersection(a, b, k).tolist() == pytest.approx(sets)


def test_top_k_ties_go_to_the_lower_index() -> None:
    tied = torch.tensor([[1.0, 1.0, 1.0, 0.0]])
    assert float(top_k_intersection(tied, torch.tensor([[3.0, 2.0, 1.0, 0.0]]), 2)) == 1.0
    assert float(top_k_intersection(tied, torch.tensor([[0.0, 1.0, 2.0, 3.0]]), 2)) == 0.0


def test_maps_without_information_have_a_defined_result() -> None:
    zero, one, ramp = torch.zeros(1, 5), torch.ones(1, 5), torch.arange(5.0)[None]
    assert float(cosine_similarity(zero, zero)) == 1.0
    assert float(cosine_similarity(zero, ramp)) == 0.0
    assert float(kendall(one, zero)) == 1.0
    assert float(kendall(one, ramp)) == 0.0
    assert float(top_k_intersection(zero, one, 3)) == 1.0


def test_images_are_compared_flat() -> None:
    a, b = maps(2, 48)
    square = (2, 3, 4, 4)
    assert torch.equal(cosine_similarity(a.view(square), b.view(square)), cosine_similarity(a, b))


def test_grid_and_pointing_game() -> None:
    images = torch.arange(4.0)[:, None, None, None].expand(4, 1, 2, 3)
    grid = make_grid(images)
    assert grid.shape == (1, 4, 6)
    assert grid[0, 0].tolist() == [0, 0, 0, 1, 1, 1]
    assert grid[0, 3].tolist() == [2, 2, 2, 3, 3, 3]
    # Cell k holds the value k everywhere: its share of all positive attribution is k / 6.
    assert [grid_pointing_game(grid, cell, 2) for cell in range(4)] == pytest.approx([0, 1 / 6, 2 / 6, 3 / 6])
    assert grid_pointing_game(grid - 2.5, 3, 2) == 1.0
    assert grid_pointing_game(-grid, 3, 2) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: top_k_intersection(*maps(), 41), r"expected `k` in 1\.\.40, got 41"),
        (lambda: cosine_similarity(torch.zeros(2, 3), torch.zeros(2, 4)), "expected two batches of maps of one shape"),
        (lambda: make_grid(torch.zeros(3, 1, 2, 2)), r"expected n\^2 images"),
        (lambda: grid_pointing_game(torch.zeros(5, 4), 0, 2), "splits into 2 x 2 cells"),
        (lambda: grid_pointing_game(torch.zeros(4, 4), 4, 2), r"expected `cell` in 0\.\.3, got 4"),
    ],
)
def test_bad_arguments(call, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
