"""Certificates: answers, storage, verification, the edge, the radius search."""

import json
import math
import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import attribound as ab
from attribound.certificate import round_down
from attribound.demo import certify_again
from attribound.errors import ArgumentError, FieldError, StoredDataError
from attribound.verification import compare_runs, verify
from tests.problems import AbsFirst, Linear, Quadratic


@pytest.fixture(scope="module")
def certificate(noise_model, sample) -> ab.Certificate:
    return ab.certify(ab.Unit(ab.Saliency(noise_model)), sample[0][0], noise=ab.Gaussian(0.5), samples=1024, seed=7)


def test_contract(certificate) -> None:
    assert certificate.status == "certified"
    assert certificate.rule in ("tight", "covariance")
    assert certificate.limit_source.startswith("by construction")
    assert (certificate.samples, certificate.alpha, certificate.seed, certificate.limit) == (1024, 1e-3, 7, 1.0)
    assert certificate.attribution.shape == (1, 28, 28)
    assert certificate.norm_lower < certificate.norm
    assert certificate.target == certificate.prediction == 7


def test_answers_agree_with_each_other(certificate) -> None:
    epsilon = certificate.max_epsilon(0.8)
    assert epsilon > 0.4
    assert certificate.cosine(epsilon) >= 0.8 > certificate.cosine(epsilon * 1.001)
    assert certificate.cosine(0.0) == pytest.approx(1.0, abs=1e-6)
    assert certificate.cosine(50.0) == -1.0
    assert certificate.max_epsilon(1.0) == 0.0
    # A sampled map differs from the exact one, so what is visible is certified for less.
    assert 0 < certificate.visible_cosine(0.1) < certificate.cosine(0.1)
    assert certificate.visible_cosine(0.1, samples=100_000) > certificate.visible_cosine(0.1)


def test_cosines_fall_with_epsilon(certificate) -> None:
    values = [certificate.cosine(e) for e in np.linspace(0, 1.5, 60)]
    assert all(a >= b - 1e-12 for a, b in pairwise(values))


def test_top_k_and_signs(certificate) -> None:
    overlaps = [certificate.top_k(100, e) for e in (0.0, 0.05, 0.2, 0.5)]
    assert overlaps == sorted(overlaps, reverse=True)
    assert overlaps[0] > 20
    assert certificate.signs(0.0).sum() > certificate.signs(0.1).sum()


def test_explanations_say_what_would_help(certificate) -> None:
    assert "certified: cosine >= 0.9" in certificate.explain(0.8, 0.1)
    text = certificate.explain(0.8, 1.2)
    needed = 0.5 * 1.2 / certificate.max_epsilon(0.8)
    assert f"sigma >= {needed:.3g} would do if the norm stayed" in text


def test_nothing_certified_has_a_reason() -> None:
    x = torch.zeros(2, dtype=torch.float64)  # sign(y_1) averages to zero here
    empty = ab.certify(ab.Unit(ab.Saliency(AbsFirst())), x, 0, noise=ab.Gaussian(1.0), samples=500)
    assert (empty.status, empty.rule, empty.max_epsilon(0.8), empty.cosine(0.1)) == ("uncertified", None, 0.0, -1.0)
    assert "cannot be told from 0 after 500 samples; about" in empty.reason


def test_a_model_that_ignores_its_input_is_uncertified_and_can_be_stored(tmp_path) -> None:
    blind = ab.certify(ab.Unit(ab.Saliency(Linear(torch.zeros(2)))), torch.zeros(2), 0, noise=ab.Gaussian(1.0))
    assert "every attribution drawn is zero" in blind.reason
    blind.save(tmp_path / "blind.json")
    assert ab.Certificate.load(tmp_path / "blind.json").status == "uncertified"


def test_assumed_limits_are_marked_everywhere(tmp_path) -> None:
    field = ab.Assumed(ab.Saliency(Linear(torch.tensor([3.0, 4.0]))), 5.0)
    marked = ab.certify(field, torch.zeros(2), 0, noise=ab.Gaussian(1.0), samples=500)
    assert marked.status == "assumed"
    assert "ASSUMED" in repr(marked)
    assert "ASSUMED" in marked.limit_source
    assert "not a certificate" in marked.explain(0.5, 0.01)
    marked.save(tmp_path / "a.json")
    assert ab.Certificate.load(tmp_path / "a.json").status == "assumed"


