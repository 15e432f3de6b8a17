"""The Ray engine: the same records, also when its workers are killed."""

import os
import signal
from pathlib import Path

import pytest

from attribound.runs import Store
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from tests.runs.conftest import CONFIG, records

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'attribound[ray]'")


def actor_processes() -> list[int]:
    """Processes that Ray has named after our actor."""
    lines = {path.parent.name: path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [int(pid) for pid, line in lines.items() if line.startswith(b"ray::_Actor")]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_ray_gives_the_same_records(make) -> None:
    from attribound.runs.engines.ray import Ray

    assert records(make("ray", Ray(2))) == records(make("local"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_killed_workers_lose_nothing(make, tmp_path) -> None:
    from attribound.runs.engines.ray import Ray

    config, job = prepare(CONFIG)
    tasks = [Task(item, False) for item in range(4)]
    found, killed = {}, 0
    with Store.create(tmp_path / "run", config) as store:
        for outcome in Ray(1).outcomes(job, tasks, lambda: False):
            store.add(outcome)
            found[outcome.item] = outcome.record.status
            if not killed:
                for pid in actor_processes():
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
    assert killed >= 1
    assert found == dict.fromkeys(range(4), "certified")
    assert records(tmp_path / "run") == records(make("local"))
