"""Coloured words and pages of certificates that were made in Python."""

import pytest
import torch
from torch import nn

import attribound as ab
from attribound.errors import ArgumentError
from attribound.report.figures.highlight import save_page

WORDS = ["win", "<b>money</b>", "the", "of", "a", "in"]


class Weighted(nn.Module):
    """The first two words matter, and matter less where they are large; the others do not."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        score = torch.tanh(x[:, :2] / 2).sum(dim=(1, 2)) + 0.001 * x.sum(dim=(1, 2))
        return torch.stack([score, -score], dim=1)


FIELD = ab.Unit(ab.Tokens(ab.Saliency(Weighted())))


@pytest.fixture(scope="module")
def certificate() -> ab.Certificate:
    return ab.certify(FIELD, torch.zeros(6, 3), 0, noise=ab.Gaussian(0.3), samples=512, cells=(1 / 3,), seed=0)


def test_words_are_marked_by_what_is_proved(certificate) -> None:
    shown = ab.highlight(certificate, WORDS, epsilon=0.2)
    assert shown.marks == (1, 1, -1, -1, -1, -1)
    assert shown.hot == ("win", "<b>money</b>")
    assert str(shown) == "[win] [<b>money</b>] the of a in"
    assert "\033[1;30;43mwin\033[0m" in shown.coloured
    far = ab.highlight(certificate, WORDS, 1 / 3, epsilon=9.0)
    assert far.hot == ()
    assert str(far) == "win? <b>money</b>? the? of? a? in?"


def test_words_are_escaped_and_the_note_says_what_holds(certificate, tmp_path) -> None:
    shown = ab.highlight(certificate, WORDS, epsilon=0.2)
    page = shown._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;money" in page
    assert 'title="proved hot"' in page
    assert "up to epsilon 0.2" in page
    assert "with probability at least 99.9 %" in page
    save_page(tmp_path / "page.html", [shown, shown], "Two <mails>")
    whole = (tmp_path / "page.html").read_text()
    assert whole.count("proved hot</span>") == 2
    assert "Two &lt;mails&gt;" in whole
    hostile = ab.highlight(certificate, ["\033[31m", *WORDS[1:]])
    assert "\033[31m" not in hostile.coloured


def test_words_must_fit_the_map(certificate) -> None:
    with pytest.raises(ArgumentError, match=r"expected one word per cell of the map \(6\), got 2"):
        ab.highlight(certificate, ["a", "b"])


def batch(**options) -> list[ab.Certificate]:
    return ab.certify_batch(FIELD, torch.zeros(2, 6, 3), 0, noise=ab.Gaussian(0.3), samples=64, seed=0, **options)


def test_certificates_made_in_python_have_a_page(tmp_path) -> None:
    made = batch(reasons=2, features=("win", "money", "the", "of", "a", "in"))
    written = ab.save_report(made, tmp_path / "page.html", inputs=torch.zeros(2, 6, 3))
    page = written.read_text()
    assert "made in Python" in page
    assert "Top 2 reasons that stay" in page
    assert "money" in page
    assert "states more than" not in page, "records follow from their evidence"


def test_certificates_that_do_not_belong_together_are_refused(tmp_path) -> None:
    one, other = batch(), batch(alpha=0.01)
    out = tmp_path / "page.html"
    with pytest.raises(ArgumentError, match="at least one"):
        ab.save_report([], out)
    with pytest.raises(ArgumentError, match="expected certificates of different items"):
        ab.save_report([one[0], one[0]], out)
    with pytest.raises(ArgumentError, match=r"one model, method and noise, got alpha 0.001 -> 0.01"):
        ab.save_report([one[0], other[1]], out)
    with pytest.raises(ArgumentError, match=r"expected one of `inputs` per certificate \(2\), got 1"):
        ab.save_report(one, out, inputs=torch.zeros(1, 6, 3))
    assert not out.exists()
