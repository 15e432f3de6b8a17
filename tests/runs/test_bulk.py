"""Records checked many at once are refused exactly when they are refused one by one."""

import random

import msgspec
import pytest
import torch

import attribound as ab
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record, decode, encode
from attribound.certificates.verify import consistency, consistency_of, verify_record
from attribound.certification.certifier import Certifier
from attribound.runs.config import RunConfig
from attribound.runs.proved import prove_all

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
    whole = [one.doubts for one in prove_all(made, CONFIG)]
    alone = [next(prove_all([one], CONFIG)).doubts for one in made]
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
    doubts = [bool(one.doubts) for one in prove_all(block, CONFIG)]
    assert doubts == [False] * 200 + [True] + [False] * 200


def test_records_that_asked_other_cosines_share_a_block(records):
    facts = {name: dict(fact) for name, fact in records[0].facts.items()}
    facts["moments"] = {name: column[:1] for name, column in facts["moments"].items()}
    fewer = readable(msgspec.structs.replace(records[0], facts=facts))
    together = [one.doubts for one in prove_all([records[1], fewer, records[2]], CONFIG)]
    assert together == [(), next(prove_all([fewer], CONFIG)).doubts, ()]


def test_a_class_tested_on_part_of_an_input_is_no_record(records):
    facts = msgspec.to_builtins(records[0].facts)
    facts["majority"]["tested"] = facts["majority"]["count"] + 0.5
    with pytest.raises(ab.AttriboundError, match="counts that are not whole"):
        decode(encode(msgspec.structs.replace(records[0], facts=facts)), "made")
