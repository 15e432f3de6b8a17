"""The one interface of engines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from attribound.certificates.record import Failure
from attribound.runs.job import Job
from attribound.runs.tasks import Outcome, Task

Stop = Callable[[], bool]


class Engine(ABC):
    """Does a job's tasks somewhere."""

    @abstractmethod
    def outcomes(self, job: Job, tasks: Sequence[Task], stop: Stop) -> Iterator[Outcome]:
        """Outcomes as they come, in any order.

        Args:
            job: what the workers need.
            tasks: the inputs.
            stop: once it returns True no new input is begun; those in hand are finished.
        """


def lost(task: Task, deaths: int) -> Outcome:
    """The outcome of an input whose worker died again and again."""
    message = f"its worker died {deaths} times (out of memory?)"
    return Outcome(task.item, Failure(item=task.item, part=task.part, message=message, passing=True))


MOST_DEATHS = 3
"""An input is given up when this many workers died on it."""
