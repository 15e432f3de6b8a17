"""Three machines without a common disk, one of which goes away: nothing is lost, and records are the same."""

from dataclasses import replace as changed

import pytest
from msgspec.structs import replace

from attribound.runs import Store
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from tests.runs.conftest import CONFIG, records

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'attribound[ray]'")
ITEMS = 9


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    try:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        nodes = [made.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=made.address, log_to_driver=False, logging_level="error")
    except OSError as error:
        pytest.skip(f"ray cannot start here: {error}")
    yield made, nodes
    ray.shutdown()
    made.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_a_machine_that_goes_away_loses_nothing(cluster, make, tmp_path) -> None:
    from attribound.runs.engines.ray import Ray

    made, nodes = cluster
    asked = replace(CONFIG, samples=1024, items=ITEMS, pictures=0)
    expected = records(make("local", config=asked))
    config, job = prepare(asked)
    # Workers that looked for the data by their name would fail: here it names nothing.
    absent = replace(config, data=str(tmp_path / "nowhere.npz"))
    tasks = [Task(item, False, True) for item in range(ITEMS)]
    with Store.create(tmp_path / "run", config) as store:
        for number, outcome in enumerate(Ray(3).outcomes(changed(job, config=absent), tasks, lambda: False)):
            record = outcome.record
            subject = replace(record.subject, data=CONFIG.data)
            store.add(changed(outcome, record=replace(record, subject=subject)))
            if number == 2:
                made.remove_node(nodes[1])
    assert records(tmp_path / "run") == expected
