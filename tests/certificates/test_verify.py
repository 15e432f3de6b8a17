"""Forged and damaged certificates: what verify finds by arithmetic alone, and what only sampling again can find."""

import re

import msgspec
import numpy as np
import pytest

from attribound.bounds import mean_radius
from attribound.certificates import Certificate, compare, verify
from attribound.certificates.record import MapRecord, Record, map_hash
from attribound.certification.certifier import certify, certify_again
from attribound.errors import StoredDataError
from attribound.fields import Clip, Saliency, Unit
from attribound.noise import Gaussian, UniformBall
from tests.certificates.forging import changed, problems


def scaled(fact: str, name: str, factor: float, *also: str):
    """Multiply a fact's number, and the fields of the record that repeat it."""

    def change(record) -> None:
        record["facts"][fact][name] *= factor
        for key in also:
            record[key] *= factor

    return change


def sixteen_draws(record) -> None:
    record.update(draws=16, samples=16, budget=16)


def billion_draws(record) -> None:
    record.update(draws=10**9, samples=10**9, budget=10**9)


def another_map(record) -> None:
    values = MapRecord(tuple(record["map"]["shape"]), record["map"]["float64"]).values()
    record["map"] = msgspec.to_builtins(MapRecord.of(values * 2))


FORGED = {
    "a larger epsilon": (
        lambda r: r["max_epsilon"].update({"0.8": 5.0}),
        r"states max_epsilon\(0.8\) = 5, but its evidence gives only",
    ),
    "a larger cosine": (lambda r: r["cosine"].update({"0.25": 0.9999999}), r"states cosine\(0.25\)"),
    "a larger visible cosine": (lambda r: r["visible_cosine"].update({"0.1": 0.99}), r"states visible_cosine\(0.1\)"),
    "a larger visible epsilon": (
        lambda r: r["max_visible_epsilon"].update({"0.8": 0.5}),
        r"states max_visible_epsilon\(0.8\) = 0.5",
    ),
    "another question's answer": (
        lambda r: r.update(cosine={"0.5": r["cosine"]["0.1"]}),
        r"states cosine\(0.5\)",
    ),
    "a larger stated norm": (lambda r: r.update(norm_lower=0.95), "states norm_lower 0.95, but its evidence gives"),
    "a larger proved norm": (lambda r: r["facts"]["length"].update(lower=0.95), "states norm_lower"),
    "a norm beyond the limit": (
        lambda r: r["facts"]["length"].update(lower=1.5),
        r"norm_lower 1.5 is not in \[0, 0.98|expected `norm` <= `limit`, got norm 1.5",
    ),
    "a norm that no draws prove": (
        lambda r: (r["facts"]["length"].update(lower=0.9999), r.update(norm_lower=0.9999)),
        r"norm_lower 0.9999 is not in \[0, 0.98",
    ),
    "a norm beyond map and radius": (scaled("length", "sampled", 0.5, "norm"), "norm_lower is larger than the map and"),
    "a norm that is not the map's": (scaled("length", "sampled", 0.99, "norm"), r"states norm 0.8\d+, but its map has"),
    "a sampled norm": (lambda r: r["facts"]["length"].update(sampled=0.99), "states norm"),
    "another stated norm": (lambda r: r.update(norm=0.1), "states norm 0.1"),
    "a negative norm": (
        lambda r: r["facts"]["length"].update(lower=-0.1),
        r"norm_lower -0.1 is not in|`norm` >= 0, got -0.1",
    ),
    "a smaller eigenvalue": (scaled("spread", "eigenvalue", 0.5, "eigenvalue_upper"), "states map_radius again"),
    "a smaller proved eigenvalue": (lambda r: r["facts"]["spread"].update(eigenvalue=0.05), "states eigenvalue_upper"),
    "a smaller stated eigenvalue": (lambda r: r.update(eigenvalue_upper=0.05), "states eigenvalue_upper 0.05"),
    "a negative eigenvalue": (lambda r: r["facts"]["spread"].update(eigenvalue=-1.0), "eigenvalue_upper -1 is smaller"),
    "an eigenvalue that no draws prove": (
        lambda r: (r["facts"]["spread"].update(eigenvalue=1e-5), r.update(eigenvalue_upper=1e-5)),
        "eigenvalue_upper 1e-05 is smaller than 1024 draws can prove",
    ),
    "a smaller radius": (scaled("closeness", "radius", 0.5, "map_radius"), "states map_radius again"),
    "a radius that no draws prove": (
        lambda r: (r["facts"]["closeness"].update(radius=1e-6), r.update(map_radius=1e-6)),
        "map_radius 1e-06 is smaller than 1024 draws can prove",
    ),
    "a stated radius": (lambda r: r.update(map_radius=1e-6), "states map_radius 1e-06"),
    "more alpha for the attacked map": (
        lambda r: r["facts"]["closeness"].update(attacked_alpha=9e-4),
        r"attacked_alpha 0.0009 is not in \(0, 3.125e-05\], its share of alpha",
    ),
    "all alpha for the attacked map": (
        lambda r: r["facts"]["closeness"].update(attacked_alpha=0.9),
        r"attacked_alpha 0.9 is not in \(0, 3.125e-05\]",
    ),
    "no alpha for the attacked map": (
        lambda r: r["facts"]["closeness"].update(attacked_alpha=0.0),
        r"attacked_alpha 0 is not in",
    ),
    "alpha 2": (lambda r: r.update(alpha=2.0), r"alpha 2 is not in \(0, 1\)"),
    "alpha 0": (lambda r: r.update(alpha=0.0), r"alpha 0 is not in \(0, 1\)"),
    "alpha smaller than was spent": (
        lambda r: r.update(alpha=9e-4),
        "the prediction spent alpha .* more than its share",
    ),
    "alpha smaller than its parts": (lambda r: r.update(alpha=1e-5), "attacked_alpha .* is not in"),
    "draws 1e9": (lambda r: r.update(draws=10**9), "draws 1000000000 is not in 2..1024"),
    "samples, draws and budget 1e9": (billion_draws, "states map_radius again"),
    "sixteen draws": (sixteen_draws, "eigenvalue_upper .* is smaller than 16 draws can prove"),
    "draws 0": (lambda r: r.update(draws=0), "draws 0 is not in 2..1024"),
    "half the draws": (lambda r: r.update(draws=512), "states map_radius again|than 512 draws can prove"),
    "twice the samples": (lambda r: r.update(samples=2048), "states map_radius again|to block means"),
    "samples that are no multiple": (lambda r: r.update(samples=1025), "samples 1025 is not a multiple of 1024 draws"),
    "more noise": (lambda r: r["noise"].update(sigma=5.0), "states noise.radius"),
    "more noise everywhere but in the subject": (
        lambda r: r["noise"].update(sigma=5.0, radius=5.0 * 786**0.5),
        "the subject's noise gaussian:0.5, but its evidence gives gaussian:5.0",
    ),
    "a radius that does not fit the law": (lambda r: r["noise"].update(radius=1.0), "states noise.radius 1.0"),
    "another law": (lambda r: r["noise"].update(kind="uniform"), "states the subject's noise gaussian:0.5"),
    "units": (lambda r: r["noise"].update(units=[1.0] * 784), "states the subject's units None"),
    "another dimension": (lambda r: r.update(dim=783), "states noise.radius"),
    "a smaller limit": (lambda r: r["bound"].update(limit=0.95), "a unit field has limit 1, not 0.95"),
    "a limit whose square is zero": (lambda r: r["bound"].update(limit=1e-170), "limit 1e-170 is out of range"),
    "no limit": (lambda r: r["bound"].update(limit=0.0), "limit 0 is out of range"),
    "another bound": (lambda r: r["bound"].update(kind="proved"), "states the subject's bound unit"),
    "the curvature rule": (
        lambda r: r["facts"].update(probability_gradient={}),
        "the curvature rule does not apply to this field",
    ),
    "another rule": (lambda r: r.update(rule="magic"), "states rule magic"),
    "another status": (lambda r: r.update(status="uncertified"), "states status uncertified"),
    "a missing fact": (lambda r: r["facts"].pop("spread"), "the fact spread is missing"),
    "no facts": (lambda r: r["facts"].clear(), "the fact length is missing"),
    "another seed": (lambda r: r.update(seed=8), "states the subject's seed 7, but its evidence gives 8"),
    "another item": (lambda r: r.update(item=8), "states the subject's item 0, but its evidence gives 8"),
    "another model": (lambda r: r.update(model_sha256="0" * 64), "states the subject's model"),
    "another input": (lambda r: r.update(input_sha256="0" * 64), "states the subject's input"),
    "another method": (lambda r: r.update(attribution="ig"), "states the subject's attribution saliency"),
    "another output": (lambda r: r.update(output="probability"), "states the subject's output logit"),
    "another shape": (lambda r: r.update(maps=["centred"]), "states the subject's maps"),
    "a negative target": (lambda r: r.update(target=-1), "target -1 or prediction 7 is negative"),
    "a fidelity above 1": (lambda r: r.update(fidelity=1.5), r"fidelity 1.5 is not in \[-1, 1\]"),
    "a longer map": (another_map, "but its map has norm"),
}
"""Changes that contradict what else is stored: found by arithmetic, whatever the seal says."""


