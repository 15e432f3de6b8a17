"""Figures: what is not there takes no place, and nobody's matplotlib is touched."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import attribound as ab
from attribound.certificates.certificate import Certificate
from attribound.errors import ArgumentError
from attribound.report.figures import masks, tune_plot
from attribound.runs import Store
from tests.report.conftest import scan_of


@pytest.fixture(scope="module")
def certificate(template) -> Certificate:
    return Certificate(template[1][0].record, template[1][0].pictures["smoothed"])


@pytest.fixture(scope="module")
def coarse(celled) -> tuple[Certificate, np.ndarray]:
    with Store.read(celled) as store:
        record = next(iter(store.records()))
        pictures = store.pictures(record.item)
    return Certificate(record, pictures["smoothed"]), pictures["input"]


def test_only_what_is_there_is_drawn(certificate) -> None:
    assert len(ab.plot(certificate).axes) == 2
    assert len(ab.plot(certificate, np.zeros((1, 28, 28))).axes) == 3
    assert len(ab.plot(certificate, np.zeros((1, 28, 28)), np.ones((1, 28, 28))).axes) == 4
    assert len(ab.plot(Certificate(certificate.record)).axes) == 1


@pytest.mark.parametrize("shape", [(28, 28), (1, 28, 28), (3, 28, 28), (28, 28, 3)])
def test_torch_and_colours_are_taken(shape, certificate) -> None:
    shown = ab.plot(certificate, torch.rand(shape, requires_grad=True)).axes[0].images[0].get_array()
    assert shown.shape == ((28, 28, 3) if 3 in shape else (28, 28))


def test_a_coarse_map_lies_over_its_image_at_the_images_resolution(coarse) -> None:
    certificate, image = coarse
    base, over = ab.plot(certificate, image).axes[1].images
    assert base.get_extent() == over.get_extent()
    assert base.get_array().shape == (28, 28)
    assert over.get_array().shape == (7, 7)
    assert over.get_interpolation() == "bilinear"


def test_cells_have_borders_on_request(coarse) -> None:
    certificate, image = coarse
    assert len(ab.plot(certificate, image).axes[1].collections) == 0
    for axes, side in (
        (ab.plot(certificate, image, borders=True).axes[1], 28),
        (ab.plot(certificate, borders=True).axes[0], 7),
    ):
        across, down = (lines.get_segments() for lines in axes.collections)
        assert (len(across), len(down)) == (6, 6)
        assert [line[0][1] for line in across] == pytest.approx([side / 7 * n - 0.5 for n in range(1, 7)])
        assert [line[0][0] for line in down] == pytest.approx([side / 7 * n - 0.5 for n in range(1, 7)])
        assert axes.images[-1].get_interpolation() != "bilinear"
        assert axes.get_ylim() == (side - 0.5, -0.5)


@pytest.mark.parametrize("shape", [(14, 14), (1, 56, 56), (3, 14, 14), (32, 32, 3), (784,)])
def test_an_image_of_another_size_is_refused(shape, coarse) -> None:
    with pytest.raises(ArgumentError, match=r"expected `image` in the size of the certified input, which has 784 numb"):
        ab.plot(coarse[0], np.zeros(shape))


def test_an_attack_is_shown_with_its_change(certificate, noise_model, sample) -> None:
    """Three more panels: the map after it, the attacked input, and the change, black or white where it is largest."""
    field, x = ab.Unit(ab.Saliency(noise_model)), sample[0][0]
    found = ab.attack(field, x, noise=ab.Gaussian(0.5), epsilon=0.5, steps=1, samples=2, rescore_samples=8)
    axes = ab.plot(certificate, x, attacked=found).axes
    assert len(axes) == 6
    with pytest.raises(ArgumentError, match=r"expected `image` to be the attacked input \(1, 28, 28\), got shape \(3,"):
        ab.plot(certificate, x.expand(3, 28, 28), attacked=found)
    assert f"l2 size {found.length:.3g}" in axes[4].get_title()
    assert f"cosine {found.cosine:.2f}" in axes[2].get_title()
    shown = np.asarray(axes[4].images[0].get_array())
    assert min(shown.min(), 1 - shown.max()) == pytest.approx(0.0, abs=1e-6)
    assert np.abs(np.asarray(axes[3].images[0].get_array()) - np.clip((x + found.delta).numpy()[0], 0, 1)).max() < 0.01


def test_the_trust_mask_shows_what_is_proved(coarse) -> None:
    certificate, image = coarse
    axes = ab.plot(certificate, image, fraction=0.5, epsilon=0.05).axes[-2]
    marks = certificate.cells(0.5, 0.05)
    assert len(axes.patches) == 49
    assert f"{(marks > 0).sum()} hot and {(marks < 0).sum()} cold" in axes.get_title()
    assert "epsilon 0.050" in axes.get_title()
    hatched = sum(patch.get_hatch() is not None for patch in axes.patches)
    assert hatched == (marks == 0).sum()
    with pytest.raises(ArgumentError, match="expected cells in rows and columns"):
        masks.grid_of(np.zeros((3, 7, 7), np.int8))


def test_rows_of_numbers_have_names(certificate) -> None:
    tabular = Certificate(certificate.record, np.linspace(-1, 1, 30))
    axes = ab.plot(tabular, None, np.linspace(1, -1, 30), features=[f"blood {n}" for n in range(30)]).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert len(names) == 15
    assert {"blood 0", "blood 29"} <= set(names)


def test_the_papers_curve_below_ours_is_explained(certificate) -> None:
    names = [text.get_text() for text in ab.plot(certificate).axes[-1].get_legend().get_texts()]
    assert any("not a guarantee" in name for name in names)
    assert any("it ignores the draws' spread, so ours can be above it" in name for name in names)


def test_an_assumed_scan_says_so(template) -> None:
    assert "ASSUMED" in tune_plot.plot_scan(scan_of(template[0], assumed=True)).axes[0].get_xlabel()
    assert "ASSUMED" not in tune_plot.plot_scan(scan_of(template[0])).axes[0].get_xlabel()


def test_no_backend_is_chosen() -> None:
    code = (
        "import sys, matplotlib; before = dict.__getitem__(matplotlib.rcParams, 'backend');"
        "from attribound.report.figures import plots; plots.plot_gaps({'a': ([0.1], [0.2])})._repr_png_();"
        "assert dict.__getitem__(matplotlib.rcParams, 'backend') is before;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
