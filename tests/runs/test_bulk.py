"""Records checked many at once are refused exactly when they are refused one by one."""

import random

import msgspec
import pytest
import torch

import attribound as ab
from attribound.bounds.cells import Majority
from attribound.bounds.rules import covariance
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record, decode, encode, parse
from attribound.certificates.verify import consistency, consistency_of, verify_record
from attribound.certification.certifier import Certifier
from attribound.runs import families, proved
from attribound.runs.config import RunConfig
from attribound.runs.proved import prove_records

CONFIG = RunConfig(model="m", data="d", attribution="saliency", noise="gaussian:0.5", samples=256, alpha=1e-3)
FACTORS = (0.0, 0.5, 1 - 1e-3, 1 - 1e-7, 1 + 1e-12, 1 + 1e-7, 1 + 1e-3, 2.0, 1e300)


@pytest.fixture(scope="module")
def records() -> list[Record]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).eval()
    certifier = Certifier(ab.Unit(ab.Saliency(model)), noise=ab.Gaussian(0.5), samples=256, threads=1)
    made = [certifier(torch.randn(6), seed=0, item=item).record for item in range(4)]
    return [decode(encode(one), "made") for one in made]


def forged(record: Record, pick: random.Random) -> Record:
    """One number of the record changed, and the seal made anew."""
    tree = msgspec.to_builtins(record)
    flat = ["norm", "norm_lower", "eigenvalue_upper", "map_radius", "prediction_radius", "alpha", "draws", "budget"]
    tables = ["cosine", "visible_cosine", "max_epsilon", "max_visible_epsilon", "joint_epsilon"]
    where = pick.choice(["flat", "table", "fact", "fact", "fact"])
    if where == "flat":
        holder, key = tree, pick.choice(flat)
    elif where == "table":
        holder = tree[pick.choice(tables)]
        key = pick.choice(sorted(holder))
    else:
        holder = tree["facts"][pick.choice(sorted(tree["facts"]))]
        key = pick.choice(sorted(holder))
    if isinstance(holder[key], list):
        holder, key = holder[key], pick.randrange(len(holder[key]))
    value = holder[key] * pick.choice(FACTORS)
    holder[key] = int(min(value, 1e9)) if isinstance(holder[key], int) else float(value)
    return msgspec.convert(tree, Record)


def readable(record: Record) -> Record | None:
    """As a run would read it; None: refused already there."""
    try:
        again = decode(encode(record), "made")
    except ab.AttriboundError:
        return None
    assert isinstance(again, Record)
    return again


def test_a_block_is_refused_as_its_records_are_alone(records):
    pick, made = random.Random(7), list(records)
    while len(made) < 60:
        if (one := readable(forged(pick.choice(records), pick))) is not None:
            made.append(one)
    together = consistency_of([Certificate(one) for one in made])
    assert together == [consistency(Certificate(one)) for one in made]
    assert together[: len(records)] == [[]] * len(records)
    assert sum(map(bool, together)) > 15  # forgeries of facts are found here
    whole = [one.doubts for one in prove_records(made, CONFIG)]
    alone = [next(prove_records([one], CONFIG)).doubts for one in made]
    assert whole == alone
    refused = [not verify_record(Certificate(one)).passed for one in made]
    # A run's settings are checked too: what `verify` refuses by itself a run refuses as well.
    assert all(doubts for doubts, bad in zip(whole, refused, strict=True) if bad)
    others = [doubts for doubts, bad in zip(whole, refused, strict=True) if doubts and not bad]
    assert [doubts for doubts in others if "its run" not in " ".join(doubts)] == []