@pytest.mark.parametrize(
    ("output", "continuous", "expected"),
    [("probability", True, True), ("probability", False, False), ("logit", True, False)],
)
def test_curvature_rule_must_be_asked_for(output, continuous, expected) -> None:
    base = ab.Saliency(Linear(torch.tensor([3.0, 4.0], dtype=torch.float64)), output=output, continuous=continuous)
    field = ab.Proved(base, 5.0, reason="||w|| = 5 and a sigmoid's slope is <= 1/4")
    certificate = ab.certify(field, torch.zeros(2, dtype=torch.float64), 0, noise=ab.Gaussian(2.0), samples=2000)
    assert ("curvature" in certificate.evidence.cosines(0.1)) is expected


def test_a_saw_tooth_is_not_certified_by_the_curvature_rule() -> None:
    """Rounding hides jumps from autograd: the mean gradient is not the gradient of the mean. True cosine: -1."""

    class SawTooth(nn.Module):
        def forward(self, y):
            size = y[:, 0].abs()
            score = 1e3 * (size - (size * 1e3).round() / 1e3)
            return torch.stack([score, score * 0], dim=1)

    field = ab.Proved(ab.Saliency(SawTooth(), output="probability"), 250.0, reason="1000 times a sigmoid's slope 1/4")
    x = torch.tensor([-0.05, 0.0], dtype=torch.float64)
    assert ab.certify(field, x, 0, noise=ab.Gaussian(1.0), samples=4096).cosine(0.1) == -1.0


def test_rounding_at_a_claimed_limit_is_cut_off() -> None:
    field = ab.Proved(ab.Saliency(Linear(torch.tensor([3.0, 4.0]))), 5.0 * (1 - 1e-6), reason="rounded")
    certificate = ab.certify(field, torch.zeros(2), 0, noise=ab.Gaussian(1.0), samples=500)
    assert certificate.norm == pytest.approx(certificate.limit, rel=1e-12)


@pytest.mark.parametrize("noise", [ab.UniformBall(14.0), ab.Gaussian(0.5)], ids=lambda n: n.kind)
def test_save_and_load(noise, certificate, tmp_path, noise_model, sample) -> None:
    stored = ab.certify(ab.Unit(ab.Saliency(noise_model)), sample[0][1], noise=noise, samples=256)
    stored.save(tmp_path / "x.json")
    loaded = ab.Certificate.load(tmp_path / "x.json")
    assert np.array_equal(loaded.attribution, stored.attribution)
    assert loaded.evidence == stored.evidence
    assert loaded.cosine(0.1) == stored.cosine(0.1)
    assert loaded.visible_cosine(0.1) == stored.visible_cosine(0.1)
    assert verify(tmp_path / "x.json").passed


