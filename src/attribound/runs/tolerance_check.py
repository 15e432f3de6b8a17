"""Check records of tolerances against their facts, their run and its data, and make changes again."""

from collections import defaultdict
from typing import final

from attribound.certificates.record import Failure
from attribound.certification.again import Again
from attribound.runs.check import Checking, RunCheck, repeated
from attribound.runs.proving import prove_tolerances
from attribound.tolerances.again import ask_again
from attribound.tolerances.record import ToleranceRecord


@final
class CheckedTolerances(Checking):
    """Derives every record's intervals anew."""

    def all(self, found: RunCheck) -> list[tuple[int, str]]:
        """Each change of an input is a record."""
        fine, inputs = list[tuple[int, str]](), defaultdict[str, set[int]](set)
        for one in prove_tolerances(self.store):
            found.records += 1
            if isinstance(one, Failure):
                continue
            record = one.record
            inputs[record.input_sha256].add(record.item)
            found.doubt(record.item, [f"{record.part}: {line}" for line in one.doubts])
            if self.data is not None:
                found.doubt(record.item, self.data.mismatches(record.subject, record.label))
            if record.item not in found.problems:
                fine.append((record.item, record.part))
        found.remarks += repeated(inputs.values(), self.data)
        return fine

    def again(self, item: int, part: str) -> Again:
        """Make the change again."""
        record = self.store.record(item, part)
        assert isinstance(record, ToleranceRecord)
        problems, remarks = ask_again(record, *self.opener.explained(record.subject))
        return Again([f"{part}: {line}" for line in problems], remarks)
