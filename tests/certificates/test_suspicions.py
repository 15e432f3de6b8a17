"""What is probably not meant is refused or said: probabilities as logits, pixels up to 255, columns, labels."""

import json

import pytest
import torch
from torch import nn

import attribound as ab
from attribound import cli
from attribound.data import Arrays, labels_beyond, open_data
from attribound.errors import ArgumentError, AttriboundWarning, FieldError, StoredDataError
from attribound.models import FromProbabilities, SmallCNN
from attribound.runs.config import RunConfig
from attribound.runs.runner import prepare
from attribound.training import Schedule, make_objective, train

NOISE = ab.Gaussian(0.3)
X = torch.rand(4, generator=torch.Generator().manual_seed(0))


def linear(outputs: int, last: nn.Module, features: int = 4) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(features, outputs), last).eval()


def certify(model: nn.Module, output: str = "logit", target: int | None = None, x: torch.Tensor = X) -> ab.Certificate:
    return ab.certify(ab.Unit(ab.Saliency(model, output)), x, target, noise=NOISE, samples=16)


@pytest.mark.parametrize("output", ["logit", "probability"])
@pytest.mark.parametrize("target", [None, 1])
def test_rows_of_probabilities_are_no_logits(output, target) -> None:
    softmax = linear(3, nn.Softmax(dim=1))
    with pytest.raises(FieldError, match=r"got rows of probabilities that sum to 1: .*FromProbabilities\(model\)"):
        certify(softmax, output, target)
    certify(FromProbabilities(softmax), output, target)
    certify(linear(3, nn.LogSoftmax(dim=1)), output, target)
    certify(linear(3, nn.Identity()), output, target)


def test_a_sigmoids_output_is_no_logit() -> None:
    sigmoid = linear(1, nn.Sigmoid())
    for output, target in (("logit", None), ("probability", None), ("probability", 1)):
        with pytest.raises(FieldError, match=r"one number in .* every input would be a yes; .* with target=1"):
            certify(sigmoid, output, target)
    certify(sigmoid, "logit", 1)  # regression: the number itself
    certify(FromProbabilities(sigmoid))
    certify(linear(1, nn.Identity()))


def test_probabilities_of_several_labels_have_no_softmax() -> None:
    several = linear(3, nn.Sigmoid())
    with pytest.raises(FieldError, match=r"numbers in \[0, 1\] everywhere, whose softmax would be explained"):
        certify(several, "probability")
    certify(several, "logit")


def test_small_logits_are_logits() -> None:
    """Near the input all logits lie in [0, 1]; far away they do not."""
    model = linear(1, nn.Identity())
    model[1].weight.data *= 0.01
    model[1].bias.data[:] = 0.5
    assert 0 < float(model(X[None]).detach()) < 1
    certify(model)


def test_pixels_up_to_255() -> None:
    picture = (torch.rand(1, 28, 28, generator=torch.Generator().manual_seed(1)) * 255).round()
    with pytest.raises(
        ArgumentError, match=r"expected pixels in \[0, 1\], as the model takes them, got .*divide by 255"
    ):
        certify(SmallCNN().eval(), x=picture)
    own = linear(3, nn.Identity(), 784)
    with pytest.warns(AttriboundWarning, match="pixels from 1 to 255: noise and epsilon count these units"):
        certify(own, x=picture)
    certify(own, x=picture / 255)  # warnings are errors here
    certify(own, x=picture - 128)


def test_a_run_says_the_same_before_it_begins(tmp_path, monkeypatch) -> None:
    import numpy as np

    pictures = np.random.default_rng(0).integers(0, 256, (3, 28, 28)).astype(np.float32)
    np.savez(tmp_path / "a.npz", x=pictures[:, None], y=[1, 2, 10])
    (tmp_path / "own_nets.py").write_text(
        "import torch\nfrom torch import nn\n"
        "def plain():\n    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))\n"
        "def softmax():\n    return nn.Sequential(plain(), nn.Softmax(dim=1))\n"
    )
    monkeypatch.chdir(tmp_path)
    config = RunConfig(model="own_nets:plain", data="npz:a.npz?range=any", samples=16)
    said: list[str] = []
    _, job = prepare(config, say=said.append)
    assert any("pixels from 0 to 255: noise and epsilon count these units" in line for line in said)
    assert any(
        "item 2 of npz:a.npz has the label 10, the model the classes 0..9 (do the labels begin at 1?): labels and "
        "accuracy are unknown" in line
        for line in said
    )
    assert job.open().data.label(0) is None
    with pytest.raises(ArgumentError, match="divide by 255"):
        prepare(RunConfig(model="mnist-cnn", data="npz:a.npz?range=any"))
    with pytest.raises(FieldError, match="rows of probabilities that sum to 1"):
        prepare(RunConfig(model="own_nets:softmax", data="mnist-sample"))
    assert cli.run(["tune", "--model", "own_nets:plain", "--data", "npz:a.npz?range=any"]) == 2


