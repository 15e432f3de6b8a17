"""Maps less the mean map of other inputs: a field like any other, with a frozen and hashed reference."""

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

import attribound as ab
from attribound.attacks import Direct
from attribound.attacks.challenge import challenge
from attribound.certificates.certificate import Certificate
from attribound.certificates.verify import verify_record
from attribound.certification.certifier import certify_again
from attribound.errors import StoredDataError
from attribound.fields import make_field, mean_unit_map
from attribound.fields.relative import packed_reference, unpacked
from attribound.noise import Gaussian


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.Softplus(), nn.Linear(12, 3)).eval().requires_grad_(False)


@pytest.fixture
def others(model):
    inputs = torch.rand(10, 1, 4, 4, generator=torch.Generator().manual_seed(1))
    return ab.Saliency(model).attribute(inputs, 0)


def test_the_reference_is_subtracted_from_the_unit_map(model, others):
    x = torch.rand(3, 1, 4, 4)
    plain = ab.Saliency(model).attribute(x, 0).double().numpy().reshape(3, 16)
    rows = others.double().numpy().reshape(10, 16)
    reference = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0)
    expected = plain / np.linalg.norm(plain, axis=1, keepdims=True) - reference
    field = ab.Relative(ab.Saliency(model), mean_unit_map(others))
    assert np.allclose(field.attribute(x, 0).numpy().reshape(3, 16), expected, rtol=0, atol=1e-6)
    bent = ab.Unit(field).attribute(x, 0).flatten(1)
    assert torch.allclose(bent.norm(dim=1), torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-12)


def test_maps_of_different_inputs_are_less_alike(model, others):
    x = torch.rand(8, 1, 4, 4, generator=torch.Generator().manual_seed(2))
    plain = ab.Unit(ab.Saliency(model)).attribute(x, 0).flatten(1)
    relative = ab.Unit(ab.Relative(ab.Saliency(model), mean_unit_map(others))).attribute(x, 0).flatten(1)
    apart = ~torch.eye(8, dtype=torch.bool)
    assert float((relative @ relative.T)[apart].mean()) < float((plain @ plain.T)[apart].mean()) - 0.3


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.filterwarnings("ignore:note. this processor")
def test_a_relative_certificate_is_checked_opened_and_attacked(model, others, precision):
    x = torch.rand(1, 4, 4, generator=torch.Generator().manual_seed(3))
    field = ab.Unit(ab.Relative(ab.Saliency(model), mean_unit_map(others), "mnist-sample"))
    settings = {"noise": Gaussian(0.05), "samples": 128, "seed": 0, "precision": precision}
    made = ab.certify(field, x, cells=(0.5,), reasons=2, **settings)
    subject = made.record.subject
    assert subject.maps[0].startswith("relative:mnist-sample@")
    assert verify_record(made).problems == []
    again = make_field(model, subject.attribution, maps=subject.maps, reference=subject.reference)
    assert again.reshaped == field.reshaped
    assert (certify_again(made, again, x, Gaussian(0.05)).map == made.map).all()
    finding = challenge(made, again, x, [Direct(steps=3, samples=8, rescore_samples=512)], measure_tightness=False)
    assert not finding.finding.worst_most < finding.finding.certified


def test_another_reference_is_found_out(model, others):
    field = ab.Unit(ab.Relative(ab.Saliency(model), mean_unit_map(others)))
    made = ab.certify(field, torch.rand(1, 4, 4), noise=Gaussian(0.1), samples=16)
    other = packed_reference(ab.Relative(ab.Saliency(model), torch.ones(16)))
    subject = msgspec.structs.replace(made.record.subject, reference=other)
    forged = Certificate(msgspec.structs.replace(made.record, subject=subject), made.map)
    assert [line for line in verify_record(forged).problems if "the subject's reference" in line]
    with pytest.raises(StoredDataError, match="the hash differs"):
        unpacked(other, made.record.maps[0])
    with pytest.raises(StoredDataError, match="base64"):
        unpacked("???", made.record.maps[0])


def test_what_is_no_reference_is_refused_in_a_line(model, others):
    saliency, reference = ab.Saliency(model), mean_unit_map(others)
    with pytest.raises(ab.AttriboundError, match="maps with 9 cells as in the reference, got 16"):
        ab.Relative(saliency, torch.ones(9)).attribute(torch.rand(1, 1, 4, 4), 0)
    with pytest.raises(ab.AttriboundError, match="finite `reference`"):
        ab.Relative(saliency, torch.full((16,), torch.nan))
    with pytest.raises(ab.AttriboundError, match="pool the map first"):
        ab.Relative(saliency, torch.ones(5000))
    with pytest.raises(ab.AttriboundError, match="got str"):
        ab.Relative(saliency, "photos")
    with pytest.raises(ab.AttriboundError, match="relative already"):
        ab.Relative(ab.Relative(saliency, reference), reference)
    with pytest.raises(ab.AttriboundError, match="the limit outermost"):
        ab.Relative(ab.Unit(saliency), reference)
    with pytest.raises(ab.AttriboundError, match="only certify makes one"):
        make_field(model, maps=["relative:photos"])


def test_the_reference_is_frozen(model):
    """Whoever gave it may write to it later: the field, its hash and what records hold stay as they were."""
    given = torch.full((16,), 0.25)
    field = ab.Relative(ab.Saliency(model), given)
    kept = packed_reference(field)
    given.zero_()
    assert packed_reference(field) == kept
    assert torch.equal(unpacked(kept, field.reshaped[-1]), torch.full((16,), 0.25))