def test_one_forgery_among_many_is_found_and_the_others_are_not_doubted(records):
    facts = msgspec.to_builtins(records[1].facts)
    facts["moments"]["shift"][0] *= 1 + 1e-6
    false = readable(msgspec.structs.replace(records[1], facts=facts))
    block = [*records * 50, false, *records * 50]
    doubts = [bool(one.doubts) for one in prove_records(block, CONFIG)]
    assert doubts == [False] * 200 + [True] + [False] * 200


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("name", ["cosine", "visible_cosine", "max_epsilon", "max_visible_epsilon"])
def test_what_quick_rules_do_not_prove_is_asked_again(records, monkeypatch, name, steps):
    monkeypatch.setattr(covariance, "_STEPS", steps)
    table = {key: value + 1e-6 for key, value in getattr(records[1], name).items()}
    false = readable(msgspec.structs.replace(records[1], **{name: table}))
    doubts = [bool(one.doubts) for one in prove_records([*records * 20, false, *records * 20], CONFIG)]
    assert doubts == [False] * 80 + [True] + [False] * 80


def test_records_that_asked_other_cosines_share_a_block(records):
    facts = {name: dict(fact) for name, fact in records[0].facts.items()}
    facts["moments"] = {name: column[:1] for name, column in facts["moments"].items()}
    fewer = readable(msgspec.structs.replace(records[0], facts=facts))
    together = [one.doubts for one in prove_records([records[1], fewer, records[2]], CONFIG)]
    assert together == [(), next(prove_records([fewer], CONFIG)).doubts, ()]


def test_a_class_tested_on_part_of_an_input_is_no_record(records):
    facts = msgspec.to_builtins(records[0].facts)
    facts["majority"]["tested"] = facts["majority"]["count"] + 0.5
    with pytest.raises(ab.AttriboundError, match="counts that are not whole"):
        decode(encode(msgspec.structs.replace(records[0], facts=facts)), "made")


def test_every_part_of_a_record_is_shared_or_looked_at_in_each() -> None:
    """A new field must be sorted: what is in none of the lists would be checked in the first record only, if at all."""
    sorted_out = [*families.SHARED, *families.TABLES, *families.OWN, *families.ABSENT]
    assert sorted(sorted_out) == sorted(Record.__struct_fields__)


OTHERS = {
    "status": "uncertified",
    "rule": "tight",
    "target": -1,
    "dim": 7,
    "samples": 257,
    "output": "probability",
    "attribution": "grad-cam",
    "fidelity": 1.5,
    "input_sha256": "0" * 64,
    "model_sha256": "0" * 64,
    "item": 9,
    "seed": 5,
    "prediction_radius": None,
    "joint_epsilon": {"0.8": 1e3},
    "max_epsilon": {"0.8": 0.0, "0.9": 0.0},
    "map_shape": (5,),
    "features": ("a",),
    "seal": "0" * 64,
}
"""Other values of parts that `forged` does not change; some of them are no lies."""


def altered(record: Record, pick: random.Random) -> Record:
    """A forged number, or another value of one part, sealed anew unless the seal is what was changed."""
    if pick.random() < 0.7:
        return forged(record, pick)
    name = pick.choice(sorted(OTHERS))
    return msgspec.structs.replace(record, **{name: OTHERS[name]})


def test_what_the_single_check_refuses_is_never_cleared(records):
    """Changed records among honest ones: cleared are only those of which the single check says nothing."""
    pick, cleared, fine = random.Random(11), 0, 0
    for _ in range(40):
        made = [one for one in (altered(pick.choice(records), pick) for _ in range(5)) if readable(one) is not None]
        sealed = [one if one.seal == OTHERS["seal"] else readable(one) for one in made]
        block = [*sealed, *records * 5]
        known = [place for family in families.clear(block, CONFIG) for place in family.places]
        for place in known:
            assert not next(proved._prove([block[place]], CONFIG, None)).doubts
        cleared += sum(place < len(sealed) for place in known)
        fine += sum(place >= len(sealed) for place in known)
    assert cleared < 70 < 400 < fine  # lies are the rule, but a smaller number may well be true