def test_record_has_the_contract_keys(certificate) -> None:
    record = certificate.to_record()
    wanted = (
        "item label target prediction dim noise attribution output bound samples alpha seed norm norm_lower "
        "eigenvalue_upper status rule cosine max_epsilon seconds versions model_sha256 input_sha256"
    )
    assert set(wanted.split()) <= set(record)
    assert set(record["noise"]) == {"kind", "radius", "sigma"}
    assert record["noise"]["radius"] == pytest.approx(0.5 * math.sqrt(786))
    assert set(record["bound"]) == {"kind", "limit", "source"}
    assert record["cosine"]["0.25"] == certificate.cosine(0.25)
    assert len(record["model_sha256"]) == len(record["input_sha256"]) == 64
    json.dumps(record)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda r: r["max_epsilon"].update({"0.8": 5.0}),
            r"states max_epsilon\(0.8\) = 5, but its evidence gives only",
        ),
        (lambda r: r["cosine"].update({"0.25": 0.9999999}), r"states cosine\(0.25\)"),
        (lambda r: r["evidence"].update(norm_lower=0.999999), "states norm_lower"),
        (lambda r: r["evidence"].update(norm_lower=1.5), r"norm_lower 1.5 is not in \[0, limit 1\]"),
        (lambda r: r.update(norm=0.1), "states norm = 0.1, but its map has norm"),
        (lambda r: r.update(alpha=2.0), "alpha 2 is not in"),
        (lambda r: r["noise"].update(sigma=5.0), "states noise"),
        (lambda r: r["noise"].update(kind="uniform"), "states noise"),
        (lambda r: r["bound"].update(limit=0.01), "states limit 0.01, but its evidence gives 1.0"),
        (lambda r: r["bound"].update(kind="magic"), "bound kind 'magic' is unknown"),
        (lambda r: r["evidence"].update(limit=0.95), "a unit field has limit 1, not 0.95"),
        (lambda r: r["evidence"].update(probability_gradient=True), "the curvature rule does not apply"),
        (lambda r: r.update(dim=783), "states dim 783"),
        (lambda r: r.update(rule="magic"), "states rule magic"),
        (lambda r: r.update(map_radius=1e-6), "map_radius 1e-06 is smaller than 1024 draws allow"),
        (lambda r: r.update(draws=0), "draws or attacked_map_alpha is out of range"),
        (lambda r: r.update(attacked_map_alpha=0.9), "draws or attacked_map_alpha is out of range"),
        (lambda r: r["evidence"].update(scale=float("nan")), "noise scale, limit or dim is out of range"),
        (lambda r: r["evidence"].update(eigenvalue_upper=-1.0), "eigenvalue_upper -1 is out of range"),
        (lambda r: r.update(status="uncertified"), "states status 'uncertified'"),
    ],
)
def test_verify_catches_tampering(change, problem, certificate, tmp_path) -> None:
    path = tmp_path / "x.json"
    certificate.save(path)
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    outcome = verify(path)
    assert not outcome.passed
    assert any(re.search(problem, line) for line in outcome.problems)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a certificate"),
        ("[]", "expected a JSON object with format 1"),
        ('{"format": 1}', "is not a certificate: KeyError"),
        ("null", "expected a JSON object"),
        ('{"format": 1, "map": {"shape": [2], "float64": "!!"}}', "is not a certificate"),
    ],
)
def test_bad_files(content, message, tmp_path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(StoredDataError, match=message):
        ab.Certificate.load(tmp_path / "x.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.pop("cosine"),
        lambda r: r.pop("status"),
        lambda r: r.pop("noise"),
        lambda r: r.update(cosine=[1]),
        lambda r: r.update(cosine={"often": 1.0}),
        lambda r: r.update(cosine={"0.1": None}),
        lambda r: r.update(norm_lower=None),
        lambda r: r.update(until=[]),
    ],
)
def test_broken_records_are_one_line(change, certificate, tmp_path) -> None:
    path = tmp_path / "x.json"
    certificate.save(path)
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(StoredDataError, match=r"x\.json is not a certificate"):
        verify(path)


def test_keys_stand_for_the_very_number(certificate, tmp_path) -> None:
    """A key rounded to six digits would be a claim about another epsilon."""
    epsilons = [certificate.max_epsilon(c) for c in (0.31, 0.57, 0.83, 0.95)]
    certificate.save(tmp_path / "x.json", epsilons=epsilons, cosines=[0.3 + 1e-7, 0.8])
    assert verify(tmp_path / "x.json").passed
    stored = json.loads((tmp_path / "x.json").read_text())
    assert [float(key) for key in stored["cosine"]] == epsilons
    assert "0.8" in stored["max_epsilon"]
    assert repr(epsilons[0]) in certificate.explain(0.3, epsilons[0])


def test_nothing_vacuous_or_assumed_is_offered(certificate) -> None:
    assert "accept cosine" not in certificate.explain(0.8, 5.0)
    assert "accept cosine" in certificate.explain(0.99, certificate.max_epsilon(0.9))
    field = ab.Assumed(ab.Saliency(Linear(torch.tensor([3.0, 4.0]))), 6.0)
    marked = ab.certify(field, torch.zeros(2), 0, noise=ab.Gaussian(0.5), samples=500)
    text = marked.explain(0.99, 2 * marked.max_epsilon(0.99))
    assert "ASSUMED limit (not a certificate)" in text


