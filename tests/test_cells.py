"""Cells, the class and error bars in certificates and records: contract, storage, verification, sampling again."""

import json
import re

import msgspec
import numpy as np
import pytest
import torch

from attribound.bounds import Votes
from attribound.bounds.shares import SHARES
from attribound.certificates import Certificate, compare, verify, verify_record
from attribound.certificates.alike import Precision
from attribound.certificates.record import decode, encode
from attribound.certificates.verify import _sizes
from attribound.certification.certifier import Certifier, certify
from attribound.certification.request import again as again_of
from attribound.errors import ArgumentError, StoredDataError
from attribound.fields import Assumed, Centred, Pooled, Saliency, Unit
from attribound.metrics import certified_grid_pointing_game, grid_pointing_game
from attribound.noise import Gaussian, UniformBall
from attribound.sampling import TopK
from tests.problems import HalfSpaces, Linear
from tests.sampling.running import default_statistics

FRACTIONS = (0.5, 0.3, 0.1)


@pytest.fixture(scope="module")
def field(noise_model) -> Unit:
    return Unit(Centred(Pooled(Saliency(noise_model), size=7)))


@pytest.fixture(scope="module")
def certificate(field, sample) -> Certificate:
    return certify(field, sample[0][0], noise=Gaussian(0.5), samples=1024, cells=FRACTIONS, seed=3)


def test_marks_and_radii_have_the_maps_shape(certificate) -> None:
    for fraction, hot in zip(FRACTIONS, (25, 15, 5), strict=True):
        marks, radii = certificate.cells(fraction, 0.25), certificate.cell_radius(fraction)
        assert marks.shape == radii.shape == (7, 7)
        assert set(np.unique(marks)) <= {-1, 0, 1}
        assert 0 < (marks == 1).sum() <= hot
        assert ((marks != 0) == ((radii > 0) & (radii >= 0.25))).all()
        assert ((certificate.cells(fraction, 0.0) != 0) == (radii > 0)).all()
        # What is proved at a larger epsilon is proved at a smaller one, and for a sampled map less is.
        assert (marks[certificate.cells(fraction, 0.5) != 0] != 0).all()
        assert (certificate.cell_radius(fraction, samples=500) <= radii).all()


def test_an_even_cell_is_not_marked_even_without_a_change() -> None:
    """The first pair's plane goes through the input: its two cells take turns."""
    field = HalfSpaces(torch.eye(2, dtype=torch.float64), torch.tensor([0.0, 1.0], dtype=torch.float64))
    certificate = certify(Unit(field), torch.zeros(2, dtype=torch.float64), 0, noise=Gaussian(0.5), cells=(0.5,))
    assert certificate.cells(0.5, 0.0).tolist() == [0, 0, 1, -1]


def test_hot_cells_of_a_smaller_fraction_are_never_cold_in_a_larger_one(certificate) -> None:
    small, large = certificate.cells(0.1, 0.0), certificate.cells(0.5, 0.0)
    assert not ((small == 1) & (large == -1)).any()


def test_nothing_is_marked_far_away(certificate) -> None:
    assert not certificate.cells(0.5, 5.0).any()


def test_asking_for_cells_changes_nothing_else(field, sample, certificate) -> None:
    plain = certify(field, sample[0][0], noise=Gaussian(0.5), samples=1024, seed=3)
    assert plain.norm_lower == certificate.norm_lower
    assert plain.max_epsilon(0.8) == certificate.max_epsilon(0.8)
    assert plain.prediction_radius == certificate.prediction_radius
    with pytest.raises(StoredDataError, match=r"no votes were counted .* certify with cells=\(0.5, 0.3, 0.1\)"):
        plain.cells(0.5, 0.1)
    with pytest.raises(ArgumentError, match=r"one of the fractions that were counted \(0.5, 0.3, 0.1\), got 0.2"):
        certificate.cells(0.2, 0.1)


def test_the_ball_certifies_cells_too(field, sample) -> None:
    noise = UniformBall.from_sigma(0.5, 784)
    certificate = certify(field, sample[0][0], noise=noise, samples=1024, cells=(0.5,))
    assert np.count_nonzero(certificate.cells(0.5, 0.1)) > 25
    assert (certificate.cell_radius(0.5) < 2 * noise.radius).all()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ((0.001,), "expected a fraction that marks 1 to 48 of 49 cells, got 0.001"),
        ((1.5,), r"expected `cells` in \[0, 1\], got 1.5"),
        (("x",), "expected `cells` to be a number"),
    ],
)
def test_bad_fractions(cells, message, field, sample) -> None:
    with pytest.raises(ArgumentError, match=message):
        certify(field, sample[0][0], noise=Gaussian(0.5), samples=64, cells=cells)


