"""Everything that can stand after --model, and what may not."""

import hashlib
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from attribound.errors import ArgumentError, StoredDataError
from attribound.models import SmallCNN, code_hash, load_model, load_shipped
from attribound.training import fresh

IMAGES = torch.rand(3, 1, 28, 28, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    return fresh(SmallCNN, 1).eval()


def same(one, two) -> bool:
    return torch.allclose(one(IMAGES), two(IMAGES), atol=1e-6)


def test_shipped_name() -> None:
    assert same(load_model("mnist-cnn"), load_shipped("mnist-cnn"))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: state,
        lambda state: {"state_dict": state, "epoch": 3},
        lambda state: {"model": state, "optimizer": {"lr": 0.1}},
        lambda state: {"model": {"state_dict": state}},
        lambda state: {f"module.{name}": value for name, value in state.items()},
        lambda state: {"model_state_dict": {f"_orig_mod.module.{name}": value for name, value in state.items()}},
    ],
    ids=["bare", "state_dict", "model", "nested", "parallel", "compiled"],
)
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
    with pytest.raises(
        StoredDataError, match=r"does not hold weights of resnet20: it lacks .* and 106 more; it has the unknown layers"
    ):
        load_model(str(tmp_path / "m.safetensors"), "resnet20")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_needs_trust(model, tmp_path) -> None:
    torch.jit.trace(model, IMAGES).save(tmp_path / "m.pt")
    assert same(load_model(str(tmp_path / "m.pt"), trust=True), model)
    with pytest.raises(ArgumentError, match=r"m\.pt is a TorchScript program, .* add --trust-model if you trust it"):
        load_model(str(tmp_path / "m.pt"))


class Overwriting(torch.nn.Module):
    """A script that empties a file of the user's when it runs."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        memory = torch.from_file(self.path, True, 4)
        memory.fill_(0.0)
        return x + memory.sum()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["m.pt", "m.pth", "m.bin", "m.ckpt"])
@pytest.mark.parametrize(("architecture", "trust"), [(None, False), ("small-cnn", False), ("small-cnn", True)])
def test_a_hostile_script_does_not_run(architecture, trust, name, tmp_path) -> None:
    """It would overwrite a file; whoever names an architecture expects weights, so trust does not help it."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"sixteen bytes ok")
    torch.jit.script(Overwriting(str(precious))).save(str(tmp_path / name))
    with pytest.raises(ArgumentError, match=r"is a TorchScript program"):
        load_model(str(tmp_path / name), architecture, trust=trust)(IMAGES)
    assert precious.read_bytes() == b"sixteen bytes ok"
    load_model(str(tmp_path / name), trust=True)(IMAGES)
    assert precious.read_bytes() == bytes(16), "the script above is as hostile as it looks"


def test_exported_programs_need_trust(model, tmp_path) -> None:
    batch = torch.export.Dim.AUTO
    torch.export.save(torch.export.export(model, (IMAGES,), dynamic_shapes=({0: batch},)), tmp_path / "m.pt2")
    with pytest.raises(ArgumentError, match=r"torch unpickles parts .* add --trust-model if you trust it"):
        load_model(str(tmp_path / "m.pt2"))
    loaded = load_model(str(tmp_path / "m.pt2"), trust=True)
    assert same(loaded, model)
    assert not loaded.training
    with pytest.raises(ArgumentError, match=r"is an exported program, not weights of small-cnn"):
        load_model(str(tmp_path / "m.pt2"), "small-cnn", trust=True)


@pytest.mark.parametrize("rows", [1, 2])
def test_exported_programs_of_a_fixed_batch_take_any(rows, model, tmp_path) -> None:
    torch.export.save(torch.export.export(model, (IMAGES[:rows],)), tmp_path / "m.pt2")
    loaded = load_model(str(tmp_path / "m.pt2"), trust=True)
    assert same(loaded, model)
    points = IMAGES.clone().requires_grad_(True)
    gradient = torch.autograd.grad(loaded(points)[:, 3].sum(), points)[0]
    wanted = torch.autograd.grad(model(points)[:, 3].sum(), points)[0]
    assert torch.allclose(gradient, wanted, atol=1e-6)