@pytest.mark.parametrize("name", FORGED)
def test_forged_numbers_are_found_under_any_seal(name, certificate, tmp_path) -> None:
    change, problem = FORGED[name]
    found = problems(certificate, tmp_path / "x.json", change)
    assert any(re.search(problem, line) for line in found), found
    assert not any("seal" in line for line in found)
    with_old_seal = problems(certificate, tmp_path / "x.json", change, reseal=False)
    assert set(found) <= set(with_old_seal)


def test_there_are_fifty_targeted_files() -> None:
    assert len(FORGED) + len(ONLY_SAMPLING) >= 50


def turned(record) -> None:
    """A made-up map of the same norm: the same values in another order."""
    values = MapRecord(tuple(record["map"]["shape"]), record["map"]["float64"]).values()
    record["map"] = msgspec.to_builtins(MapRecord.of(np.roll(values, 5, axis=-1)))


def better_everywhere(record) -> None:
    """Everything that follows from a better norm, written consistently: no arithmetic can tell."""
    original = msgspec.convert(record, Record, strict=True)
    facts = {**original.facts, "length": {"lower": original.norm_lower + 0.02, "sampled": original.norm}}
    radius = _radius(original, facts["length"]["lower"])
    facts["closeness"] = {**original.facts["closeness"], "radius": radius}
    better = msgspec.structs.replace(
        original, facts=facts, norm_lower=facts["length"]["lower"], map_radius=radius, map=None
    )
    epsilons, cosines = map(float, original.cosine), map(float, original.max_epsilon)
    stated = Certificate(better).stating(epsilons, cosines).record
    record.update(msgspec.to_builtins(msgspec.structs.replace(stated, map=original.map)))