def test_statistics_spend_no_more_than_alpha() -> None:
    everything = default_statistics(cells=FRACTIONS, intervals=True, reasons=2)
    assert sum(one.share for one in everything) == sum(SHARES.values()) == pytest.approx(0.9)


# --- records -------------------------------------------------------------------------------------------------


def test_the_record_states_cells_and_class(certificate) -> None:
    stated = json.loads(encode(certificate.record))
    assert set(stated["cells"]) == {"0.5", "0.3", "0.1"}
    marks = certificate.cells(0.3, 0.25)
    tally = stated["cells"]["0.3"]["0.25"]
    assert tally == {"hot": (marks == 1).sum(), "cold": (marks == -1).sum(), "unproved": (marks == 0).sum()}
    assert stated["prediction_radius"] == certificate.prediction_radius > 0
    assert stated["joint_epsilon"] == {key: certificate.joint_epsilon(float(key)) for key in ("0.8", "0.9")}
    assert stated["map_shape"] == [7, 7]


def test_cells_are_read_from_a_record_without_its_map(certificate) -> None:
    again = Certificate(decode(encode(certificate.record), "stored"))
    assert again.map is None
    assert (again.cells(0.3, 0.25) == certificate.cells(0.3, 0.25)).all()
    assert again.prediction_radius == certificate.prediction_radius


def test_saved_and_verified(certificate, tmp_path) -> None:
    certificate.save(tmp_path / "x.json")
    outcome = verify(tmp_path / "x.json")
    assert outcome.problems == []
    assert outcome.certificate.evidence == certificate.evidence
    assert (outcome.certificate.interval()[0] == certificate.interval()[0]).all()
    assert outcome.certificate.top_k(5, 0.1) == certificate.top_k(5, 0.1)


def add_a_vote(stored) -> None:
    stored["facts"]["votes"]["hot"][0][0] += 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda r: r["cells"]["0.3"]["0.25"].update(hot=15, cold=34, unproved=0), r"states cells\(0.3, 0.25\)"),
        (lambda r: r["cells"]["0.3"]["0.25"].update(unproved=0), r"states cells\(0.3, 0.25\)"),
        (lambda r: r["cells"].update({"0.2": r["cells"]["0.3"]}), "states cells at 0.2: expected one of the fractions"),
        (lambda r: r.update(prediction_radius=9.0), "states prediction_radius 9, but its evidence gives only"),
        (lambda r: r["joint_epsilon"].update({"0.8": 5.0}), r"states joint_epsilon\(0.8\) = 5"),
        (lambda r: r["facts"].pop("majority"), "states prediction_radius .*, but its evidence gives only 0"),
        (lambda r: r["facts"].pop("votes"), "states cells at 0.5: no votes were counted"),
        (add_a_vote, "votes do not add up"),
        (lambda r: r["facts"]["votes"].update(alpha=9e-4), "votes spent alpha"),
        (lambda r: r["facts"]["majority"].update(alpha=9e-4), "the prediction spent alpha"),
        (lambda r: r.update(map_shape=[49]), r"states map_shape \(49,\), but its map has shape \(7, 7\)"),
        (lambda r: r.update(map_shape=[7, 8]), "holds facts about 49 cells of a map of shape"),
    ],
)
def test_tampered_records_are_found(change, problem, certificate, tmp_path) -> None:
    path = tmp_path / "x.json"
    certificate.save(path)
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))
    assert any(re.search(problem, line) for line in verify(path).problems)


def test_facts_may_not_spend_more_than_alpha_together(certificate) -> None:
    closeness = {**certificate.record.facts["closeness"], "attacked_alpha": 9.99e-4}
    record = msgspec.structs.replace(certificate.record, facts={**certificate.record.facts, "closeness": closeness})
    assert _sizes(certificate) == []
    assert _sizes(Certificate(record))[0].startswith("its facts spent alpha 0.00")


def test_keys_must_be_written_one_way(certificate) -> None:
    stored = json.loads(encode(certificate.record))
    stored["cells"]["0.30"] = stored["cells"].pop("0.3")
    with pytest.raises(StoredDataError, match=r"the key '0\.30' is not written as '0\.3'"):
        decode(json.dumps(stored), "x")


