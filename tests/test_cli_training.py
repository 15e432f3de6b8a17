"""`train` and `data` as typed."""

import json

import pytest

from attribound import cli

TRAIN = ["train", "--epochs", "1", "--batch", "100"]


def test_train_writes_and_says_how_good(tmp_path, capsys) -> None:
    out = tmp_path / "m.safetensors"
    flags = ["--objective", "consistency", "--noise", "gaussian:0.5", "--beta", "2"]
    assert cli.run([*TRAIN, *flags, "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "epoch 1: loss" in printed.err
    assert "under gaussian noise of sigma 0.5" in printed.out
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["objective"] == "Consistency(noise=Gaussian(sigma=0.5), beta=2.0)"
    again = tmp_path / "n.safetensors"
    assert cli.run([*TRAIN, "--start", str(out), "--out", str(again), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(again)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--objective", "noise"], "needs --noise"),
        (["--noise", "gaussian:-1"], "expected a noise, uniform:RADIUS or gaussian:SIGMA with a positive number"),
        (["--noise", "0.5"], "expected a noise"),
        (["--arch", "vgg"], "expected an architecture"),
        (["--data", "mnist:/nowhere"], "no train-images-idx3-ubyte"),
        (["--epochs", "0"], "epochs"),
    ],
)
def test_bad_input_is_one_line(flags, message, tmp_path, capsys) -> None:
    assert cli.run(["train", "--out", str(tmp_path / "m.safetensors"), *flags]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_fetch_of_the_unknown(capsys) -> None:
    assert cli.run(["data", "fetch", "imagenet"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: expected mnist, cifar10, resnet50, efficientnet-lite0, ")
    assert err.endswith(", got 'imagenet'\n")
