"""Everything that can stand after --model, and what may not."""

import pickle

import pytest
import torch
from safetensors.torch import save_file

from attribound.errors import ArgumentError, StoredDataError
from attribound.models import SmallCNN, load_model, load_shipped
from attribound.training import fresh

IMAGES = torch.rand(3, 1, 28, 28, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    return fresh(SmallCNN, 1).eval()


def same(one, two) -> bool:
    return torch.allclose(one(IMAGES), two(IMAGES), atol=1e-6)


def test_shipped_name() -> None:
    assert same(load_model("mnist-cnn"), load_shipped("mnist-cnn"))


@pytest.mark.parametrize("wrap", [lambda state: state, lambda state: {"state_dict": state, "epoch": 3}])
def test_torch_files_of_plain_weights(wrap, model, tmp_path) -> None:
    torch.save(wrap(model.state_dict()), tmp_path / "m.pt")
    loaded = load_model(str(tmp_path / "m.pt"), "small-cnn")
    assert same(loaded, model)
    assert not loaded.training
    assert not any(p.requires_grad for p in loaded.parameters())


def test_safetensors(model, tmp_path) -> None:
    save_file(model.state_dict(), tmp_path / "m.safetensors")
    assert same(load_model(str(tmp_path / "m.safetensors"), "small-cnn"), model)
    with pytest.raises(ArgumentError, match="holds weights only: name their architecture with --arch"):
        load_model(str(tmp_path / "m.safetensors"))
    with pytest.raises(ArgumentError, match=r"expected an architecture \(small-cnn, .*got 'vgg'"):
        load_model(str(tmp_path / "m.safetensors"), "vgg")
    with pytest.raises(StoredDataError, match="does not hold weights of resnet20"):
        load_model(str(tmp_path / "m.safetensors"), "resnet20")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript(model, tmp_path) -> None:
    torch.jit.trace(model, IMAGES).save(tmp_path / "m.pt")
    assert same(load_model(str(tmp_path / "m.pt")), model)


def test_exported_programs_need_trust(model, tmp_path) -> None:
    batch = torch.export.Dim.AUTO
    torch.export.save(torch.export.export(model, (IMAGES,), dynamic_shapes=({0: batch},)), tmp_path / "m.pt2")
    with pytest.raises(ArgumentError, match=r"torch unpickles parts .* add --trust-model if you trust it"):
        load_model(str(tmp_path / "m.pt2"))
    loaded = load_model(str(tmp_path / "m.pt2"), trust=True)
    assert same(loaded, model)
    assert not loaded.training


class Hostile:
    """A pickle that would make a file."""

    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("name", ["m.pt", "m.pth", "m.safetensors"])
def test_a_hostile_file_runs_nothing(name, tmp_path) -> None:
    (tmp_path / name).write_bytes(pickle.dumps(Hostile(tmp_path / "ran")))
    with pytest.raises(StoredDataError, match=name):
        load_model(str(tmp_path / name), "small-cnn")
    assert not (tmp_path / "ran").exists()


def test_factories_are_the_users_own_code(model, tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.py").write_text(
        "from attribound.models import SmallCNN\ndef make():\n    return SmallCNN()\ndef text():\n    return 'x'\n"
    )
    monkeypatch.chdir(tmp_path)
    assert isinstance(load_model("mine:make"), SmallCNN)
    with pytest.raises(ArgumentError, match="expected 'mine:text' to return a torch module, got str"):
        load_model("mine:text")
    with pytest.raises(ArgumentError, match="cannot load the model 'mine:other'"):
        load_model("mine:other")
    with pytest.raises(ArgumentError, match="cannot load the model 'nowhere:make'"):
        load_model("nowhere:make")


def test_unknown_specs(tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"expected --model a shipped name.*got 'vgg'"):
        load_model("vgg")
    with pytest.raises(StoredDataError, match="no such file"):
        load_model(str(tmp_path / "m.pt"))
    (tmp_path / "m.onnx").write_bytes(b"")
    with pytest.raises(ArgumentError, match=r"expected a model file \(\.safetensors, \.pt, \.pth\)"):
        load_model(str(tmp_path / "m.onnx"))
