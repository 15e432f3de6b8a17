"""Fingerprints of inputs and weights."""

import torch
from torch import nn

from attribound.hashes import input_hash, model_hash


def test_an_input_is_known_by_its_values() -> None:
    x = torch.rand(2, 3, generator=torch.Generator().manual_seed(0))
    assert input_hash(x) == input_hash(x.clone()) == input_hash(x.double())
    assert input_hash(x) != input_hash(x + 1e-6)
    assert input_hash(x.T) == input_hash(x.T.contiguous()) != input_hash(x)
    assert len(input_hash(x)) == 64


def test_inputs_that_agree_in_float32_only_are_told_apart() -> None:
    """They shared a hash, and with it their draws."""
    x = torch.tensor([1.0, torch.nan], dtype=torch.float64)
    assert input_hash(x) == input_hash(x.float())
    assert input_hash(x + 1e-12) != input_hash(x)
    assert input_hash(x + 1e-12) != input_hash(x + 2e-12)
    assert input_hash(x * 1e60) != input_hash(x * 1e61)


def test_a_model_is_known_by_its_named_weights() -> None:
    one, two = nn.Linear(3, 2), nn.Linear(3, 2)
    assert model_hash(one) == model_hash(one)
    assert model_hash(one) != model_hash(two)
    two.load_state_dict(one.state_dict())
    assert model_hash(one) == model_hash(two)
    assert model_hash(nn.Sequential(one)) != model_hash(one)
    two.bias.data[0] += 1e-6
    assert model_hash(one) != model_hash(two)
    assert model_hash(lambda y: y) == ""


def test_buffers_and_other_precisions_count() -> None:
    model = nn.BatchNorm1d(4)
    before = model_hash(model)
    model.running_mean += 1
    assert model_hash(model) != before
    assert model_hash(nn.Linear(3, 2).to(torch.bfloat16))