@pytest.mark.parametrize("until", [None, TopK(5), (0.8, 0.3)], ids=str)
def test_the_same_is_asked_again(until, field, sample) -> None:
    first = certify(field, sample[0][1], noise=Gaussian(0.5), samples=600, cells=(0.3,), until=until)
    stored = decode(encode(first.record), "stored")
    again = Certifier(field, noise=Gaussian(0.5), samples=600, **again_of(Certificate(stored)))(
        sample[0][1], seed=first.seed
    )
    assert compare(first, again) == []
    assert again.record.until == first.record.until
    less = Certifier(field, noise=Gaussian(0.5), samples=600, until=until)(sample[0][1], seed=first.seed)
    assert any("the facts differ" in line for line in compare(first, less))


def test_other_cosines_and_epsilons_are_asked_again(field, sample) -> None:
    first = Certifier(field, noise=Gaussian(0.5), samples=600, cosines=(0.7,), epsilons=(0.2,))(sample[0][1])
    again = Certifier(field, noise=Gaussian(0.5), samples=600, **again_of(first))(sample[0][1])
    assert compare(first, again) == []
    assert again.record.max_epsilon == first.record.max_epsilon
    assert set(again.record.cosine) == {"0.2"}


def test_votes_sampled_again_may_differ_by_undecided_draws_only(certificate) -> None:
    votes = certificate.record.facts["votes"]
    undecided = np.zeros(np.shape(votes["hot"]), np.int64)
    undecided[0, [int(np.argmax(votes["hot"][0])), 0]] = 1
    rounded = Precision(apart=1e-7, norm=0.5, hotter=undecided, colder=undecided)
    for by, alike in ((1, True), (2, False)):
        hot = np.array(votes["hot"])
        fullest = int(hot[0].argmax())
        hot[0, [fullest, 0]] += [-by, by]
        facts = {**certificate.record.facts, "votes": {**votes, "hot": hot.tolist()}}
        other = Certificate(msgspec.structs.replace(certificate.record, facts=facts), certificate.map)
        assert (compare(certificate, other, rounded) == []) is alike
        assert compare(certificate, other) == ["the facts differ: votes is not what the same draws prove again"]


def test_records_of_before_have_none_of_this(certificate) -> None:
    stored = json.loads(encode(certificate.record))
    for key in ("prediction_radius", "joint_epsilon", "cells", "map_shape"):
        del stored[key]
    for fact in ("votes", "majority", "error_bars"):
        del stored["facts"][fact]
    stored["seal"] = ""
    old = Certificate(decode(json.dumps(stored), "old"), certificate.map)
    assert verify_record(old).passed
    assert (old.prediction_radius, old.smoothed_prediction) == (0.0, None)
    assert old.record.prediction_radius is None
    assert Votes not in old.evidence.facts


def test_votes_need_no_limit() -> None:
    weights = torch.tensor([3.0, 4.0, 0.0, 1.0], dtype=torch.float64)
    guessed = certify(
        Assumed(Saliency(Linear(weights)), 100.0),
        torch.zeros(4, dtype=torch.float64),
        0,
        noise=Gaussian(1.0),
        samples=500,
        cells=(0.5,),
    )
    assert guessed.cells(0.5, 0.5).tolist() == [1, 1, -1, -1]


# --- localisation --------------------------------------------------------------------------------------------


def test_certified_grid_pointing_game() -> None:
    marks = np.zeros((4, 4), np.int8)
    marks[0, 0] = marks[0, 1] = marks[3, 3] = 1
    marks[2:, :2] = -1
    assert certified_grid_pointing_game(marks, 0, 2) == pytest.approx(2 / 3)
    assert certified_grid_pointing_game(marks[None], 3, 2) == pytest.approx(1 / 3)
    assert certified_grid_pointing_game(np.zeros((4, 4), np.int8), 0, 2) == 0.0
    # Where everything positive is proved and of one size, it is the plain game.
    hot = torch.from_numpy(marks).clamp(min=0).double()
    assert certified_grid_pointing_game(marks, 0, 2) == pytest.approx(grid_pointing_game(hot, 0, 2))
    with pytest.raises(ArgumentError, match="expected a map that splits into 3 x 3 cells"):
        certified_grid_pointing_game(marks, 0, 3)