def test_a_share_of_alpha_from_which_no_radius_follows_clears_no_radius(records):
    """Its logarithm is infinite: so is the radius, and infinitely far from what is stated."""
    facts = msgspec.to_builtins(records[1].facts)
    facts["closeness"] = {"radius": 0.9 * records[1].map_radius, "attacked_alpha": 1e-310}
    tables = {"visible_cosine": {}, "max_visible_epsilon": {}}
    false = readable(msgspec.structs.replace(records[1], facts=facts, map_radius=0.9 * records[1].map_radius, **tables))
    assert not verify_record(Certificate(false)).passed
    for block in ([false], [false, *records * 5], [*records * 5, false]):
        assert [bool(one.doubts) for one in prove_records(block, CONFIG)] == [one is false for one in block]


def test_a_record_from_which_nothing_follows_does_not_take_its_run_with_it(records, monkeypatch):
    """Whatever a rule raises: the record states nothing, the others are as they were."""
    clever, lie = covariance.Covariance.cosine, readable(msgspec.structs.replace(records[1], cosine={"7": 1.0}))

    def cosine(self, evidence, epsilon):
        if (epsilon == 7).any():
            raise ArithmeticError("seven")
        return clever(self, evidence, epsilon)

    monkeypatch.setattr(covariance.Covariance, "cosine", cosine)
    found = list(prove_records([lie, *records * 5], CONFIG))
    assert [bool(one.doubts) for one in found] == [True] + [False] * 20
    assert found[0].record.max_epsilon == dict.fromkeys(records[1].max_epsilon, 0.0)


@pytest.mark.parametrize("name", ["max_epsilon", "prediction_radius", "joint_epsilon", "max_visible_epsilon"])
def test_small_noise_is_looked_at_as_closely_as_large_noise(name):
    """In units of 1e-9 an allowance of 1e-9 is twice sigma."""

    class Near(torch.nn.Module):
        def forward(self, x):
            return torch.stack([1e9 * x.sum(dim=1) + 1, 0 * x[:, 0]], dim=1)

    certifier = Certifier(ab.Unit(ab.Saliency(Near())), noise=ab.Gaussian(5e-10), samples=256, threads=1)
    made = [certifier(1e-9 * torch.rand(6).double(), 0, seed=0, item=item).record for item in range(3)]
    honest, config = [readable(one) for one in made], msgspec.structs.replace(CONFIG, noise="gaussian:5e-10")
    stated = getattr(honest[1], name)
    more = stated + 1e-10 if name == "prediction_radius" else {key: value + 1e-10 for key, value in stated.items()}
    false = readable(msgspec.structs.replace(honest[1], **{name: more}))
    assert not verify_record(Certificate(false)).passed
    for block in ([honest[0], false, honest[2]], [*honest * 5, false]):
        assert [bool(one.doubts) for one in prove_records(block, config)] == [one is false for one in block]


def test_a_first_record_that_lies_clears_nobody_and_accuses_nobody(records):
    facts = msgspec.to_builtins(records[1].facts)
    facts["length"]["lower"] *= 1 + 1e-3
    block = [readable(msgspec.structs.replace(records[1], facts=facts)), *records]
    assert [bool(one.doubts) for one in prove_records(block, CONFIG)] == [True, False, False, False, False]
    known = families.clear([*block, *records * 8], CONFIG)
    assert 0 not in [place for family in known for place in family.places]
    assert sum(len(family.places) for family in known) >= 20


def test_numbers_of_other_types_are_left_to_the_single_check(records):
    facts = msgspec.to_builtins(records[1].facts)
    facts["majority"]["winner"] = int(facts["majority"]["winner"])
    whole = readable(msgspec.structs.replace(records[1], facts=facts))
    assert 0 not in [place for family in families.clear([whole, records[2]], CONFIG) for place in family.places]
    assert [one.doubts for one in prove_records([whole, records[2]], CONFIG)] == [(), ()]