class Hostile:
    """A pickle that would make a file."""

    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("name", ["m.pt", "m.pth", "m.bin", "m.ckpt", "m.safetensors"])
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
    with pytest.raises(ArgumentError, match="expected 'mine:text' to return a torch module or a function"):
        load_model("mine:text")
    with pytest.raises(ArgumentError, match="cannot load the model 'mine:other'"):
        load_model("mine:other")
    with pytest.raises(ArgumentError, match="cannot load the model 'nowhere:make'"):
        load_model("nowhere:make")
    with pytest.raises(ArgumentError, match="'mine:make' makes the whole model: leave --arch out"):
        load_model("mine:make", "small-cnn")


def test_own_weights_of_an_own_class(model, tmp_path, monkeypatch) -> None:
    (tmp_path / "own_net.py").write_text("from attribound.models import SmallCNN\nclass Net(SmallCNN):\n    pass\n")
    monkeypatch.chdir(tmp_path)
    save_file(model.state_dict(), tmp_path / "m.safetensors")
    assert same(load_model("m.safetensors", "own_net:Net"), model)
    assert code_hash("m.safetensors", "own_net:Net") == hashlib.sha256(Path("own_net.py").read_bytes()).hexdigest()
    assert code_hash("m.safetensors", "small-cnn") == ""
    with pytest.raises(ArgumentError, match="cannot load the architecture 'own_net:Other'"):
        load_model("m.safetensors", "own_net:Other")


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ([1, 2], "expected tensors by name, bare or under state_dict or model_state_dict or model, got list"),
        ({"model": {}, "epoch": 3}, "expected tensors by name, .* got dict"),
        ({"epoch": 3}, "expected tensors by name, .* got dict with epoch"),
        ({"fc.weight": torch.zeros(2)}, r"it lacks layers\.0\.bias and 7 more; it has the unknown fc\.weight"),
        (torch.zeros(2), "expected tensors by name"),
    ],
)
def test_checkpoints_that_hold_something_else(stored, message, tmp_path) -> None:
    torch.save(stored, tmp_path / "m.pt")
    with pytest.raises(StoredDataError, match=message):
        load_model(str(tmp_path / "m.pt"), "small-cnn")


def test_weights_that_unfold_are_refused(model, tmp_path, monkeypatch) -> None:
    """A zip file can be packed: what its members would take is added up first."""
    torch.save(model.state_dict(), tmp_path / "plain.pt")
    with zipfile.ZipFile(tmp_path / "plain.pt") as plain, zipfile.ZipFile(tmp_path / "m.pt", "w", 8) as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    monkeypatch.setenv("ATTRIBOUND_MAX_BYTES", "100000")
    with pytest.raises(StoredDataError, match=r"would take .* bytes of memory, expected at most 100,000"):
        load_model(str(tmp_path / "m.pt"), "small-cnn")


@pytest.mark.parametrize(
    "header",
    [
        (2**40).to_bytes(8, "little"),
        (2).to_bytes(8, "little") + b"{]",
        (62).to_bytes(8, "little") + b'{"a": {"dtype": "F32", "shape": [9999999999], "data_offsets": [0, 9]}}',
    ],
)
def test_safetensors_whose_header_lies(header, tmp_path) -> None:
    (tmp_path / "m.safetensors").write_bytes(header)
    with pytest.raises(StoredDataError, match=r"m\.safetensors does not hold weights of small-cnn: .*header"):
        load_model(str(tmp_path / "m.safetensors"), "small-cnn")


def test_unknown_specs(tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"expected --model a shipped name.*got 'vgg'"):
        load_model("vgg")
    with pytest.raises(StoredDataError, match="no such file"):
        load_model(str(tmp_path / "m.pt"))
    (tmp_path / "m.h5").write_bytes(b"")
    with pytest.raises(ArgumentError, match=r"expected a model file \(\.safetensors, \.pt, \.pth, \.bin, \.ckpt"):
        load_model(str(tmp_path / "m.h5"))
