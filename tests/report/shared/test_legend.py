"""What the colours of a map are said to mean, wherever maps are shown."""

import msgspec
import numpy as np
import pytest

import attribound as ab
from attribound.certificates.certificate import Certificate
from attribound.fields import specs
from attribound.report.auditor import page as auditor
from attribound.report.drift import write_page
from attribound.report.shared.legend import RECTIFIED, legend_of
from attribound.runs import Store
from attribound.runs.compare import compare
from attribound.runs.tasks import Outcome
from tests.report.conftest import forged, write_run
from tests.report.reading import Page, report

UNUSED = "unused (no value is negative)"
CENTRED = {"attribution": "gradcam:features.3", "maps": ("centred",)}


@pytest.mark.parametrize(
    ("attribution", "maps", "low", "high"),
    [
        ("saliency", (), "against the class", "for the class"),
        ("saliency", ("pooled-signed:7", "scaled"), "against the class", "for the class"),
        ("gradcam:layer4", ("centred",), "below the map's mean", "above the map's mean"),
        ("gradcam-signed:layer4", (), "against the class", "for the class"),
        ("gradcam++:layer4@7x7", (), UNUSED, "for the class"),
        ("layercam", ("abs",), UNUSED, "for the class"),
        ("saliency", ("pooled:7",), UNUSED, "for or against the class"),
        ("saliency", ("tokens",), UNUSED, "for or against the class"),
        ("saliency", ("grouped-abs:3@0123abcd",), UNUSED, "for or against the class"),
        ("saliency", ("grouped:3@0123abcd",), "against the class", "for the class"),
        ("saliency", ("pooled:7", "centred"), "below the map's mean", "above the map's mean"),
        ("gradcam", ("centred", "abs"), UNUSED, "for or against the class"),
    ],
)
def test_the_words_follow_from_method_and_maps(attribution, maps, low, high) -> None:
    found = legend_of(attribution, maps)
    assert (found.low, found.high) == (low, high)


def test_every_class_activation_map_is_known() -> None:
    assert set(RECTIFIED) == set(specs._CAMS)


def _like(outcome: Outcome, maps: tuple[str, ...]) -> Outcome:
    """A record as a run with these maps would have it."""
    subject = msgspec.structs.replace(outcome.record.subject, maps=maps)
    return forged(outcome, maps=maps, subject=subject)


def test_pages_of_centred_maps_do_not_speak_of_the_class(tmp_path, template) -> None:
    config = msgspec.structs.replace(template[0], maps=("centred",))
    run = write_run(tmp_path / "centred", config, [_like(one, ("centred",)) for one in template[1]])
    page = report(run)
    assert "below the map's mean" in page.text
    assert "against the class" not in page.text
    (tmp_path / "audit.html").write_text(_audit(run), encoding="utf-8")
    assert "Red is above the map's mean" in Page(tmp_path / "audit.html").text
    assert "blue against it" not in Page(tmp_path / "audit.html").text
    write_page(compare(run, run), (run, run), tmp_path / "compare.html")
    text = Page(tmp_path / "compare.html").text
    assert text.count("Red is above the map's mean, blue below it") == 1
    assert "blue against it" not in text


def _audit(run) -> str:
    with Store.read(run) as store:
        return auditor.render(store)


def test_pages_of_signed_maps_keep_their_words(certified, tmp_path) -> None:
    assert "against the class" in report(certified, out=tmp_path / "page.html").text
    assert "red speaks for the explained class, blue against it" in _audit(certified).lower()


def test_two_runs_with_different_maps_have_both_words(certified, tmp_path, template) -> None:
    config = msgspec.structs.replace(template[0], maps=("centred",))
    other = write_run(tmp_path / "centred", config, [_like(one, ("centred",)) for one in template[1]])
    write_page(compare(certified, other), (certified, other), tmp_path / "compare.html")
    text = Page(tmp_path / "compare.html").text
    assert "Before: Red speaks for the explained class" in text
    assert "After: Red is above the map's mean" in text


def test_a_gallery_of_numbers_has_the_words_too(synthesise, template) -> None:
    rows = [_numbers(one) for one in template[1]]
    assert "to the right: for the class; to the left: against the class" in report(synthesise(rows)).text


def _numbers(outcome: Outcome) -> Outcome:
    return Outcome(outcome.item, outcome.record, {"plain": np.linspace(-1, 1, 30)})


def test_plots_say_what_the_colours_mean(template) -> None:
    source = template[1][0]
    signed = Certificate(source.record, source.pictures["smoothed"])
    assert ab.plot(signed).axes[0].get_xlabel() == "blue: against the class\nred: for the class"
    centred = Certificate(msgspec.structs.replace(source.record, **CENTRED), source.pictures["smoothed"])
    assert ab.plot(centred).axes[0].get_xlabel() == "blue: below the map's mean\nred: above the map's mean"
    numbers = Certificate(msgspec.structs.replace(source.record, **CENTRED), np.linspace(-1, 1, 30))
    assert ab.plot(numbers).axes[0].get_xlabel() == "left: below the map's mean, right: above the map's mean"
