"""Records: stored whole, read strictly, refused in one line that says why."""

import base64
import json
import math
import re
import resource

import msgspec
import numpy as np
import pytest
import torch

from attribound.certificates import Certificate, Failure, decode, encode
from attribound.certificates.record import FORMAT, MapRecord
from attribound.certificates.sealed import seal_of
from attribound.certificates.verify import verify
from attribound.certification.certifier import certify
from attribound.errors import StoredDataError
from attribound.fields import Grouped, Saliency, Unit
from attribound.noise import Gaussian, UniformBall
from tests.problems import Linear


@pytest.mark.parametrize("noise", [UniformBall(14.0), Gaussian(0.5)], ids=str)
def test_save_and_load(noise, tmp_path, noise_model, sample) -> None:
    stored = certify(Unit(Saliency(noise_model)), sample[0][1], noise=noise, samples=256)
    stored.save(tmp_path / "x.json")
    loaded = Certificate.load(tmp_path / "x.json")
    assert np.array_equal(loaded.attribution, stored.attribution)
    assert loaded.evidence == stored.evidence
    assert loaded.cosine(0.1) == stored.cosine(0.1)
    assert loaded.visible_cosine(0.1) == stored.visible_cosine(0.1)
    assert verify(tmp_path / "x.json").problems == []


def test_a_map_of_its_own_shape_and_units_come_back(tmp_path) -> None:
    field = Unit(Grouped(Saliency(Linear(torch.tensor([1.0, 2.0, 3.0, 4.0]))), [0, 0, 1, 1]))
    stored = certify(field, torch.zeros(4), 0, noise=Gaussian(1.0, scale=[1.0, 2.0, 3.0, 4.0]), samples=64)
    stored.save(tmp_path / "x.json")
    loaded = Certificate.load(tmp_path / "x.json")
    assert loaded.law == stored.law
    assert loaded.evidence.budget.units == (1.0, 2.0, 3.0, 4.0)
    assert loaded.attribution.tolist() == stored.attribution.tolist()
    assert verify(tmp_path / "x.json").problems == []


def test_record_has_the_contract_keys(certificate) -> None:
    record = json.loads(encode(certificate.record))
    wanted = (
        "subject fidelity item label target prediction dim noise attribution output bound samples alpha seed norm "
        "norm_lower eigenvalue_upper status rule cosine max_epsilon seconds versions model_sha256 input_sha256"
    )
    assert set(wanted.split()) <= set(record)
    assert {"kind", "radius", "sigma"} <= set(record["noise"])
    assert record["noise"]["radius"] == pytest.approx(0.5 * math.sqrt(786))
    assert set(record["bound"]) == {"kind", "limit", "source"}
    assert record["cosine"]["0.25"] == certificate.cosine(0.25)
    assert len(record["model_sha256"]) == len(record["input_sha256"]) == 64
    assert record["format"] == FORMAT


def test_a_record_is_read_back_to_the_last_digit_however_it_is_laid_out(certificate) -> None:
    sealed = msgspec.structs.replace(certificate.record, seal=seal_of(certificate.record))
    compact = encode(certificate.record)
    assert decode(compact, "x") == sealed
    for layout in (msgspec.json.format(compact, indent=2), json.dumps(json.loads(compact), sort_keys=True, indent=1)):
        assert decode(layout, "x") == sealed


def test_a_failure_is_a_type_and_not_a_certificate(tmp_path) -> None:
    failure = Failure(item=3, message="the attribution of draw 7 is NaN")
    assert decode(encode(failure), "x") == failure
    (tmp_path / "x.json").write_bytes(encode(failure))
    with pytest.raises(
        StoredDataError, match=r"x\.json is the record of a failure, not a certificate: the attribution"
    ):
        Certificate.load(tmp_path / "x.json")


