"""Damaged files never end the process: one line, or a forest whose values can be computed."""

import json
import subprocess
import sys

import pytest

from tests.forests.models import lgb, table, xgb

TRIES = 150
DAMAGE = """
import json, sys
from pathlib import Path
import numpy as np
from attribound.errors import AttriboundError
from attribound.forests import Forest, TreeShap

path, tries, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
whole, rng, counts = path.read_bytes(), np.random.default_rng(seed), {"refused": 0, "read": 0}
np.seterr(all="ignore")
for attempt in range(tries):
    content = bytearray(whole)
    kind = attempt % 4
    for place in rng.integers(0, len(content), 1 + kind):
        if kind == 0:
            content[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            content[place] = int(rng.integers(256))
        elif kind == 2:
            del content[place : place + int(rng.integers(1, 6))]
        else:
            content[place:place] = content[: int(rng.integers(1, 6))]
        if not content:
            break
    damaged = path.with_name("damaged" + path.suffix)
    damaged.write_bytes(bytes(content))
    try:
        forest = Forest(damaged)
        TreeShap(forest).values(np.zeros((2, len(forest.names))))
        counts["read"] += 1
    except AttriboundError:
        counts["refused"] += 1
print(json.dumps(counts))
"""


@pytest.mark.parametrize("suffix", ["ubj", "json", "txt"])
def test_damaged_files_never_end_the_process(tmp_path, suffix):
    x, score = table(0, 120, categories=4)
    make = lgb if suffix == "txt" else xgb
    options = {} if suffix == "txt" else {"suffix": suffix}
    make(tmp_path, x, (score > 0).astype(int), rounds=2, categorical=True, **options)
    command = [sys.executable, "-W", "ignore", "-c", DAMAGE, str(tmp_path / f"model.{suffix}"), str(TRIES), "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-600:]}"
    counts = json.loads(done.stdout.splitlines()[-1])  # treelite prints what it does not like
    assert counts["refused"] + counts["read"] == TRIES
    assert counts["refused"] > TRIES / 10
