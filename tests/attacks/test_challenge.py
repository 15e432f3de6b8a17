"""The audit: findings, tightness, skipped attacks, violations, cases that replay for any subject, exit codes."""

import json

import captum.attr
import msgspec
import numpy as np
import pytest
import torch

import attribound as ab
from attribound import cli, models
from attribound.attacks import Direct, RandomDirections
from attribound.attacks.base import make_problem
from attribound.attacks.case import load_case, replay, save_case
from attribound.attacks.challenge import challenge
from attribound.certificates.record import encode
from attribound.certificates.subject import Subject
from attribound.certification.reopen import Opener
from attribound.errors import ArgumentError, StoredDataError, UnfitError

QUICK = {"steps": 4, "samples": 24, "rescore_samples": 256}
LIE = {"length": {"lower": 0.99999, "sampled": 0.99999}, "spread": {"eigenvalue": 1e-9}}
STRONG = Direct(steps=20, samples=64, rescore_samples=8192, keep_label=False)


def make(field: ab.Field, x: torch.Tensor, attribution: str, bound: str = "unit") -> ab.Certificate:
    """A certificate of item 2 of the embedded sample that names its subject."""
    subject = Subject(model="mnist-cnn-noise", data="mnist-sample", attribution=attribution, bound=bound)
    certifier = ab.Certifier(
        field, noise=ab.Gaussian(0.5), samples=64 if attribution == "ig" else 1024, subject=subject
    )
    return certifier(x, seed=0, item=2)


@pytest.fixture(scope="module")
def subject(noise_model, sample):
    field = ab.Unit(ab.Saliency(noise_model))
    return field, sample[0][2], make(field, sample[0][2], "saliency")


def exaggerate(certificate: ab.Certificate) -> ab.Certificate:
    """A certificate that claims far too much: as if the map hardly varied under noise."""
    record = msgspec.structs.replace(certificate.record, facts=certificate.record.facts | LIE)
    return ab.Certificate(record, certificate.map)


@pytest.mark.usefixtures("quick_audits")
def test_findings(subject) -> None:
    field, x, certificate = subject
    lines: list[str] = []
    found = challenge(certificate, field, x, [Direct(**QUICK), RandomDirections(**QUICK)], progress=lines.append)
    finding = found.finding
    assert finding.certified >= 0.8
    assert finding.gap > 0
    assert (finding.method, finding.worst) == ("direct", found.worst.cosine)
    assert not finding.violated
    assert 0 < finding.tightness < 1
    assert any(line.startswith("direct at epsilon") for line in lines)
    assert json.loads(json.dumps(finding.row()))["violated"] is False


@pytest.mark.usefixtures("quick_audits")
def test_attacks_that_do_not_fit_are_skipped_and_named(noise_model, sample) -> None:
    field = ab.Unit(ab.Captum(captum.attr.InputXGradient(noise_model)))
    certificate = ab.certify(field, sample[0][2], noise=ab.Gaussian(0.5), samples=256)
    attacks = [Direct(**QUICK), RandomDirections(**QUICK)]
    finding = challenge(certificate, field, sample[0][2], attacks, measure_tightness=False).finding
    assert finding.method == "random"
    assert "cannot be differentiated" in finding.skipped["direct"]
    with pytest.raises(UnfitError, match="no attack fits: this attack needs a twice differentiable model"):
        challenge(certificate, field, sample[0][2], [Direct(**QUICK)])


@pytest.mark.parametrize(
    ("make_field", "attribution"),
    [
        pytest.param(ab.Saliency, "saliency", marks=pytest.mark.slow),
        pytest.param(lambda model: ab.IntegratedGradients(model), "ig", marks=pytest.mark.slow),
        pytest.param(lambda model: ab.Centred(ab.Pooled(ab.Saliency(model), 7)), "saliency", marks=pytest.mark.slow),
    ],
    ids=["saliency", "ig", "pooled"],
)
def test_violations_are_seen_saved_and_replayed_for_any_subject(make_field, attribution, noise_model, sample, tmp_path):
    """0.1 rebuilt unit saliency of a shipped model for every case, so that other violations replayed as none."""
    field = ab.Unit(make_field(noise_model))
    liar = exaggerate(make(field, sample[0][2], attribution))
    draws = 8192 if attribution == "saliency" else 3072
    attack = Direct(steps=6, samples=8, rescore_samples=draws, keep_label=False) if attribution == "ig" else STRONG
    found = challenge(liar, field, sample[0][2], [attack], cosine=0.99, measure_tightness=False)
    assert found.finding.violated
    assert found.finding.tightness is None
    save_case(tmp_path / "case.json", liar, found.finding, found.worst)
    case = load_case(tmp_path / "case.json")
    again = replay(case, Opener()(case.certificate.record.subject), samples=draws)
    assert again.certified == found.finding.certified
    assert again.score.cosine == pytest.approx(found.worst.cosine, abs=0.05)
    assert again.violated


