"""The audit over stored certificates: findings, tightness, violations, cases, exit codes."""

import dataclasses
import json

import pytest
import torch

import attribound as ab
from attribound import cli
from attribound.attacks import Direct, RandomDirections
from attribound.attacks.audit import audit, replay, save_case
from attribound.errors import ArgumentError, StoredDataError

QUICK = {"steps": 5, "samples": 32, "rescore_samples": 1024}


@pytest.fixture(scope="module")
def subject(noise_model, sample):
    field = ab.Unit(ab.Saliency(noise_model))
    return field, sample[0][2], ab.certify(field, sample[0][2], noise=ab.Gaussian(0.5), samples=2048, item=2)


def exaggerate(certificate: ab.Certificate) -> ab.Certificate:
    """A certificate that claims far too much: as if the map hardly varied under noise."""
    evidence = dataclasses.replace(certificate.evidence, norm_lower=0.99999, eigenvalue_upper=1e-9)
    return dataclasses.replace(certificate, evidence=evidence)


def test_findings(subject) -> None:
    field, x, certificate = subject
    lines: list[str] = []
    finding = audit(certificate, field, x, [Direct(**QUICK), RandomDirections(**QUICK)], progress=lines.append)
    assert finding.certified >= 0.8
    assert finding.gap > 0
    assert finding.worst.method == "direct"
    assert not finding.violated
    assert 0 < finding.tightness < 1
    assert any(line.startswith("direct at epsilon") for line in lines)
    json.dumps(finding.row())


def test_violations_are_seen_saved_and_replayed(subject, tmp_path) -> None:
    field, x, certificate = subject
    liar = exaggerate(certificate)
    finding = audit(liar, field, x, [Direct(steps=20, samples=64, rescore_samples=8192, keep_label=False)],
                    cosine=0.99, measure_tightness=False)  # fmt: skip
    assert finding.violated
    assert finding.tightness is None
    save_case(tmp_path / "case.json", finding, liar)
    certified, cosine, most = replay(tmp_path / "case.json", field, x)
    assert certified == finding.certified
    assert cosine == pytest.approx(finding.worst.cosine, abs=0.02)
    assert most < certified


def test_a_change_longer_than_its_budget_is_no_violation(subject) -> None:
    """x + delta is rounded to the input's precision; only what was really applied counts."""
    field, x, certificate = subject
    liar = exaggerate(certificate)
    finding = audit(liar, field, x, [RandomDirections(**QUICK)], measure_tightness=False)
    result = dataclasses.replace(finding.worst, score=dataclasses.replace(finding.worst.score, cosine_most=-1.0))
    assert dataclasses.replace(finding, worst=result).violated
    longer = dataclasses.replace(result, length=finding.epsilon * 1.001)
    assert not dataclasses.replace(finding, worst=longer).violated


def test_another_model_or_input_is_refused(subject, standard_model) -> None:
    field, x, certificate = subject
    for other, point in ((ab.Unit(ab.Saliency(standard_model)), x), (field, x + 0.01)):
        with pytest.raises(ArgumentError, match="their hashes differ"):
            audit(certificate, other, point, [RandomDirections(**QUICK)])


def test_bad_cases(tmp_path, subject) -> None:
    (tmp_path / "x.json").write_text('{"delta": 3}')
    with pytest.raises(StoredDataError, match="is not a stored case"):
        replay(tmp_path / "x.json", subject[0], subject[1])


def call(capsys, *arguments) -> tuple[int, str, str]:
    code = cli.run([str(a) for a in arguments])
    return (code, *capsys.readouterr())


FLAGS = ("--method", "direct", "--method", "random", "--steps", "4", "--samples", "24", "--restarts", "2")


def test_command(subject, tmp_path, capsys) -> None:
    (tmp_path / "in").mkdir()
    subject[2].save(tmp_path / "in" / "002.json")
    code, out, err = call(
        capsys, "attack", tmp_path / "in", "--model", "mnist-cnn-noise", *FLAGS, "--out", tmp_path / "out"
    )
    assert code == 0
    assert "1 certificates attacked, 0 violated" in out
    assert "audit: 1 of 1" in err
    rows = json.loads((tmp_path / "out" / "findings.json").read_text())
    assert rows[0]["item"] == 2
    assert not rows[0]["violated"]


def test_command_fails_loudly_at_a_violation(subject, tmp_path, capsys) -> None:
    exaggerate(subject[2]).save(tmp_path / "liar.json")
    flags = ("--method", "direct", "--steps", "25", "--samples", "100", "--cosine", "0.99", "--restarts", "1")
    flags += ("--no-tightness", "--out", tmp_path)
    model = ("--model", "mnist-cnn-noise")
    code, out, err = call(capsys, "attack", tmp_path / "liar.json", *model, *flags)
    assert code == 1
    assert "VIOLATED" in out
    assert "a certificate was violated" in err
    code, out, _ = call(capsys, "attack", tmp_path / "violation-liar.json", "--replay", "--model", "mnist-cnn-noise")
    assert code == 1
    assert out.startswith("VIOLATED: certified cosine")


def test_command_errors(subject, tmp_path, capsys) -> None:
    subject[2].save(tmp_path / "one.json")
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        ((tmp_path / "one.json", "--method", "magic"), "expected a method (direct, ifia, likelihood, random), got"),
        ((tmp_path / "one.json", "--model", "mnist-cnn"), "certifies another model than mnist-cnn"),
        ((tmp_path / "empty",), "no certificates (*.json) in"),
        ((tmp_path / "none.json",), "no such file"),
        ((tmp_path / "one.json", "--replay"), "is not a stored case"),
    ):
        code, _, err = call(capsys, "attack", *arguments, "--out", tmp_path / "out")
        assert code == 2
        assert message in err
        assert err.count("\n") == 1


def test_unknown_inputs_are_refused(subject, tmp_path, capsys) -> None:
    field, _, _ = subject
    other = ab.certify(field, torch.rand(1, 28, 28), noise=ab.Gaussian(0.5), samples=64)
    other.save(tmp_path / "other.json")
    code, _, err = call(capsys, "attack", tmp_path / "other.json", "--out", tmp_path / "out")
    assert code == 2
    assert "not in the embedded sample" in err