def test_a_question_is_stored_with_its_answer(noise_model, sample, tmp_path) -> None:
    field = ab.Unit(ab.Saliency(noise_model))
    asked = ab.certify(field, sample[0][0], noise=ab.Gaussian(0.5), samples=4096, until=(0.8, 0.3))
    asked.save(tmp_path / "x.json")
    loaded = ab.Certificate.load(tmp_path / "x.json")
    assert (loaded.until, loaded.budget, loaded.stopped) == ((0.8, 0.3), 4096, "proved")
    assert compare_runs(loaded, certify_again(loaded, "mnist-cnn-noise")) == []


def test_missing_file(tmp_path) -> None:
    with pytest.raises(StoredDataError, match="no such file"):
        ab.Certificate.load(tmp_path / "nothing.json")


def test_sampling_again_gives_the_same_certificate(certificate, noise_model, standard_model, sample) -> None:
    def again(model):
        return ab.certify(ab.Unit(ab.Saliency(model)), sample[0][0], 7, noise=ab.Gaussian(0.5), samples=1024, seed=7)

    assert compare_runs(certificate, again(noise_model)) == []
    assert any("model_sha256 differs" in line for line in compare_runs(certificate, again(standard_model)))


def test_display_rounds_down() -> None:
    assert round_down(0.82999999999999996) == "0.8299"
    assert round_down(0.5) == "0.5000"
    assert round_down(-1.0) == "-1.0000"
    assert float(round_down(0.1 + 0.2, 3)) <= 0.1 + 0.2


# --- the edge ---------------------------------------------------------------------------------------------------


def test_batches_and_single_inputs(noise_model, sample) -> None:
    field, noise = ab.Unit(ab.Saliency(noise_model)), ab.Gaussian(0.5)
    batch = ab.certify(field, sample[0][:2], [7, 1], noise=noise, samples=64)
    assert [one.target for one in batch] == [7, 1]
    single = ab.certify(field, sample[0][1], 1, noise=noise, samples=64, item=1)
    assert single.evidence == batch[1].evidence
    assert isinstance(ab.certify(field, sample[0][:1], noise=noise, samples=64), list)


def test_tabular_inputs() -> None:
    model = nn.Sequential(nn.Linear(6, 3)).eval()
    field, noise = ab.Unit(ab.Saliency(model)), ab.Gaussian(0.5)
    assert isinstance(ab.certify(field, torch.zeros(6), noise=noise, samples=64), ab.Certificate)
    assert len(ab.certify(field, torch.zeros(4, 6), noise=noise, samples=64)) == 4


UNIT = ab.Unit(ab.Saliency(Linear(torch.tensor([3.0, 4.0]))))
X = torch.zeros(2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"field": ab.Saliency(AbsFirst())}, FieldError, r"expected a field with a limit, e.g. Unit\(Saliency"),
        ({"x": [1.0, 2.0]}, ArgumentError, "expected `x` to be a tensor, got list"),
        ({"x": torch.zeros(2, dtype=torch.int64)}, ArgumentError, "expected a floating-point `x`, got torch.int64"),
        ({"x": torch.tensor([1.0, float("nan")])}, ArgumentError, "expected a finite `x`"),
        ({"x": torch.zeros(3, 5, 7)}, FieldError, r"accepts `x` of shape \(3, 5, 7\) neither as one input nor"),
        ({"noise": 0.5}, ArgumentError, "expected `noise` UniformBall or Gaussian, got float"),
        ({"samples": 0}, ArgumentError, "expected `samples` to be a whole number >= 1, got 0"),
        ({"alpha": 1.5}, ArgumentError, r"expected `alpha` in \(0, 1\), got 1.5"),
        ({"alpha": float("nan")}, ArgumentError, "expected `alpha` to be a number, got nan"),
        ({"seed": -1}, ArgumentError, "expected `seed` to be a whole number >= 0, got -1"),
        ({"batch": 0}, ArgumentError, "expected `batch` to be a whole number >= 1"),
        ({"until": 0.8}, ArgumentError, r"expected `until` to be \(cosine, epsilon\), got 0.8"),
        ({"until": (1.2, 0.1)}, ArgumentError, r"expected `until's cosine` in \[0, 1\], got 1.2"),
        ({"until": (0.8, 0.0)}, ArgumentError, "expected `until's epsilon` > 0, got 0"),
        ({"target": 5}, ArgumentError, "expected `target` in 0..1, got 5"),
        ({"target": [0, 1, 0]}, ArgumentError, r"expected one `target` per input \(1\), got 3"),
    ],
)
def test_bad_arguments(arguments, error, message) -> None:
    call = {"field": UNIT, "x": X, "target": 0, "noise": ab.Gaussian(0.5), "samples": 16} | arguments
    field, x, target = call.pop("field"), call.pop("x"), call.pop("target")
    with pytest.raises(error, match=message):
        ab.certify(field, x, target, **call)