def test_keys_stand_for_the_very_number(certificate, tmp_path) -> None:
    """A key rounded to six digits would be a claim about another epsilon."""
    epsilons = [certificate.max_epsilon(c) for c in (0.31, 0.57, 0.83, 0.95)]
    certificate.save(tmp_path / "x.json", epsilons=epsilons, cosines=[0.3 + 1e-7, 0.8])
    assert verify(tmp_path / "x.json").problems == []
    stored = json.loads((tmp_path / "x.json").read_text())
    assert [float(key) for key in stored["cosine"]] == epsilons
    assert "0.8" in stored["max_epsilon"]
    assert repr(epsilons[0]) in certificate.explain(0.3, epsilons[0])


def test_missing_file(tmp_path) -> None:
    with pytest.raises(StoredDataError, match="no such file"):
        Certificate.load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a record of attribound: Expecting property name"),
        ("[]", "expected a JSON object"),
        ("null", "expected a JSON object"),
        ("7", "expected a JSON object"),
        ("", "is not a record of attribound"),
        ("{}", "it states no format"),
        ('{"format": "3"}', "it has format '3', expected 3"),
        ('{"format": 4}', "it has format 4, expected 3"),
        ('{"format": 3}', "is not a record of attribound: Object missing required field"),
        ('{"format": 3, "format": 3}', "the key 'format' appears twice"),
        ('{"format": 3, "norm": NaN}', "the number NaN is not finite"),
        ('{"format": 3, "norm": -Infinity}', "the number -Infinity is not finite"),
        ('{"format": 3, "norm": 1e999}', "the number 1e999 is not finite"),
        ("[" * 100_000, "is not a record of attribound"),
        ('{"a":' * 100_000, "is not a record of attribound"),
        ('{"format": 3, "item": ' + "9" * 5000 + "}", "is not a record of attribound"),
    ],
    ids=lambda text: text[:40],
)
def test_other_texts(content, message, tmp_path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(StoredDataError, match=message) as caught:
        Certificate.load(tmp_path / "x.json")
    assert str(caught.value).startswith(f"{tmp_path / 'x.json'} is not a record of attribound: ")
    assert "\n" not in str(caught.value)


def test_an_older_format_names_the_version_that_reads_it(tmp_path) -> None:
    (tmp_path / "x.json").write_text('{"format": 1, "evidence": {}, "map": {}}')
    with pytest.raises(StoredDataError) as caught:
        Certificate.load(tmp_path / "x.json")
    assert str(caught.value).endswith("it has format 1, which attribound 0.1 reads; this version reads 3")
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoredDataError, match="is not a text file"):
        Certificate.load(tmp_path / "x.json")


