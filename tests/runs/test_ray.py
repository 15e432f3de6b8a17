"""The Ray engine: the same records, also when its workers are killed."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace

from attribound.data import open_data
from attribound.errors import StoredDataError
from attribound.runs import RunConfig, Store
from attribound.runs.columns_setup import prepare_columns
from attribound.runs.engines import Local
from attribound.runs.luggage import Files, Heading, give
from attribound.runs.runner import prepare, run
from attribound.runs.tasks import Task
from attribound.tolerances.columns.record import Asked
from tests.runs.applicants import records as column_records
from tests.runs.conftest import CONFIG, records
from tests.runs.test_processes import until


def actor_processes(ancestor: int) -> list[int]:
    """Descendants of a process that Ray has named after our actor: those of other clusters are nobody's to kill."""
    lines: dict[int, bytes] = {}
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            lines[int(folder.name)] = (folder / "cmdline").read_bytes()
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])

    def descends(pid: int) -> bool:
        return pid == ancestor or (pid in parents and descends(parents[pid]))

    return [pid for pid, line in lines.items() if line.startswith(b"ray::_Actor") and descends(pid)]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'attribound[ray]'")
    try:
        ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, logging_level="error")
    except OSError as error:
        pytest.skip(f"ray cannot start here: {error}")
    yield
    ray.shutdown()


def test_only_descendants_are_actors_to_kill() -> None:
    """An actor of another cluster is left alone. `Popen` returns a moment before the system knows the new command."""
    command = ["ray::_Actor", "-c", "input()"]
    with (
        subprocess.Popen(command, executable=sys.executable, stdin=subprocess.PIPE) as actor,
        subprocess.Popen(command, executable=sys.executable, stdin=subprocess.PIPE) as other,
    ):
        assert until(lambda: {actor.pid, other.pid} <= set(actor_processes(os.getpid())))
        assert actor_processes(other.pid) == [other.pid]
        for process in (actor, other):
            process.kill()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_ray_gives_the_same_records(make, whole) -> None:
    from attribound.runs.engines.ray import Ray

    assert records(make("ray", Ray(2))) == records(whole)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_ray_gives_the_same_column_tolerances(tmp_path) -> None:
    from attribound.runs.engines.ray import Ray

    _, job = prepare_columns(RunConfig(model="credit-forest", data="credit-sample", items=3, columns=Asked()))
    for name, engine in (("ray", Ray(1)), ("local", Local(1))):
        run(job, tmp_path / name, engine)
    assert len(column_records(tmp_path / "local")) == 3
    assert column_records(tmp_path / "ray") == column_records(tmp_path / "local")


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
                for pid in actor_processes(os.getpid()):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
    assert killed >= 1
    assert found == dict.fromkeys(range(4), "certified")
    assert records(tmp_path / "run") == records(make("local"))


def test_inputs_come_with_their_tasks_and_unreadable_ones_say_why() -> None:
    data = open_data("mnist-sample")
    there = Heading(data)
    there.hold(give(Task(3, False), data))
    x = there.input(3)
    assert torch.equal(x, data.input(3))
    assert (there.label(3), there.input_name(3)) == (data.label(3), data.input_name(3))
    assert x.untyped_storage().nbytes() == 4 * x.numel()  # not those of all inputs

    with pytest.raises(StoredDataError, match="item 4 of mnist-sample did not come with its task"):
        there.input(4)
    there.hold(give(Task(5, False), Heading(data)))
    with pytest.raises(StoredDataError, match="item 5 of mnist-sample did not come with its task"):
        there.input(5)


def test_files_of_a_model_are_there_while_it_is_opened(tmp_path) -> None:
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(b"any content")
    config = replace(CONFIG, model=str(weights), denoiser="drunet")
    files = Files.of(config)
    weights.unlink()
    with files.unpacked(config.subject) as subject:
        assert Path(subject.model).read_bytes() == b"any content"
        assert (Path(subject.model).name, subject.denoiser) == (weights.name, "drunet")
    assert not Path(subject.model).exists()
