"""`--map relative:DATA`: the reference comes from inputs that are not certified, and every record holds it."""

import numpy as np
import pytest

from attribound.certificates.record import decode, encode
from attribound.certification.reopen import Opener
from attribound.data import open_data
from attribound.errors import ArgumentError
from attribound.fields import make_field, mean_unit_map
from attribound.fields.relative import unpacked
from attribound.models import load_model
from attribound.runs.config import RunConfig
from attribound.runs.membership import foreign
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from attribound.runs.work import Worker


def asked(source: str, **settings) -> RunConfig:
    maps = ("pooled:7", "centred", f"relative:{source}")
    return RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=32, maps=maps, **settings)


@pytest.fixture
def few(tmp_path):
    """Five digits: the first is certified, too."""
    images = open_data("mnist-sample").images(range(5))
    path = tmp_path / "few.npz"
    np.savez(path, x=images.numpy())
    return f"npz:{path}"


def test_the_reference_leaves_out_what_is_certified(few):
    full, job = prepare(asked(few, items=1))
    model, data = load_model("mnist-cnn-noise"), open_data("mnist-sample")
    field = make_field(model, maps=("pooled:7", "centred"))
    inputs = data.images(range(1, 5))
    expected = mean_unit_map(field.attribute(inputs, model(inputs).argmax(dim=1)))
    stored = unpacked(full.reference, full.maps[-1])
    assert np.allclose(stored.numpy(), expected.numpy().ravel(), rtol=0, atol=1e-5)
    outcome = Worker(job).outcome(Task(0, True, True))
    record = decode(encode(outcome.record), "record")
    assert record.maps == full.maps
    assert record.subject.reference == full.reference
    assert [line for line in foreign(record, full) if "seal" not in line] == []
    assert Opener()(record.subject).field.reshaped == full.maps
    assert not full.difference(prepare(asked(few, items=1))[0])
    assert full.maps == prepare(asked(full.maps[-1].partition(":")[2], items=1))[0].maps


def test_bad_references_are_one_line(few, tmp_path):
    np.savez(tmp_path / "wide.npz", x=np.zeros((2, 1, 8, 8), np.float32))
    with pytest.raises(ArgumentError, match=r"expected inputs of shape \(1, 28, 28\) .* got \(1, 8, 8\)"):
        prepare(asked(f"npz:{tmp_path / 'wide.npz'}", items=1))
    with pytest.raises(ArgumentError, match="that are not certified themselves, got none"):
        prepare(asked(few, items=5))
    with pytest.raises(ArgumentError, match="got no data"):
        prepare(asked("", items=1))
    twice = RunConfig(model="mnist-cnn", data="mnist-sample", maps=(f"relative:{few}", f"relative:{few}"))
    with pytest.raises(ArgumentError, match="relative:DATA once"):
        prepare(twice)