def test_one_feature_is_not_enough() -> None:
    with pytest.raises(ArgumentError, match="expected `dim` to be a whole number >= 2, got 1"):
        ab.certify(
            ab.Unit(ab.Saliency(Linear(torch.tensor([3.0])))), torch.zeros(1), 0, noise=ab.Gaussian(0.5), samples=16
        )


def test_training_mode_is_refused() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    with pytest.raises(FieldError, match=r"call model.eval\(\) \(module '1' is training\)"):
        ab.certify(ab.Unit(ab.Saliency(model)), torch.zeros(4), noise=ab.Gaussian(0.5), samples=16)


@pytest.mark.parametrize("question", [lambda c: c.cosine(-0.1), lambda c: c.top_k(5, -0.1)])
def test_negative_epsilon(question, certificate) -> None:
    with pytest.raises(ArgumentError, match=r"expected `epsilon` >= 0, got -0\.1"):
        question(certificate)


def test_bad_k_and_cosine(certificate) -> None:
    with pytest.raises(ArgumentError, match=r"expected `k` in 1\.\.784, got 1000"):
        certificate.top_k(1000, 0.1)
    with pytest.raises(ArgumentError, match=r"expected `cosine` in \[0, 1\], got 1.5"):
        certificate.max_epsilon(1.5)


# --- the radius search ------------------------------------------------------------------------------------------


def test_min_radius_finds_the_smallest_candidate_that_passes(noise_model, sample) -> None:
    sigmas = [0.05, 0.1, 0.2, 0.4, 0.8]
    field, x = ab.Unit(ab.Saliency(noise_model)), sample[0][0]
    found = ab.min_radius(field, x, cosine=0.8, epsilon=0.2, noise="gaussian", radii=sigmas, samples=2048)
    assert found.radius == 0.2
    assert found.certificate.cosine(0.2) >= 0.8
    assert found.certificate.alpha == pytest.approx(1e-3 / 5), "alpha is shared by all candidates, tried or not"
    assert list(found.tried) == [0.05, 0.1, 0.2], "from the smallest up, and no further than needed"
    assert max(found.tried[0.05], found.tried[0.1]) < 0.2 <= found.tried[0.2]


def test_min_radius_says_when_there_is_none() -> None:
    matrix = torch.tensor([[1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)
    field, x = ab.Unit(ab.Saliency(Quadratic(matrix))), torch.tensor([0.1, 0.0], dtype=torch.float64)
    found = ab.min_radius(field, x, 0, cosine=0.99, epsilon=1.0, samples=300, radii=[0.5, 1.0])
    assert found.radius is None
    assert set(found.tried) == {0.5, 1.0}
    assert "no candidate up to 1 will do" in found.reason


def test_min_radius_checks_its_arguments() -> None:
    with pytest.raises(ArgumentError, match="expected `epsilon` > 0, got 0"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.0)
    with pytest.raises(ArgumentError, match="expected no `until`"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.1, until=(0.8, 0.1))
    with pytest.raises(ArgumentError, match="expected at least one candidate in `radii`"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.1, radii=[])
    with pytest.raises(ArgumentError, match="expected `x` to be a tensor, got ndarray"):
        ab.min_radius(UNIT, np.zeros(2), 0, cosine=0.8, epsilon=0.1)
    with pytest.raises(ArgumentError, match="expected one input in `x`, got a batch"):
        ab.min_radius(UNIT, torch.zeros(3, 2), 0, cosine=0.8, epsilon=0.1, samples=16)
    with pytest.raises(ArgumentError, match="expected noise 'uniform' or 'gaussian', got 'cube'"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.1, noise="cube")
