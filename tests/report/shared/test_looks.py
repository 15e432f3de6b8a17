"""What people see: contrast, colours of maps, notebooks and figures."""

import base64
import html
import io
import itertools
import re
from importlib import resources

import msgspec
import numpy as np
import pytest
from PIL import Image

from attribound.certificates.certificate import Certificate
from attribound.report.shared import images
from attribound.rounding import confidence, degrees, in_units
from tests.report.conftest import EVIL

CSS = (resources.files("attribound.report.shared") / "templates" / "style.css").read_text()
PAIRS = [
    *itertools.product(("ink", "soft", "accent"), ("ground", "panel")),
    ("good", "good-ground"),
    ("ink", "good-ground"),
    ("warn", "warn-ground"),
    ("warn", "ground"),
    ("bad", "bad-ground"),
]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_has_a_contrast_of_4_5(scheme) -> None:
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", re.findall(r":root \{(.*?)\}", CSS, re.S)[scheme]))
    for ink, ground in PAIRS:
        bright, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def pixels(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).convert("RGB"), int)


def test_zero_is_neutral_and_signs_mirror() -> None:
    values = np.zeros((4, 4))
    values[0, 0], values[0, 1] = 1.0, -1.0
    found = pixels(images.draw_maps({"a": values}, 10_000)["a"])
    assert np.ptp(found[3, 3]) <= 3
    assert found[3, 3].min() > 240
    red, blue = found[0, 0], found[0, 1]
    assert red[0] > red[2]
    assert blue[2] > blue[0]


def test_maps_of_one_image_share_a_scale_and_lengths_do_not_matter() -> None:
    values = np.random.default_rng(0).normal(size=(1, 12, 12))
    found = images.draw_maps({"a": values, "b": 1000 * values, "c": -values}, 10_000)
    assert found["a"] == found["b"]
    assert found["a"] != found["c"]
    assert images.cosine(values, -3 * values) == pytest.approx(-1.0)


@pytest.mark.parametrize("shape", [(5, 7), (1, 5, 7), (3, 300, 200)])
def test_inputs_of_any_size_and_range(shape) -> None:
    values = np.random.default_rng(0).normal(size=shape)
    uri = images.draw_input(values, 4_000)
    assert len(uri) <= 4_000
    assert pixels(uri).shape[0] >= 5
    assert not images.is_picture(np.zeros(9))


def test_broken_pictures_do_not_break_the_page() -> None:
    blank = images.draw_maps({"a": np.full((3, 3), np.nan)}, 1000)["a"]
    assert pixels(blank).min() > 240


def test_numbers_in_words() -> None:
    assert [degrees(c) for c in (0.0, 0.5, 0.8, 0.9, 0.95)] == [90, 60, 37, 26, 19]
    assert [confidence(a) for a in (1e-3, 0.05, 1e-6, 0.5)] == ["99.9 %", "95 %", "99.9999 %", "50 %"]
    assert in_units(8123, 4) == "0.8123"
    assert in_units(20, 0) == "20"


def test_maps_to_lay_over_are_transparent_where_they_are_weak() -> None:
    values = np.zeros((1, 7, 7))
    values[0, 0, 0], values[0, 6, 6] = 1.0, -1.0
    uri = images.draw_maps({"a": values}, 10_000, over=True)["a"]
    found = np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))
    assert found.shape == (7, 7, 4)
    assert found[3, 3, 3] == 0
    assert found[0, 0, 3] == found[6, 6, 3] > 200
    assert found[0, 0, 0] > found[0, 0, 2]


def test_a_change_is_amplified_until_it_shows() -> None:
    change = np.zeros((1, 8, 8))
    change[0, 2, 3] = -0.004
    uri, factor = images.draw_change(change, 10_000)
    assert factor == pytest.approx(125)
    assert pixels(uri)[2, 3].max() <= 1
    assert set(pixels(uri)[0, 0]) == {128}


@pytest.fixture
def certificate(template) -> Certificate:
    return Certificate(template[1][0].record, template[1][0].pictures["smoothed"])


def test_a_certificate_shows_itself_in_a_notebook(certificate) -> None:
    shown = certificate._repr_html_()
    assert f"{certificate.max_epsilon(0.8):.6f}"[:6] in shown
    assert "epsilon at cosine 0.8 (37 degrees)" in shown
    assert "ASSUMED" not in shown
    bound = msgspec.structs.replace(certificate.record.bound, source=EVIL, kind="assumed")
    evil = Certificate(msgspec.structs.replace(certificate.record, bound=bound))._repr_html_()
    assert EVIL not in evil
    assert html.escape(EVIL) in evil
    assert "The limit is ASSUMED: this is not a certificate." in evil
