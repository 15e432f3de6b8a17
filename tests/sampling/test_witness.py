"""Rows are watched while they are sampled: what no probe before the sampling can see."""

import pytest
import torch
from torch import nn

from attribound.baselines import center_smoothing, pixel_votes
from attribound.certification.certifier import certify
from attribound.errors import FieldError
from attribound.fields import Centred, IntegratedGradients, Saliency, Unit
from attribound.fields.exchange import Call
from attribound.fields.families import SIDES, Around, moved
from attribound.models.architectures import make_model
from attribound.noise import Gaussian
from attribound.sampling.witness import Witness
from attribound.tolerances.ask import tolerance
from tests.problems import Linear
from tests.sampling.running import drawn

X, NOISE = torch.zeros(4), Gaussian(1.0)
LEVELS = torch.tensor([51.0, 102.0, 153.0, 204.0]) / 255
MIXES = "for the same input changes with the batch around it"
CHANGES = "gave another map or output when the same call was made again"


class InLargeBatches(nn.Module):
    """From 14 rows on, the mean of the batch decides the sign: of the slopes, or of the output alone."""

    def __init__(self, what: str = "slopes") -> None:
        super().__init__()
        self.what = what

    def forward(self, y):
        sign = torch.sign(y.mean()).detach() if len(y) >= 14 else 1.0
        score, zero = y.sum(dim=1) + 0.1 * y[:, 0], 0 * y[:, 0]
        if self.what == "votes":
            return torch.stack([score, zero + 0.001 * sign], dim=1)
        return torch.stack([sign * score, zero], dim=1)


class Aging(nn.Module):
    """Another function after some calls, for good."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.left = calls

    def forward(self, y):
        self.left -= 1
        score = y.flatten(1) @ torch.tensor([1.0, 2.0, 3.0, 4.0 if self.left >= 0 else 4.001])
        return torch.stack([score, 0 * score], dim=1)


class Jitter(nn.Module):
    """A backend that adds in no fixed order: another rounding error of every number in every call."""

    def __init__(self, size: float, mixing: float = 0.0) -> None:
        super().__init__()
        self.size, self.mixing = size, mixing

    def forward(self, y):
        error = 1 + self.size * (torch.rand_like(y) - 0.5)
        score = (y * error * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum(dim=1)
        score = score + self.mixing * torch.sign(y.mean()).detach() * y[:, 0]
        return torch.stack([score, 0 * score], dim=1)


def run(model, method=Saliency, samples=1024, **options):
    return certify(Unit(method(model)), X, 0, noise=NOISE, samples=samples, seed=0, **options)


@pytest.mark.parametrize("options", [{}, {"until": (0.5, 0.1)}, {"batch": 20}], ids=["all", "stopped", "small batches"])
def test_a_model_that_mixes_in_large_batches_only_is_refused(options) -> None:
    with pytest.raises(FieldError, match=f"its output {MIXES}"):
        run(InLargeBatches(), **options)


def test_batches_in_which_nothing_mixes_are_certified() -> None:
    assert run(InLargeBatches(), batch=8).norm == pytest.approx(1.0)


def test_votes_are_watched_as_maps_are() -> None:
    """The maps are the same in every batch; the class of a few rows is not."""
    with pytest.raises(FieldError, match=f"its output {MIXES}"):
        run(InLargeBatches("votes"))


def test_a_random_path_keeps_its_randomness_and_is_watched() -> None:
    def random_path(model):
        return IntegratedGradients(model, steps=4, path="random")

    assert run(Linear(torch.ones(4)), random_path).norm > 0
    with pytest.raises(FieldError, match=MIXES):
        run(InLargeBatches(), random_path, samples=4096)


@pytest.mark.parametrize("calls", [40, 45, 60, 100, 150])
def test_a_model_that_changes_while_it_is_sampled_is_refused(calls: int) -> None:
    """About 35 calls come before the sampling, 128 belong to it; a change of one slope by 0.025 % is enough."""
    with pytest.raises(FieldError, match=CHANGES):
        run(Aging(calls), batch=8)


def _watch(source, witness) -> None:
    family, design = source
    for _ in design.rounds(family, 160, witness):
        pass
    witness.check()


class Waking(nn.Module):
    """Another function from its first large batch on: after the probes, before the first draw."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, y):
        if len(y) >= 20:
            self.weights = torch.tensor([4.0, 3.0, 2.0, 1.0])
        score = y.flatten(1) @ self.weights + 1.0
        return torch.stack([score, 0 * score], dim=1)


def test_a_model_that_changed_before_its_first_draw_is_refused() -> None:
    with pytest.raises(FieldError, match=CHANGES):
        certify(Unit(Saliency(Waking())), LEVELS, noise=NOISE, samples=512, seed=0)


