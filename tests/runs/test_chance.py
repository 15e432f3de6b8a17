"""Chance level and fidelity: a warning must not be hidden by empty maps or by rounding."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from attribound.certification.certifier import certify
from attribound.cli.console import _warnings
from attribound.demo import photos
from attribound.fields import Saliency, Unit, default_maps
from attribound.noise import Gaussian
from attribound.rounding import lower_quantile, upper_quantile
from attribound.runs import Store
from attribound.runs.gate import Asked, judge
from attribound.runs.summary import chance_level, summarise


@dataclass
class Pictures:
    """What the chance level asks of a store."""

    maps: list[np.ndarray]

    def pictured(self) -> list[int]:
        return list(range(len(self.maps)))

    def pictures(self, item: int, kind: str) -> dict[str, np.ndarray]:
        return {kind: self.maps[item]}


def turned(*degrees: float) -> list[np.ndarray]:
    return [np.array([np.cos(angle), np.sin(angle)]) for angle in np.radians(degrees)]


def test_of_three_maps_the_largest_cosine_counts() -> None:
    """90 % of three cosines is more than two of them."""
    assert chance_level(Pictures(turned(0, 10, 60))) == pytest.approx(np.cos(np.radians(10)))


def test_empty_maps_are_left_out() -> None:
    empty = np.zeros(2)
    assert chance_level(Pictures([*turned(0, 10, 20), *[empty] * 9])) == chance_level(Pictures(turned(0, 10, 20)))
    assert chance_level(Pictures([*turned(0, 10), empty])) is None


@pytest.mark.parametrize("count", [1, 2, 3, 10, 11, 276])
def test_upper_quantile_is_never_below_the_lower(count: int) -> None:
    values = np.random.default_rng(count).random(count).tolist()
    upper = upper_quantile(values, 0.9)
    assert lower_quantile(values, 0.9) <= upper
    assert upper in values
    assert sum(value > upper for value in values) <= 0.1 * count


def test_an_empty_map_has_no_fidelity() -> None:
    """A model that is flat at the input and everywhere near it."""

    class Flat(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x - 100)

    assert certify(Unit(Saliency(Flat())), torch.zeros(2), 0, noise=Gaussian(0.1), samples=64).fidelity is None


def test_each_cosine_is_compared_with_fidelity_and_chance(make) -> None:
    with Store.read(make()) as store:
        found = replace(summarise(store), fidelity=0.855, chance=0.82)
    said = "\n".join(remark.text for remark in _warnings(found))
    assert "have cosines up to 0.82 with each other" in said
    assert "cosine with the plain map is 0.85 in the median" in said
    assert _warnings(replace(found, fidelity=0.9, chance=0.79)) == []


def test_the_gate_warns_of_low_fidelity(make) -> None:
    gate = replace(judge(make(), Asked(cosine=0.8, epsilon=0.01, share=0.5)), fidelity=0.4375)
    assert any("cosine with the plain map is 0.43 in the median" in one for one in gate.sentences)
    assert not any("plain map" in one for one in replace(gate, fidelity=0.81).sentences)


def test_the_demo_of_photographs_centres_as_the_command_line_does(tmp_path) -> None:
    config = photos(tmp_path / "weights", samples=16, alpha=0.1, seed=0)["photos"]
    assert config.maps == default_maps(config.attribution) == ("centred",)
