"""A small part of `make torture`: what fits into CI. The whole table is about an hour."""

import pytest

from tests.torture import files, media, signals
from tests.torture.fault import repeat

QUICK = {fault.name: fault for fault in (*signals.FAULTS, *media.FAULTS)}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("kill -9, one worker", marks=pytest.mark.slow),
        pytest.param("kill -9, two workers", marks=pytest.mark.slow),
        pytest.param("kill -9, Ray", marks=pytest.mark.slow),
        pytest.param("disk full (a small tmpfs, or RLIMIT_FSIZE where nothing can be mounted)", marks=pytest.mark.slow),
        pytest.param("read-only medium with a log left over", marks=pytest.mark.slow),
        pytest.param("few descriptors (RLIMIT_NOFILE)", marks=pytest.mark.slow),
        pytest.param("copied while it is written", marks=pytest.mark.slow),
    ],
)
def test_a_fault_damages_nothing(name, tmp_path) -> None:
    assert repeat(QUICK[name], 1, tmp_path, seed=1, say=lambda line: None).problems == []


@pytest.mark.parametrize("sort", [pytest.param("mutated certificates", marks=pytest.mark.slow), "mutated runs"])
def test_mutated_files_are_read_or_refused(sort, tmp_path) -> None:
    fault = next(one for one in files.faults(100) if one.name == sort)
    assert repeat(fault, 100, tmp_path, seed=1, say=lambda line: None).problems == []
