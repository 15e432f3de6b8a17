"""Surveys are runs, what is kept of them never claims more than they prove, and old results come out again."""

import json
from dataclasses import replace

import pytest

import attribound as ab
from attribound.bounds import Length, Spread
from attribound.certificates.alike import facts_alike
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure
from attribound.certification.method import estimate
from attribound.data import open_data
from attribound.errors import AttriboundError
from attribound.fields import make_field
from attribound.models import load_model
from attribound.paper import EXPERIMENTS, Settings
from attribound.paper.survey import COSINES, EPSILONS, Survey, _sound, certified_records, read_survey
from attribound.runs import Store, is_run
from attribound.sampling import Around, AtPoint, Plan
from attribound.sampling.norm import Norm
from attribound.sampling.spread import SecondMoments
from tests.paper.test_experiments import RESULTS

STANDARD = ("Standard", 1.0)
MAX_EPSILON = (
    0.027892103472368035,
    0.025623275352700148,
    0.0236770423116468,
    0.027506694362273265,
    0.02707109398306784,
)
"""Certified at cosine 0.8 for the first five images: table 2, standard model, r = 1."""


@pytest.fixture
def table2(tmp_path) -> Settings:
    return Settings(out=tmp_path, items=2, samples=128)


def test_a_survey_is_a_run_with_the_records_of_certify(table2) -> None:
    records = certified_records(table2, EXPERIMENTS["table2"].pieces(table2)[STANDARD])
    (folder,) = (table2.out / "runs").iterdir()
    assert is_run(folder)
    with Store.read(folder) as store:
        assert list(store.records()) == records
        assert store.config.noise == "uniform:1.0"
    field, data = make_field(load_model("mnist-cnn")), open_data("mnist-sample")
    for item, record in enumerate(records):
        again = ab.certify(field, data.input(item), noise=ab.UniformBall(1.0), samples=128, seed=0, item=item)
        assert (record.target, record.norm) == (again.target, pytest.approx(again.norm, abs=1e-12))
        assert record.norm_lower == pytest.approx(again.norm_lower, abs=1e-12)


def test_more_images_continue_the_run(table2) -> None:
    more = replace(table2, items=3)
    first = certified_records(table2, EXPERIMENTS["table2"].pieces(table2)[STANDARD])
    records = certified_records(more, EXPERIMENTS["table2"].pieces(more)[STANDARD])
    assert len(list((table2.out / "runs").iterdir())) == 1
    assert records[:2] == first
    assert len(records) == 3
    assert certified_records(table2, EXPERIMENTS["table2"].pieces(table2)[STANDARD]) == first


def test_what_is_kept_never_claims_more_than_the_records(table2) -> None:
    piece = EXPERIMENTS["table2"].pieces(table2)[STANDARD]
    records, survey = certified_records(table2, piece), read_survey(json.loads(json.dumps(piece.work())))
    for item, record in enumerate(records):
        claim = Certificate(record)
        for epsilon in (0.01, 0.02, *EPSILONS):
            assert claim.cosine(epsilon) - 1e-5 <= survey.cosine(epsilon)[item] <= claim.cosine(epsilon)
            assert survey.cosine_paper(epsilon)[item] == pytest.approx(claim.cosine_paper(epsilon), abs=1e-7)
        for cosine in COSINES:
            most = claim.max_epsilon(cosine)
            assert most - 1e-6 <= survey.max_epsilon(cosine)[item] <= most
            assert survey.max_epsilon_paper(cosine)[item] == pytest.approx(claim.max_epsilon_paper(cosine), abs=1e-7)


def test_stored_results_give_the_same_answers_anywhere() -> None:
    stored = _stored("table2", "mnist-cnn-saliency-r1-")
    assert stored.max_epsilon(0.8)[:5] == pytest.approx(MAX_EPSILON, rel=1e-9)


def test_draws_made_anew_give_the_stored_results_to_verify() -> None:
    """Version 0.1 made them; on any processor the same draws prove the same, up to what `verify` allows."""
    field, data, noise = make_field(load_model("mnist-cnn")), open_data("mnist-sample"), ab.UniformBall(1.0)
    stored = _stored("table2", "mnist-cnn-saliency-r1-")
    for item in range(5):
        x, statistics = data.input(item), [Norm(share=0.5), SecondMoments(share=0.25)]
        target = int(field.model(x[None]).argmax())
        family, design = Around(field, target, x), AtPoint(noise, seed=0, item=item, parts=8)
        proved = estimate(family, design, Plan(1024, 1e-3), x.shape, statistics).evidence
        assert facts_alike(Length(stored.norm_lower[item], stored.norm[item]), proved.fact(Length))
        assert facts_alike(Spread(stored.eigenvalue_upper[item]), proved.fact(Spread))


def _stored(name: str, start: str) -> Survey:
    pieces = json.loads((RESULTS / f"{name}.json").read_text())
    (key,) = (key for key in pieces if key.startswith(start))
    return read_survey(pieces[key]["value"])


def test_attacks_open_the_records_of_the_survey(table2) -> None:
    """A run that is there already is not made again: its records, times included, stay."""
    settings = replace(table2, restarts=1, steps=1)
    records = certified_records(settings, EXPERIMENTS["table2"].pieces(settings)[STANDARD])
    value = EXPERIMENTS["attacks"].pieces(settings)[STANDARD].work()
    assert certified_records(settings, EXPERIMENTS["table2"].pieces(settings)[STANDARD]) == records
    assert len(list((table2.out / "runs").iterdir())) == 1
    assert list(value["measured"]) == ["found 0.5", "confirmed 0.5", "found 1", "confirmed 1"]
    assert all(len(column) == len(records) for column in value["measured"].values())
    assert all(-1 <= cosine < 1 for cosine in value["measured"]["found 1"])


def test_an_image_that_could_not_be_certified_is_named() -> None:
    with pytest.raises(AttriboundError, match="item 7 could not be certified: out of luck"):
        _sound(Failure(item=7, message="out of luck"))
