"""A model whose output is NaN has no class: nothing is certified for it, however finite its map is."""

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from attribound.certification.arguments import look_at
from attribound.certification.certifier import certify
from attribound.errors import NonFiniteError, StoredDataError
from attribound.fields import Saliency, Unit
from attribound.models import load_model, make_model
from attribound.noise import Gaussian


class Spoilt(nn.Module):
    """A linear model whose second logit is `value` where the first feature is above `from_`: its slope stays finite."""

    def __init__(self, value: float, from_: float) -> None:
        super().__init__()
        self.value, self.from_ = value, from_

    def forward(self, x):
        spoilt = torch.where(x[:, 0] > self.from_, self.value, 0.0).detach()
        return torch.stack([x.sum(dim=1), x[:, 1] + spoilt], dim=1)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("from_", [-100.0, 0.5])
def test_is_refused_at_the_input_and_under_noise(value: float, from_: float) -> None:
    with pytest.raises(NonFiniteError, match="output is NaN or infinite"):
        certify(Unit(Saliency(Spoilt(value, from_))), torch.zeros(2), 0, noise=Gaussian(1.0), samples=64)


def test_a_model_may_be_nan_where_there_are_no_data() -> None:
    """Runs look at an input of zeros, for the number of classes only."""
    peek = look_at(Spoilt(float("nan"), -1.0), torch.zeros(2))
    assert peek.classes == 2
    with pytest.raises(NonFiniteError):
        peek.prediction  # noqa: B018


def test_a_class_that_is_ruled_out_is_none() -> None:
    ruled_out = Spoilt(-float("inf"), -100.0)
    assert certify(Unit(Saliency(ruled_out)), torch.zeros(2), 0, noise=Gaussian(1.0), samples=64).record.prediction == 0


@pytest.mark.parametrize(
    ("change", "said"), [(lambda w: w.fill_(float("nan")), "is NaN or infinite"), (lambda w: w.to(torch.int8), "int8")]
)
def test_weights_that_are_no_numbers(tmp_path, change, said) -> None:
    state = {name: value.clone() for name, value in make_model("small-cnn").state_dict().items()}
    name = next(iter(state))
    state[name] = change(state[name])
    save_file(state, tmp_path / "weights.safetensors")
    with pytest.raises(StoredDataError, match=f"{name}.*{said}"):
        load_model(str(tmp_path / "weights.safetensors"), "small-cnn")
