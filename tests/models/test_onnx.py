"""ONNX graphs as models: scores, batches of one size, and files that are none."""

import builtins
import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

import attribound as ab
from attribound.errors import ArgumentError, FieldError, StoredDataError
from attribound.models import load_model

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

WEIGHTS = np.array([[1.0, -1.0], [0.5, 2.0], [-1.0, 0.3]], np.float32)
ROWS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def graph(folder: Path, *, batch: int | str = "rows", labels: bool = False) -> Path:
    """tanh(x W), with the largest score's number before it if `labels`."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Tanh", ["y"], ["scores"])]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, 2])]
    if labels:
        nodes.append(helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0))
        outputs.insert(0, helper.make_tensor_value_info("label", TensorProto.INT64, [batch]))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3])]
    made = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(WEIGHTS, "w")])
    path = folder / f"{batch}-{labels}.onnx"
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.mark.parametrize(("batch", "labels"), [("rows", False), ("rows", True), (1, False), (2, False)])
def test_a_graph_is_a_model(tmp_path: Path, batch: int | str, labels: bool) -> None:
    path = graph(tmp_path, batch=batch, labels=labels)
    model = load_model(str(path))
    np.testing.assert_allclose(model(torch.tensor(ROWS)), np.tanh(ROWS @ WEIGHTS), rtol=1e-5, atol=1e-6)
    how = {1: "fixed batch of 1: it is run row by row", 2: "fixed batch of 2: it is run 2 rows at a time"}
    assert how.get(batch, "") in model.note
    assert bool(model.note) == (batch in how)


@pytest.mark.parametrize("name", ["scores", "confidence"])
def test_of_several_outputs_the_scores_are_those_that_are_called_so(tmp_path: Path, name: str) -> None:
    """The first of them may be an embedding, whose numbers are no classes."""
    loaded = onnx.load(str(graph(tmp_path)))
    loaded.graph.output.insert(0, onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["rows", 2]))
    loaded.graph.output[1].name = loaded.graph.node[1].output[0] = name
    onnx.save(loaded, str(tmp_path / "two.onnx"))
    if name == "scores":
        model = load_model(str(tmp_path / "two.onnx"))
        np.testing.assert_allclose(model(torch.tensor(ROWS)), np.tanh(ROWS @ WEIGHTS), rtol=1e-5, atol=1e-6)
        return
    with pytest.raises(StoredDataError, match="one output of floats, got y, confidence: keep"):
        load_model(str(tmp_path / "two.onnx"))


def test_a_graph_of_single_inputs_is_refused(tmp_path: Path) -> None:
    loaded = onnx.load(str(graph(tmp_path)))
    for value, size in ((loaded.graph.input[0], 3), (loaded.graph.output[0], 2)):
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, onnx.TensorProto.FLOAT, [size]))
    onnx.save(loaded, str(tmp_path / "single.onnx"))
    with pytest.raises(StoredDataError, match="takes a batch of inputs"):
        load_model(str(tmp_path / "single.onnx"))


def test_a_graph_is_certified_without_gradients(tmp_path: Path) -> None:
    from captum.attr import FeatureAblation

    path = graph(tmp_path)
    model, x = load_model(str(path)), torch.tensor(ROWS[0])
    certificate = ab.certify(ab.Unit(ab.Captum(FeatureAblation(model))), x, noise=ab.Gaussian(0.1), samples=512, seed=0)
    assert certificate.max_epsilon(0.5) > 0
    assert certificate.record.model_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(FieldError, match="without gradients there are Function, TreeShap"):
        ab.certify(ab.Unit(ab.Saliency(model)), x, noise=ab.Gaussian(0.1), samples=64)


def test_what_is_no_graph_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no graph")
    with pytest.raises(StoredDataError, match="is not an ONNX graph that can be run"):
        load_model(str(bad))
    with pytest.raises(ArgumentError, match="leave --arch out"):
        load_model(str(bad), "resnet18")
    imported = builtins.__import__

    def without(name: str, *rest):
        if name == "onnxruntime":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ArgumentError, match=r"needs onnxruntime: pip install 'attribound\[onnx\]'"):
        load_model(str(bad))


def test_tensors_in_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash would not see them."""
    monkeypatch.chdir(tmp_path)
    loaded = onnx.load(str(graph(tmp_path)))
    path = tmp_path / "outside.onnx"
    onnx.save(loaded, str(path), save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").exists()
    with pytest.raises(StoredDataError, match="is not an ONNX graph that can be run"):
        load_model(str(path))