@pytest.mark.parametrize(
    ("change", "model"),
    [("contrast:2", Waking()), *(("brightness:30", Aging(calls)) for calls in (2, 3, 20, 40, 60, 80))],
)
def test_the_plain_map_is_still_that_of_the_model_whose_changes_were_tried(change, model) -> None:
    """Maps of the changed model would be compared with the map of the model before."""
    with pytest.raises(FieldError, match=CHANGES):
        tolerance(Unit(Saliency(model)), LEVELS.view(1, 2, 2), change, samples=512, seed=0)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_every_change_for_good_happens_before_a_witness(share, monkeypatch) -> None:
    """However often the call that is held is replaced: each is made again before it is let go."""
    monkeypatch.setattr("attribound.sampling.witness._SHARE", share)
    for calls in range(1, 16):
        source = drawn(Unit(Saliency(Aging(calls))), X, 0, NOISE, classes=True)
        witness = Witness(0)
        with pytest.raises(FieldError, match=CHANGES):
            _watch(source, witness)


def test_last_bits_that_differ_between_identical_calls_are_allowed_and_no_more() -> None:
    torch.manual_seed(0)
    assert run(Jitter(1e-7)).norm == pytest.approx(1.0)
    with pytest.raises(FieldError, match=MIXES):
        run(Jitter(1e-7, mixing=0.001))
    with pytest.raises(FieldError, match=CHANGES):
        run(Jitter(1e-3))


def test_draws_do_not_depend_on_being_watched() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 9), nn.Tanh(), nn.Linear(9, 3)).eval()
    for field in (Unit(Saliency(model)), Unit(IntegratedGradients(model, steps=4, path="random"))):
        source = drawn(field, X, 0, NOISE, seed=3, classes=True, batch=24)
        alone, watched = (list(source[1].rounds(source[0], 512, witness)) for witness in (None, Witness(3)))
        assert all(torch.equal(one.maps, two.maps) for one, two in zip(alone, watched, strict=True))


def test_it_costs_one_call_and_a_hundredth_of_the_others(monkeypatch) -> None:
    """Of 4,000 calls 40 are expected to be made again; seeded, and within 4 deviations."""
    made = []
    original = Call.again
    monkeypatch.setattr(Call, "again", lambda call, points: made.append(len(points)) or original(call, points))
    source, witness = drawn(Unit(Saliency(Linear(torch.ones(4)))), X, 0, NOISE, batch=1), Witness(0)
    for _ in source[1].rounds(source[0], 4000, witness):
        pass
    assert 15 <= len(made) <= 65
    before = len(made)
    witness.check()
    assert len(made) == before + 1


def test_peers_are_watched_too() -> None:
    field = Saliency(InLargeBatches())
    with pytest.raises(FieldError, match=MIXES):
        center_smoothing(field, X, 0, sigma=1.0, epsilons=(0.1,), samples=200, certify_samples=200)
    with pytest.raises(FieldError, match=MIXES):
        pixel_votes(*drawn(Unit(Centred(field)), X, 0, NOISE), 0.5, samples=400)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("brief", [False, True], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("architecture", "shape", "rows"),
    [
        ("small-cnn", (1, 28, 28), 33),
        pytest.param("resnet20", (3, 32, 32), 15, marks=pytest.mark.slow),
        pytest.param("efficientnet-lite0", (3, 224, 224), 3, marks=pytest.mark.slow),
    ],
)
def test_rows_of_ordinary_networks_are_equal_to_the_bit(architecture, shape, rows, brief, threads, monkeypatch) -> None:
    """So the comparison needs no tolerance: where they are, no identical call is ever made."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    field, x = Unit(Saliency(make_model(architecture).eval())), torch.rand(shape, generator=generator)
    shifts = Gaussian(0.1).draw(rows, x, generator)
    kept = torch.arange(0, rows, 2)
    set_before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=brief):
            call = Call.make(Around(field, 0, x), shifts, generator, outputs=True)
            for side in SIDES:
                other = call.again(moved(shifts, kept, side))
                assert torch.equal(call.answer.maps[kept], other.maps[kept])
                assert torch.equal(call.answer.logits[kept], other.logits[kept])
    finally:
        torch.set_num_threads(set_before)


def test_rows_move_to_where_they_are_said_to() -> None:
    shifts = NOISE.draw(16, torch.zeros(5), torch.Generator().manual_seed(0))
    kept = torch.tensor([1, 4, 8])
    others = torch.tensor([row for row in range(16) if row not in (1, 4, 8)])
    for side in SIDES:
        batch = moved(shifts, kept, side)
        assert torch.equal(batch[kept], shifts[kept])
        if side == "reversed":
            assert torch.allclose(batch.mean(dim=0), -4 * shifts.mean(dim=0), atol=1e-5)
        else:
            expected = shifts.abs() * (3 if side == "above" else -3)
            assert torch.allclose(batch[others], expected[others], atol=1e-5)
    assert torch.equal(moved(shifts, torch.arange(16), "reversed"), shifts)