def test_labels_beyond_the_classes_stop_a_training(tmp_path) -> None:
    data = Arrays(torch.rand(4, 1, 28, 28), torch.tensor([1, 2, 10, 3]), "four")
    assert labels_beyond(data, 11) == ""
    with pytest.raises(
        ArgumentError, match=r"item 2 of four has the label 10, the model the classes 0\.\.9 \(do the lab"
    ):
        train(
            SmallCNN(),
            "small-cnn",
            data,
            data,
            make_objective("standard", None),
            Schedule(epochs=1),
            tmp_path / "a.safetensors",
        )


def table(path, text: str) -> str:
    path.write_text(text)
    return f"csv:{path}"


def test_columns_in_another_order_than_in_training(tmp_path) -> None:
    learnt, order = tmp_path / "train.csv", "expected the columns in the order of .*train.csv, got 'b' where it has 'a'"
    table(learnt, "a,b,y\n1,2,0\n3,5,1\n")
    spec = table(tmp_path / "test.csv", "b,a,y\n20,10,1\n")
    for option in ("scale", "standardise"):
        with pytest.raises(StoredDataError, match=rf"{order}.*type its order, \?columns=a,b"):
            open_data(f"{spec}?label=y&{option}={learnt}")
        data = open_data(f"{spec}?label=y&columns=a,b&{option}={learnt}")
        assert data.features == ("a", "b")
    assert open_data(f"{spec}?columns=a,b").input(0).tolist() == [10.0, 20.0]
    with pytest.raises(StoredDataError, match="has no column 'c'"):
        open_data(f"{spec}?columns=a,c")
    with pytest.raises(ArgumentError, match=r"expected \?drop= or \?columns=, not both"):
        open_data(f"{spec}?columns=a&drop=b")


def test_columns_that_the_model_states(tmp_path, monkeypatch) -> None:
    (tmp_path / "own_table.py").write_text(
        "from torch import nn\ndef make():\n    model = nn.Linear(2, 3)\n    model.feature_names = ['a', 'b']\n"
        "    return model\ndef bare():\n    return nn.Linear(2, 3)\n"
    )
    monkeypatch.chdir(tmp_path)
    wrong, right = table(tmp_path / "x.csv", "b,a\n1,2\n3,4\n"), table(tmp_path / "z.csv", "a,b\n1,2\n3,4\n")
    config = RunConfig(model="own_table:make", data=right, samples=16)
    prepare(config)
    message = r"got 'b' in place 1, where the model has 'a': type \?columns=a,b"
    with pytest.raises(ArgumentError, match=message):
        prepare(RunConfig(model="own_table:make", data=wrong))
    with pytest.raises(ArgumentError, match="the data has 'c' and lacks 'b'"):
        prepare(RunConfig(model="own_table:make", data=table(tmp_path / "w.csv", "a,c\n1,2\n")))
    assert cli.run(["tune", "--model", "own_table:make", "--data", wrong]) == 2
    model = nn.Linear(2, 3).eval()
    model.feature_names = ["a", "b"]
    with pytest.raises(ArgumentError, match=message):
        ab.certify(ab.Unit(ab.Saliency(model)), torch.rand(2), noise=NOISE, features=["b", "a"])


def test_a_card_states_the_columns_of_its_training(tmp_path, monkeypatch) -> None:
    (tmp_path / "own_bare.py").write_text("from torch import nn\ndef Bare():\n    return nn.Linear(2, 2)\n")
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 5},{i % 3},{i % 2}\n" for i in range(20))
    learn = table(tmp_path / "train.csv", f"a,b,y\n{rows}")
    words = [
        "train",
        "--arch",
        "own_bare:Bare",
        "--data",
        f"{learn}?label=y",
        "--epochs",
        "1",
        "--out",
        "m.safetensors",
    ]
    assert cli.run(words) == 0
    assert json.loads((tmp_path / "m.json").read_text())["features"] == ["a", "b"]
    config = {"model": "m.safetensors", "arch": "own_bare:Bare"}
    prepare(RunConfig(**config, data=f"{learn}?label=y"))
    with pytest.raises(ArgumentError, match="got 'b' in place 1, where the model has 'a'"):
        prepare(RunConfig(**config, data=table(tmp_path / "test.csv", "b,a\n1,2\n3,4\n")))