@pytest.mark.usefixtures("quick_audits")
def test_a_change_longer_than_its_budget_is_no_violation(subject) -> None:
    """x + delta is rounded to the input's precision; only what was really applied counts."""
    field, x, certificate = subject
    finding = challenge(exaggerate(certificate), field, x, [RandomDirections(**QUICK)], measure_tightness=False).finding
    broken = msgspec.structs.replace(finding, worst_most=-1.0)
    assert broken.violated
    assert not msgspec.structs.replace(broken, length=finding.epsilon * 1.001).violated


def test_another_model_or_input_is_refused(subject, standard_model) -> None:
    field, x, certificate = subject
    for other, point in ((ab.Unit(ab.Saliency(standard_model)), x), (field, x + 0.01)):
        with pytest.raises(ArgumentError, match="their hashes differ"):
            challenge(certificate, other, point, [RandomDirections(**QUICK)])


@pytest.mark.parametrize("text", ['{"delta": 3}', "[]", "{", '{"kind": "x", "record": {}}'])
def test_bad_cases(text, tmp_path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(StoredDataError, match="is not a stored case"):
        load_case(tmp_path / "x.json")


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    return (code, *capsys.readouterr())


FLAGS = ("--budget", "quick", "--method", "direct", "--method", "random", "--steps", "4", "--samples", "24")


@pytest.mark.usefixtures("quick_audits")
def test_command_on_a_stored_certificate(subject, tmp_path, capsys) -> None:
    subject[2].save(tmp_path / "002.json")
    code, out, err = call(capsys, "attack", tmp_path / "002.json", *FLAGS)
    assert code == 0
    assert "1 certificate attacked, 0 violated" in out
    assert "item 2: direct at epsilon" in err


def test_command_fails_loudly_at_a_violation_and_the_case_replays(subject, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(make_problem.__kwdefaults__, "samples", 256)  # the attack aims worse and still convicts
    monkeypatch.setitem(replay.__kwdefaults__, "samples", 2048)  # an eighth of them, so that it takes a second
    (tmp_path / "liar.json").write_bytes(encode(exaggerate(subject[2]).stating().record))
    flags = ("--budget", "quick", "--method", "direct", "--steps", "8", "--samples", "32", "--cosine", "0.99")
    code, out, err = call(capsys, "attack", tmp_path / "liar.json", *flags, "--no-tightness")
    assert code == 1
    assert "VIOLATED" in out
    assert "a certificate was violated" in err
    code, out, _ = call(capsys, "replay", tmp_path / "violation-liar.json")
    assert code == 1
    assert out.startswith("VIOLATED: certified cosine")


def test_command_errors(subject, tmp_path, capsys) -> None:
    subject[2].save(tmp_path / "one.json")
    ab.certify(subject[0], subject[1], noise=ab.Gaussian(0.5), samples=64).save(tmp_path / "python.json")
    for arguments, message in (
        (
            ("attack", tmp_path / "one.json", "--method", "magic"),
            "expected a method (direct, ifia, likelihood",
        ),
        (("attack", tmp_path / "one.json", "--model", "mnist-cnn"), "mnist-cnn is not the model that was certified"),
        (("attack", tmp_path / "none.json"), "no such file"),
        (("attack", tmp_path / "python.json"), "this was certified in Python, where its model had no name"),
        (("replay", tmp_path / "one.json"), "is not a stored case"),
    ):
        code, _, err = call(capsys, *arguments)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.slow
def test_certificates_made_in_python_are_found_in_data_that_are_named(subject, tmp_path, capsys) -> None:
    """In Python inputs are not numbered: the input is looked up by its hash."""
    ab.certify(subject[0], subject[1], noise=ab.Gaussian(0.5), samples=64).save(tmp_path / "python.json")
    named = ("--model", "mnist-cnn-noise", "--data", "mnist-sample")
    assert call(capsys, "attack", tmp_path / "python.json", *named, *FLAGS)[0] == 0
    assert call(capsys, "verify", tmp_path / "python.json", *named)[0] == 0
    other = ab.certify(subject[0], torch.rand(1, 28, 28), noise=ab.Gaussian(0.5), samples=64)
    other.save(tmp_path / "other.json")
    code, _, err = call(capsys, "attack", tmp_path / "other.json", *named)
    assert code == 2
    assert "no input of mnist-sample is the one that was certified" in err


def test_a_certificate_made_in_python_behind_a_denoiser(tmp_path, capsys) -> None:
    """Named by its parts it can be sampled again; by the model alone it is another. Of 16 cells: 3,072 take seconds."""
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    np.savez(tmp_path / "two.npz", images=images.numpy(), labels=np.arange(2))
    behind = ab.Denoised(models.load_shipped("cifar10-resnet20"), models.load_denoiser("denoiser-cifar10"), sigma=0.25)
    field = ab.Unit(ab.Pooled(ab.Saliency(behind), 4))
    ab.certify(field, images[0], noise=ab.Gaussian(0.25), samples=32).save(tmp_path / "one.json")
    parts = ["--model", "cifar10-resnet20", "--data", f"npz:{tmp_path}/two.npz"]
    assert cli.run(["verify", str(tmp_path / "one.json"), *parts, "--denoiser", "denoiser-cifar10"]) == 0
    assert cli.run(["verify", str(tmp_path / "one.json"), *parts]) == 2
    assert "its hash differs (taken without a --denoiser)" in capsys.readouterr().err