def test_the_cosine_at_an_epsilon_is_that_of_the_certificate(records):
    reached = [one.reached for one in prove_records(records, CONFIG, 0.3)]
    assert reached == pytest.approx([Certificate(one).cosine(0.3) for one in records], abs=1e-9)
    assert [one.reached for one in prove_records(records, CONFIG)] == [None] * len(records)


def changed(record: Record, fact: str, key: str, value: object) -> Record:
    """With another value in a fact, as a run reads it before anybody looks at the evidence."""
    facts = msgspec.to_builtins(record.facts)
    facts[fact][key] = value
    again = parse(encode(msgspec.structs.replace(record, facts=facts)), "made")
    assert isinstance(again, Record)
    return again


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("value", [0.5, 1, None, True, "ab", {}, [{}, {}], ["0.1", "0.1"], [None, 0.1], [10**400, 1]])
def test_what_is_no_list_of_numbers_is_one_line_wherever_it_stands(records, value, first):
    false = changed(records[1], "moments", "tilt", value)
    block = [false, *records * 5] if first else [*records * 5, false]
    with pytest.raises(ab.AttriboundError, match="item 1 is not a record"):
        list(prove_records(block, CONFIG))


def test_moments_without_any_list_are_one_line(records):
    facts = {**records[0].facts, "moments": dict.fromkeys(records[0].facts["moments"], 0.5)}
    with pytest.raises(ab.AttriboundError, match="one number per cosine"):
        decode(encode(msgspec.structs.replace(records[0], facts=facts)), "made")


def test_facts_that_are_not_boxed_are_not_put_into_corners(records, monkeypatch):
    def never(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(Majority, "boxed", False)
    monkeypatch.setattr(Majority, "corners", never)
    assert families.clear(records * 5, CONFIG) == []


def test_a_rule_that_does_not_prove_what_it_is_said_to_is_refused(records):
    """The single check wants the best rule; a run wants one that proves the epsilon."""
    for name in ("tight", "covariance", "moment", "curvature", "none"):
        lie = readable(msgspec.structs.replace(records[1], rule=name))
        doubts = [bool(one.doubts) for one in prove_records([lie, *records * 5], CONFIG)]
        assert doubts == [not verify_record(Certificate(lie)).passed] + [False] * 20
        assert doubts[0] is (name != "moment")


def test_answers_that_nobody_knows_are_refused_and_dropped(records):
    lie = readable(msgspec.structs.replace(records[1], answers={"invented": {"radius": 9.0}}))
    (found,) = prove_records([lie], CONFIG)
    assert not verify_record(Certificate(lie)).passed
    assert found.doubts
    assert found.record.answers is msgspec.UNSET


def test_tolerances_of_two_stated_numbers_do_not_add_up(records):
    """An epsilon a little too large does not excuse one for class and map that is a little larger still."""
    proved_epsilon = Certificate(records[0]).max_epsilon(0.8)
    more = {"0.8": proved_epsilon + 0.9e-9}
    lie = readable(
        msgspec.structs.replace(
            records[0],
            max_epsilon={**records[0].max_epsilon, **more},
            joint_epsilon={**records[0].joint_epsilon, "0.8": more["0.8"] + 0.9e-9},
        )
    )
    assert not verify_record(Certificate(lie)).passed
    assert next(prove_records([lie], CONFIG)).doubts


@pytest.mark.parametrize("samples", [0, -256])
def test_draws_without_samples_are_refused(records, samples):
    lie = readable(msgspec.structs.replace(records[1], samples=samples))
    assert not verify_record(Certificate(lie)).passed
    assert next(prove_records([lie], CONFIG)).doubts


def test_an_absurd_alpha_of_one_record_does_not_reach_the_others(records):
    """What a gate and a page say of all records together is computed from the largest alpha."""
    for alpha in (5.0, 1.0, -1.0):
        lie = readable(msgspec.structs.replace(records[1], alpha=alpha))
        (found,) = prove_records([lie], CONFIG)
        assert found.doubts
        assert found.record.alpha == CONFIG.alpha
