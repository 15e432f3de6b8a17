"""The paper's own maps: raw integrated gradients of the probability, and what its formula makes of them."""

from dataclasses import replace

import pytest
import torch

import attribound as ab
from attribound.certification.reopen import Opened
from attribound.errors import ArgumentError
from attribound.fields import IntegratedGradients
from attribound.models import load_model
from attribound.paper import EXPERIMENTS, Settings, conduct
from attribound.paper.gridpg import BALL, PATH, SIGMA, _ball, _integrands
from attribound.paper.raw import READINGS, raw_lengths
from attribound.paper.settings import CIFAR_MODELS, MNIST_MODELS
from attribound.paper.table import mean_interval


@pytest.fixture
def papers(tmp_path) -> Settings:
    """The paper's setting, small."""
    return Settings(out=tmp_path, items=1, samples=16, attribution="ig", output="probability", quick=True)


def test_random_path_points_give_the_norm_of_the_whole_path(sample) -> None:
    """Hardly any noise: the smoothed raw map is the plain one. Seeded; 16 fixed points would be 5 % off."""
    model, x = load_model("mnist-cnn-igr"), sample[0][0]
    field = IntegratedGradients(model, output="probability")
    subject = Opened(ab.Unit(field), x, ab.UniformBall(1e-3))
    target = int(model(x[None]).argmax())
    fine = IntegratedGradients(model, output="probability", steps=256)
    plain, coarse = (float(one.explain(x[None], target).maps.norm()) for one in (fine, field))
    found = raw_lengths(subject, target, seed=0, item=0)
    assert found["raw"] == pytest.approx(plain, rel=0.03)
    assert found["longest"] == pytest.approx(coarse, rel=0.01)


def test_readings_of_m_stand_beside_the_unit_map_and_are_no_guarantee(papers) -> None:
    for name in ("table5", "table9"):
        ours = conduct(EXPERIMENTS[name], replace(papers, model="mnist-cnn"))
        assert [column for column in ours.columns if column.split(", ", 1)[-1] in READINGS] == [
            f"its formula, {reading}" for reading in READINGS
        ]
        assert "guarantee" in ours.notes[-1]
    plain = next(iter(EXPERIMENTS["table5"].pieces(replace(papers, output="logit")).values()))
    paper = next(iter(EXPERIMENTS["table5"].pieces(papers).values()))
    assert "output" not in plain.about
    assert paper.about["output"] == "probability"
    assert plain.key != paper.key


def test_tables_take_the_models_of_their_data(papers) -> None:
    assert papers.chosen(MNIST_MODELS) == MNIST_MODELS
    on_cifar10 = replace(papers, data="cifar10:somewhere")
    assert on_cifar10.chosen(MNIST_MODELS) == {name: CIFAR_MODELS[name] for name in MNIST_MODELS}
    assert on_cifar10.chosen({"IGR": MNIST_MODELS["IGR"]}) == {"IGR": "cifar10-resnet20-igr"}
    assert replace(on_cifar10, model="a/b.safetensors").chosen(MNIST_MODELS) == {"b": "a/b.safetensors"}


@pytest.mark.parametrize(("name", "added"), [("table6", "Noise"), ("table9", "Ours")])
def test_the_papers_setting_has_the_papers_models(name, added, papers) -> None:
    table = EXPERIMENTS[name]
    assert list(table.models(papers)) == ["Standard", "IG-NORM", "IGR"]
    assert list(table.models(replace(papers, attribution=None))) == ["Standard", "IG-NORM", "IGR", added]
    assert table.models(replace(papers, model="mnist-cnn")) == {"mnist-cnn": "mnist-cnn"}


def test_grids_of_photographs_have_the_papers_ball_too(papers) -> None:
    shares = {name: [0.25, 0.5, 0.75, 0.5] for name in ("IG", "uniform", "gaussian")}
    numbers = {"gridpg": shares, "ball": {BALL: [0.5] * 4}}
    table = EXPERIMENTS["gridpg"].table(replace(papers, model="network.safetensors"), numbers)
    assert [row[0] for row in table.rows] == ["IG", "uniform", "gaussian", BALL]
    assert table.rows[-1] == [BALL, "0.500", "/"]
    assert any(note.startswith(f"{BALL} - IG on the same maps: 0.000") for note in table.notes)
    ball = next(iter(_ball(602_112).values()))
    assert ball.law(1).sigma == pytest.approx(SIGMA)


@pytest.mark.parametrize("output", ["logit", "probability"])
def test_points_that_share_a_forward_pass_give_the_integrated_gradients(output, sample, papers) -> None:
    model, grid = load_model("mnist-cnn"), sample[0][0]
    settings = replace(papers, output=output)
    none = torch.Generator()
    parts = list(_integrands(settings, model, grid, [3, 7], None, PATH, none))
    assert parts[-1][0] == PATH
    field = IntegratedGradients(model, output=output, steps=PATH)
    for target, found in zip([3, 7], sum(part for _, part in parts) / PATH, strict=True):
        expected = field.explain(grid[None], target).maps[0].double()
        assert float((found - expected).norm() / expected.norm()) < 1e-4


def test_draws_of_a_random_path_come_at_every_point_as_often(sample, papers) -> None:
    """Of a linear network the gradient is the same everywhere: only the noise on the factor z is left."""
    torch.manual_seed(0)
    linear = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10)).requires_grad_(False)
    grid, noise = sample[0][0], ab.Gaussian(0.1)
    settings = replace(papers, output="logit")
    counts, parts = zip(*_integrands(settings, linear, grid, [4], noise, 64, torch.Generator()), strict=True)
    assert counts == tuple(range(4, 65, 4))
    weights = linear[1].weight[4].view_as(grid).double()
    left = (sum(parts)[0] / 64 - grid.double() * weights) / weights
    assert float(left.std()) == pytest.approx(0.1 / 8, rel=0.1)


def test_few_draws_are_measured_beside_all(papers) -> None:
    settings = replace(papers, attribution="ig-random", items=2, samples=64, data="photos?size=16")
    table = conduct(EXPERIMENTS["gridpg"], settings)
    names = ["IG", "uniform, 1/4 of the draws", "uniform", "gaussian, 1/4 of the draws", "gaussian", BALL]
    assert [row[0] for row in table.rows] == names
    assert table.notes[0].startswith("1 grids")  # the data have no second
    assert table.notes[-1] == "Maps explain the softmax of the predicted class, as in the paper."
    whole = conduct(EXPERIMENTS["gridpg"], replace(settings, samples=16))
    assert [row[0] for row in whole.rows] == ["IG", "uniform", "gaussian", BALL]


def test_an_unknown_output_is_one_clear_line(papers) -> None:
    with pytest.raises(ArgumentError, match="expected `output` 'logit' or 'probability', got 'loss'"):
        conduct(EXPERIMENTS["table2"], replace(papers, output="loss"))


def test_intervals_are_students() -> None:
    assert mean_interval([1.0, 2.0, 3.0]) == "2.000 +- 2.484"  # 4.303 / sqrt(3)
    assert mean_interval([0.5]) == "0.500"