def refusal(certificate, tmp_path, change) -> str:
    path = tmp_path / "x.json"
    certificate.save(path)
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(StoredDataError, match=r"x\.json is not a ") as caught:
        verify(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


BROKEN = {
    "no cosines' numbers": (lambda r: r.update(cosine=[1]), r"cosine"),
    "no status": (lambda r: r.update(status="fine"), "status"),
    "no noise": (lambda r: r.pop("noise"), "missing required field `noise`"),
    "no facts": (lambda r: r.pop("facts"), "missing required field `facts`"),
    "no alpha": (lambda r: r.pop("alpha"), "missing required field `alpha`"),
    "a key that is no number": (
        lambda r: r.update(cosine={"often": 1.0}),
        "could not convert string to float: 'often'",
    ),
    "a negative key": (
        lambda r: r.update(cosine={"-0.1": 1.0}),
        "the key '-0.1' is not a number that can be asked for",
    ),
    "an infinite key": (lambda r: r.update(cosine={"inf": 1.0}), "the key 'inf' is not a number that can be asked for"),
    "a NaN key": (lambda r: r.update(cosine={"nan": 1.0}), "the key 'nan' is not a number that can be asked for"),
    "a cosine above 1": (
        lambda r: r.update(max_epsilon={"1.5": 1.0}),
        "the key '1.5' is not a number that can be asked",
    ),
    "an answer that is none": (lambda r: r.update(cosine={"0.1": None}), "got `null`"),
    "an answer in words": (lambda r: r.update(cosine={"0.1": "0.9"}), "got `str`"),
    "a norm that is none": (lambda r: r.update(norm_lower=None), "got `null`"),
    "no question": (lambda r: r.update(until=[]), "until"),
    "an unknown key": (lambda r: r.update(certified=True), "unknown field `certified`"),
    "an unknown law": (lambda r: r["noise"].update(kind="laplace"), "noise 'laplace', expected uniform or gaussian"),
    "an unknown bound": (lambda r: r["bound"].update(kind="magic"), "Invalid enum value 'magic'"),
    "an unknown fact": (lambda r: r["facts"].update(luck={"lower": 1.0}), "unknown facts luck"),
    "a fact in words": (lambda r: r["facts"]["length"].update(lower="0.9"), "length.lower is not a finite number"),
    "a fact as a list": (lambda r: r["facts"]["length"].update(lower=[0.9]), "length.lower is not a finite number"),
    "half a fact": (lambda r: r["facts"]["length"].pop("lower"), "length has sampled, expected lower, sampled"),
    "one dimension": (lambda r: r.update(dim=1), "expected `dim` to be a whole number >= 2, got 1"),
    "a broken dimension": (lambda r: r.update(dim=2.5), "dim"),
    "no sigma": (lambda r: r["noise"].update(sigma=0.0), "expected `sigma` > 0, got 0"),
    "true as a number": (lambda r: r.update(samples=True), "samples"),
    "too few units": (lambda r: r["noise"].update(units=[1.0]), r"expected one unit per feature \(784\), got 1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_records_are_one_line(name, certificate, tmp_path) -> None:
    change, message = BROKEN[name]
    text = refusal(certificate, tmp_path, change)
    assert re.search(message, text), text


def packed(values, shape=None):
    data = base64.b64encode(np.asarray(values, "<f8").tobytes()).decode()
    return {"shape": list(np.shape(values)) if shape is None else shape, "float64": data}


LYING = {
    "a larger shape": (packed(np.zeros(4), [5]), "a map whose values do not fill its shape"),
    "a smaller shape": (packed(np.zeros(4), [3]), "a map whose values do not fill its shape"),
    "a huge shape": (packed(np.zeros(4), [2**20, 2**20, 2**20]), "a map of shape"),
    "a shape with 0": (packed(np.zeros(0), [0, 5]), "a map of shape"),
    "negative sizes": (packed(np.zeros(4), [-2, -2]), "a map of shape"),
    "no shape": (packed(np.zeros(1), []), "a map of shape"),
    "not base64": ({"shape": [3], "float64": "!" * 32}, "a map that is not base64"),
    "NaN": (packed([1.0, math.nan]), "a map with NaN or infinity in it"),
    "infinity": (packed([1.0, math.inf]), "a map with NaN or infinity in it"),
}


@pytest.mark.parametrize("name", LYING)
def test_maps_that_lie_about_their_shape(name, certificate, tmp_path) -> None:
    stored, message = LYING[name]
    assert message in refusal(certificate, tmp_path, lambda record: record.update(map=stored))


def test_map_values_are_kept_exactly() -> None:
    values = np.array([[1.0, -2.5, 1e-308], [np.pi, 0.0, -1e300]])
    assert np.array_equal(MapRecord.of(values).values(), values)
    assert MapRecord.of(values[:, ::2]).values().tolist() == values[:, ::2].tolist()


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda r: r.update(dim=10**15), False),
        (lambda r: r.update(map=packed(np.zeros(4), [10**9])), True),
        (lambda r: r.update(map=packed(np.zeros(4), [10**18, 10**18])), True),
        (lambda r: r.update(draws=10**9, samples=10**9, budget=10**9), False),
    ],
)
def test_huge_numbers_take_no_memory(change, refused, certificate, tmp_path) -> None:
    path = tmp_path / "x.json"
    certificate.save(path)
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if refused:
        with pytest.raises(StoredDataError, match="it holds a map of shape"):
            verify(path)
    else:
        assert not verify(path).passed
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024, "at most 200 MB more"
