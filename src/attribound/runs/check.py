"""Check a whole run: every record against its evidence and its configuration, and some of them sampled again."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure
from attribound.certificates.verify import verify_record
from attribound.certification.again import Again, sample_again
from attribound.certification.reopen import Opener
from attribound.runs.proved import prove_all
from attribound.runs.store import Store


@final
@dataclass(frozen=True)
class RunCheck:
    """Outcome of a check.

    Attributes:
        records: how many were checked.
        resampled: how many were sampled again.
        problems: what is wrong, by item.
        remarks: what differs from a record sampled again only as far as rounding explains, by item.
    """

    records: int
    resampled: int
    problems: dict[int, list[str]]
    remarks: dict[int, list[str]]


def check_run(
    path: Path,
    *,
    resample: int = 0,
    opener: Opener | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunCheck:
    """Derive every record's numbers anew, and sample the first `resample` certified ones, with their maps, again.

    Args:
        path: the run.
        resample: how many records to sample again.
        opener: opens their subjects.
        progress: called with (records sampled again, how many in all).
    """
    problems, remarks = dict[int, list[str]](), dict[int, list[str]]()
    count, chosen = 0, list[Certificate]()
    with Store.read(path) as store:
        for one in prove_all(store.records(), store.config):
            count += 1
            if isinstance(one, Failure):
                continue
            if one.doubts:
                problems[one.record.item] = list(one.doubts)
            if len(chosen) < resample and one.record.status != "uncertified":
                chosen.append(Certificate(one.record, store.pictures(one.record.item, "smoothed").get("smoothed")))
    for number, certificate in enumerate(chosen):
        progress(number, len(chosen))
        again = _sampled_again(certificate, opener or Opener())
        if again.problems:
            problems.setdefault(certificate.item, []).extend(again.problems)
        if again.remarks:
            remarks[certificate.item] = again.remarks
    progress(len(chosen), len(chosen))
    return RunCheck(count, len(chosen), problems, remarks)


def _sampled_again(certificate: Certificate, opener: Opener) -> Again:
    opened = opener(certificate.record.subject)
    again = sample_again(certificate, opened.field, opened.x, opened.noise)
    alone = Certificate(certificate.record)  # a run's map is in float32: it has the record's norm only nearly
    return Again(verify_record(alone).problems + again.problems, again.remarks)