def _radius(record, norm_lower: float) -> float:
    return mean_radius(
        limit=record.bound.limit,
        norm_lower=norm_lower,
        samples=record.draws,
        alpha=record.facts["closeness"]["attacked_alpha"],
        eigenvalue_upper=record.eigenvalue_upper / record.block,
    )


ONLY_SAMPLING = {
    "a made-up map of the same norm": (turned, "the map differs from the one sampled again by"),
    "alpha": (lambda r: r.update(alpha=2e-3), "norm_lower differs"),
    "target": (lambda r: r.update(target=3), "differ"),
    "prediction": (lambda r: r.update(prediction=3), "prediction differs: stored 3, sampled again 7"),
    "seed": (lambda r: (r.update(seed=8), r["subject"].update(seed=8)), "differ"),
    "fidelity": (lambda r: r.update(fidelity=0.99), "fidelity differs: stored 0.99"),
    "everything consistently better": (better_everywhere, "norm_lower differs"),
}
"""Changes that contradict nothing else in the file: with a new seal, only sampling again finds them."""


@pytest.mark.parametrize("name", ONLY_SAMPLING)
def test_what_only_sampling_again_can_find(name, certificate, tmp_path, noise_model, sample) -> None:
    change, problem = ONLY_SAMPLING[name]
    path = tmp_path / "x.json"
    assert any("seal" in line for line in problems(certificate, path, change, reseal=False)), "the seal finds accidents"
    assert problems(certificate, path, change) == [], "a new seal hides it from arithmetic"
    stored = Certificate.load(path)
    again = certify_again(stored, Unit(Saliency(noise_model)), sample[0][0], Gaussian(0.5))
    found = compare(stored, again)
    assert any(re.search(problem, line) for line in found), found


