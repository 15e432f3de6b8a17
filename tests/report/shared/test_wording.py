"""What the page says about its numbers: no more than is proved, and nothing rounded up."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from attribound.certificates.answers import CellTally, StatedReason
from attribound.certificates.record import decode, encode
from attribound.report.shared.collect import collect
from attribound.report.shared.curves import prove
from attribound.report.shared.reading import read
from attribound.report.shared.verdict import judge
from attribound.report.shared.wording import cautions, command, facts
from attribound.rounding import percent
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from tests.report.conftest import assumed, copies, error, forged
from tests.report.reading import report


def test_what_alpha_means_is_said_exactly(synthesise, template) -> None:
    page = report(synthesise(template[1]))
    assert (
        "Each certificate is false with probability at most 0.001, so of the 4 tried at most 0.004 are expected to be "
        "false. Among those picked because they passed, the share may be larger."
    ) in page.text
    assert "confidence" not in page.text.lower()


def test_failed_inputs_count_as_tried(synthesise, template) -> None:
    page = report(synthesise([*template[1][:3], error(3)]))
    assert "of the 4 tried at most 0.004" in page.text


def test_simultaneous_certificates_hold_at_once(synthesise, template) -> None:
    page = report(synthesise(template[1], simultaneous=4))
    assert "All 4 certificates are true at once with probability at least 99.6 %." in page.text
    assert "expected to be false" not in page.text
    assert "--alpha 0.004 --simultaneous" in page.text


def test_maps_as_sampled_stand_beside_exact_averages(certified) -> None:
    page = report(certified)
    assert "That is about exact averages. For maps as they are sampled and compared, the same holds for" in page.text
    assert "(maps as sampled: 0." in page.text
    exact, seen = np.array(page.data["rows"]["epsilon"]), np.array(page.data["rows"]["visible"])
    assert (seen <= exact).all()
    assert seen.max() > 0


@pytest.mark.parametrize(
    ("share", "text"), [(0.9996, "99.9 %"), (0.7, "70.0 %"), (1.0, "100.0 %"), (2 / 3, "66.6 %"), (0.29, "29.0 %")]
)
def test_shares_are_rounded_down(share, text) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(("chance", "said"), [(0.79, False), (0.8, True), (None, False)])
def test_a_cosine_that_is_not_above_chance_is_warned_of(chance, said, synthesise, template) -> None:
    with Store.read(synthesise(template[1])) as store:
        read = collect(store)
    run = replace(read, summary=replace(read.summary, chance=chance))
    cosine = run.proofs.cosines[judge(run, "x").cosine]
    assert any(one.upto is not None and one.about(cosine) for one in cautions(run)) == said


def test_low_fidelity_is_warned_of(synthesise, template) -> None:
    poor = [Outcome(o.item, msgspec.structs.replace(o.record, fidelity=0.3125), o.pictures) for o in template[1]]
    page = report(synthesise(poor))
    assert "The smoothed map's cosine with the plain map is 0.31 in the median." in page.text
    assert [one["above"] for one in page.data["cautions"] if one["above"] is not None] == [0.3125]


def test_an_assumed_limit_is_a_warning_everywhere(synthesise, template) -> None:
    page = report(synthesise(map(assumed, template[1]), bound="assumed:1"))
    assert "Not a certificate: the limit is assumed, not proved. If it were true: for " in page.text
    assert "ASSUMED, a guess: not a certificate" in page.text
    assert page.kind == "verdict warning"
    assert page.data["guaranteed"] is False
    assert page.data["word"] == "assumed"
    assert "4 assumed" in page.text


def named_facts(store: Store) -> dict[str, str]:
    run = collect(store)
    return {fact["name"]: fact["text"] for fact in facts(run, judge(run, "image"))}


def test_the_noise_is_named_by_its_law(synthesise, template) -> None:
    with Store.read(synthesise(template[1])) as store:
        found = named_facts(store)
    assert found["Noise"] == "Gaussian, standard deviation 0.5 per feature"
    assert found["Records"] == "4 certified; certified and classified correctly: 4"


def test_a_model_behind_a_denoiser_is_called_so(synthesise, template) -> None:
    behind = msgspec.structs.replace(template[0], denoiser="denoiser-x")
    assert behind.network == f"{template[0].model} behind denoiser-x"
    with Store.read(synthesise(template[1], denoiser="denoiser-x")) as store:
        found = named_facts(store)
    assert found["Model"].startswith(behind.network)


def test_the_command_repeats_maps_and_cells(template) -> None:
    config = msgspec.structs.replace(
        template[0], maps=("centred", "pooled:7"), asked={"cells": [0.5, 0.3]}, denoiser="d"
    )
    words = command(config, "out")
    assert "--denoiser d --attribution saliency --map centred --map pooled:7" in words
    assert "--cells 0.5,0.3" in words
    together = msgspec.structs.replace(template[0], changes=("rotation:10", "zoom:10%"))
    assert "--change rotation:10 --change zoom:10% " in command(together, "out")


def test_large_runs_say_what_the_page_holds(synthesise, template, monkeypatch) -> None:
    monkeypatch.setattr("attribound.report.shared.collect.MOST_ROWS", 100)
    monkeypatch.setattr("attribound.report.shared.collect.SOME_ROWS", 50)
    page = report(synthesise(copies(template[1], 120, pictures=5)))
    assert "All 120 records are checked and counted in the verdict, the curves and the quantiles." in page.text
    assert len(page.data["rows"]["item"]) == page.data["download"]["count"]
    assert len(page.data["rows"]["item"]) <= 50
    assert page.data["counts"]["holds"][0][0] == page.data["total"] == 120
    assert set(page.data["details"]) == {str(row) for row in range(5)}


def test_a_record_that_is_only_counted_is_checked_too(template) -> None:
    """A longer map, with the radius that fits it, would prove more; no draws of this number prove such a length."""
    config, outcomes = template
    false, other = (outcomes[at].record for at in (0, 1))
    facts = {name: dict(fact) for name, fact in false.facts.items()}
    facts["length"]["lower"] = 1.0
    false = decode(encode(msgspec.structs.replace(false, facts=facts)), "forged")
    unsealed = msgspec.structs.replace(other, seal="0" * 64)
    reader = read(iter([false, other, unsealed]), config, {}, kept=frozenset(), drawn=frozenset())
    proofs = prove(reader.blocks, 3, config.cosines, frozenset())
    assert proofs.anything.tolist() == [False, True, False]
    assert proofs.units[[0, 2]].max() == 0 < proofs.units[1].min()
    assert sorted(reader.tally.doubtful) == [false.item, other.item]


def test_a_record_that_is_only_counted_counts_as_one_in_the_table(template) -> None:
    config, outcomes = template
    records = [one.record for one in outcomes]
    counted, shown = (
        prove(read(iter(records), config, {}, kept=rows, drawn=frozenset()).blocks, 4, config.cosines, frozenset())
        for rows in (frozenset(), frozenset(range(4)))
    )
    assert np.array_equal(counted.units, shown.units)


def test_what_a_record_states_falsely_is_not_taken_over_where_it_is_only_counted(template) -> None:
    config, outcomes = template
    stated = {"reasons": (StatedReason(0, "age", 9.0, 9.0),), "cells": {"0.5": {"0.1": CellTally(9, 9, 9)}}}
    record = forged(outcomes[0], **stated, prediction_radius=9.0, joint_epsilon={"0.8": 9.0}).record
    reader = read(iter([record]), config, {}, kept=frozenset(), drawn=frozenset({0}))
    assert reader.tally.summary(config, [], None).orders is None
    kept = reader.records[0]
    assert (kept.reasons, kept.cells, kept.prediction_radius, kept.joint_epsilon) == (msgspec.UNSET, {}, None, {})
