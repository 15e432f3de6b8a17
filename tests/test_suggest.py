"""Typos: what was probably meant is said, and before torch is loaded."""

import json
import subprocess
import sys

import pytest

from attribound import cli
from attribound.bounds.laws import split_spec
from attribound.cli import choices
from attribound.cli.typos import check_words
from attribound.data import open_data
from attribound.data.specs import READERS
from attribound.errors import ArgumentError
from attribound.fields import ATTRIBUTIONS, MAPS, make_field
from attribound.models import SHIPPED, load_model
from attribound.suggest import closest


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("grad-cam", "gradcam"),
        ("GradCAM", "gradcam"),
        ("grad-cam++", "gradcam++"),
        ("saliancy", "saliency"),
        ("integrated_gradients", "ig"),
        ("deep-lift", "deeplift"),
        ("occlusion", ""),
        ("bands", ""),
    ],
)
def test_the_closest_attribution(word, meant) -> None:
    assert closest(word, choices.ATTRIBUTIONS) == meant


def test_registries_suggest_too(tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"got 'grad-cam:layer4'; did you mean 'gradcam'\?"):
        make_field(lambda x: x, "grad-cam:layer4")
    with pytest.raises(ArgumentError, match=rf"got '{tmp_path}'; did you mean 'folder:{tmp_path}'\?"):
        open_data(str(tmp_path))
    with pytest.raises(ArgumentError, match=r"did you mean 'csv:a.csv'\?"):
        open_data("a.csv")
    with pytest.raises(ArgumentError, match=r"did you mean 'folder:x\?size=3'\?"):
        open_data("foldr:x?size=3")
    with pytest.raises(ArgumentError, match=r"got 'mnist-cn'; did you mean 'mnist-cnn'\?"):
        load_model("mnist-cn")
    with pytest.raises(ArgumentError, match=r"got '0\.1'; did you mean 'gaussian:0\.1'\?"):
        split_spec("0.1")
    with pytest.raises(ArgumentError, match=r"got 'gausian:2'; did you mean 'gaussian:2'\?"):
        split_spec("gausian:2")


def test_words_that_are_known_or_far_from_all_pass() -> None:
    """An extended package knows more words than the list: they may not be refused before it is asked."""
    check_words(attribution="gradcam++-signed:layer4@7x7", maps=["pooled-signed:7"], data=["photos?size=64", None])
    check_words(attribution="bands", maps=["rings"], data=["npy:a.npy"], model="own:net", noise="uniform:3")
    check_words(model="mnist-cnn")


def test_the_lists_are_the_registries() -> None:
    assert list(choices.ATTRIBUTIONS) == [name.removesuffix("[:LAYER]") for name in ATTRIBUTIONS]
    assert list(choices.MAPS) == [name.partition(":")[0] for name in MAPS]
    assert list(choices.DATA) == list(READERS)
    assert list(choices.MODELS) == list(SHIPPED)


CERTIFY = ["certify", "--model", "mnist-cnn", "--data", "mnist-sample", "--out", "never"]
TYPOS = [
    (["certfy"], "certify"),
    ([*CERTIFY, "--attribution", "grad-cam"], "gradcam"),
    ([*CERTIFY, "--map", "centered"], "centred"),
    ([*CERTIFY, "--noise", "0.1"], "gaussian:0.1"),
    ([*CERTIFY, "--model", "mnist-cnn-nois"], "mnist-cnn-noise"),
    ([*CERTIFY, "--data", "."], "folder:."),
    (["tune", "--attribution", "grad-cam"], "gradcam"),
    (["train", "--data", "minst:x", "--out", "a.safetensors"], "mnist:x"),
]
PROGRAM = """
import contextlib, io, json, sys
from attribound import cli
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = cli.run(words)
    print(json.dumps([code, said.getvalue(), "torch" in sys.modules]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> list[tuple[int, str, bool]]:
    """Exit code, what was said, whether torch was loaded by then: of one process that is asked everything in turn."""
    command = [sys.executable, "-c", PROGRAM, json.dumps([words for words, _ in TYPOS])]
    folder = tmp_path_factory.mktemp("typos")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("number", "meant"), list(enumerate(meant for _, meant in TYPOS)))
def test_typos_are_answered_before_torch_is_loaded(number, meant, answers) -> None:
    code, said, loaded = answers[number]
    assert code == 2, said
    assert "id you mean" in said
    assert f"'{meant}'" in said
    assert len(said.splitlines()) == 1
    assert not loaded


def test_a_newer_format_says_upgrade(tmp_path, capsys) -> None:
    (tmp_path / "a.json").write_text('{"format": 4}')
    assert cli.run(["verify", str(tmp_path / "a.json")]) == 2
    assert "it has format 4, expected 3: a newer attribound made it, pip install --upgrade" in capsys.readouterr().err
