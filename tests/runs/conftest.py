"""Small runs."""

import shutil
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from attribound.runs import RunConfig, Store
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run

CONFIG = RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=64, items=4, pictures=2)


@pytest.fixture
def make(tmp_path):
    """Certify with a changed configuration; returns the folder."""

    def make(name: str = "run", engine=None, config: RunConfig = CONFIG, **changes) -> Path:
        options = {key: changes.pop(key) for key in ("strict", "retry", "stop", "progress") if key in changes}
        _, job = prepare(replace(config, **changes))
        run(job, tmp_path / name, engine or Local(1), **options)
        return tmp_path / name

    return make


@pytest.fixture(scope="package")
def whole(tmp_path_factory) -> Path:
    """A run of all four inputs, to be read."""
    _, job = prepare(CONFIG)
    run(job, folder := tmp_path_factory.mktemp("whole") / "run", Local(1))
    return folder


@pytest.fixture(scope="package")
def single(tmp_path_factory) -> Path:
    """A run of one input, to be copied."""
    _, job = prepare(replace(CONFIG, items=1))
    run(job, folder := tmp_path_factory.mktemp("single") / "run", Local(1))
    return folder


@pytest.fixture
def path(single, tmp_path) -> Path:
    """A run of one input that may be damaged, in the place where `make` makes its runs and goes on with them."""
    return Path(shutil.copytree(single, tmp_path / "run"))


def records(path: Path) -> list[dict]:
    """All records without their times and the seals over them."""
    with Store.read(path) as store:
        found = [msgspec.to_builtins(one) for one in store.records()]
    return [{key: value for key, value in one.items() if key not in ("seconds", "seal")} for one in found]