def test_a_missing_seal_says_nothing(certificate, tmp_path) -> None:
    assert problems(certificate, tmp_path / "x.json", lambda r: r.update(seal=""), reseal=False) == []


def test_duplicate_keys_are_refused(certificate, tmp_path) -> None:
    """Readers disagree about which of two equal keys counts: version 0.1 showed one and checked the other."""
    path = tmp_path / "x.json"
    certificate.save(path)
    text = path.read_text()
    for old, new, message in (
        ('"max_epsilon": {', '"max_epsilon": {"0.8": 5.0, ', "the key '0.8' appears twice"),
        ('"max_epsilon": {', '"max_epsilon": {"0.80": 5.0, ', "the key '0.80' is not written as '0.8'"),
        ('"max_epsilon": {', '"max_epsilon": {"8e-1": 5.0, ', "the key '8e-1' is not written as '0.8'"),
        ('\n "alpha": ', '\n "alpha": 1e-12, "alpha": ', "the key 'alpha' appears twice"),
        ('"facts": {', '"facts": {}, "facts": {', "the key 'facts' appears twice"),
    ):
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        with pytest.raises(StoredDataError, match=re.escape(message)):
            verify(path)


def test_a_map_is_the_one_that_its_hash_names(certificate, tmp_path) -> None:
    """Another map of the same length, where the record keeps the hash of its own."""
    turned_map = np.ascontiguousarray(certificate.map[..., ::-1])
    hashed = msgspec.structs.replace(certificate.record, map_sha256=map_hash(certificate.map))
    for values, told in ((certificate.map, []), (turned_map, ["its map is not the one that it was written with"])):
        Certificate(hashed, values).save(tmp_path / "x.json")
        assert [line.split(":")[0] for line in verify(tmp_path / "x.json").problems] == told


def test_sampling_again_gives_the_same_certificate(certificate, noise_model, standard_model, sample) -> None:
    def again(model):
        return certify_again(certificate, Unit(Saliency(model)), sample[0][0], Gaussian(0.5))

    assert compare(certificate, again(noise_model)) == []
    assert any("model_sha256 differs" in line for line in compare(certificate, again(standard_model)))


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"noise": UniformBall(14.0)}, "noise differs"),
        ({"samples": 512}, "draws differs: stored 1024, sampled again 512"),
        ({"alpha": 0.01}, "alpha differs: stored 0.001, sampled again 0.01"),
        ({"seed": 8}, "seed differs: stored 7, sampled again 8"),
        ({"item": 1}, "item differs: stored 0, sampled again 1"),
        ({"until": (0.8, 0.3)}, r"until differs: stored None, sampled again \(0.8, 0.3\)"),
        ({"wrap": lambda f: Clip(f, 9.0)}, "bound differs: stored unit, sampled again clip:9.0"),
        ({"output": "probability"}, "output differs: stored logit, sampled again probability"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_compare_looks_at_everything(other, problem, certificate, noise_model, sample) -> None:
    wrap, output = other.pop("wrap", Unit), other.pop("output", "logit")
    options = {"noise": Gaussian(0.5), "samples": 1024, "seed": 7, **other}
    again = certify(wrap(Saliency(noise_model, output=output)), sample[0][0], 7, **options)
    assert any(re.search(problem, line) for line in compare(certificate, again))


def test_changes_that_are_found_keep_the_rest(certificate, tmp_path) -> None:
    """A record that states less than it proves is fine: rounding down is honest."""
    path = changed(certificate, tmp_path / "x.json", lambda r: r["max_epsilon"].update({"0.8": 0.1}), reseal=True)
    assert verify(path).passed
    assert Certificate.load(path).max_epsilon(0.8) == certificate.max_epsilon(0.8)
