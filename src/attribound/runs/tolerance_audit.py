"""Attack what a run of tolerances claims; the run keeps its findings."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from attribound.certificates.record import Failure
from attribound.certification.reopen import Opener
from attribound.runs.proving import prove_tolerances
from attribound.runs.store import Store
from attribound.tolerances.attack import ToleranceAttack
from attribound.tolerances.finding import ToleranceFinding
from attribound.tolerances.record import ToleranceRecord


@final
@dataclass(frozen=True)
class ToleranceAudit:
    """How claims are attacked.

    Attributes:
        attack: the attack.
        opener: opens what claims are about.
        say: called with a line about what is being done.
    """

    attack: ToleranceAttack
    opener: Opener
    say: Callable[[str], None] = lambda line: None

    def of_run(
        self,
        path: Path,
        *,
        items: int | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[ToleranceFinding]:
        """Attack every record not yet attacked in this way.

        Args:
            path: the run.
            items: attack at most this many inputs.
            progress: called with (records attacked, records in all).

        Returns:
            All findings of the run.
        """
        with Store.read_any(path) as stored:
            records = self._records(stored, items)
        if records:  # a model that cannot be opened is found out before anything is written
            self.opener.explained(records[0].subject)
        with Store.append(path) as store:
            known = store.tolerance_findings()
            for number, record in enumerate(records):
                progress(number, len(records))
                mine = known.setdefault(record.item, [])
                before = [one for one in mine if one.change == record.part]
                if before and (any(one.violated for one in before) or all(map(self._same, before))):
                    continue
                found = self.attack(record, *self.opener.explained(record.subject))
                known[record.item] = [*(one for one in mine if one not in before), *found]
                store.add_findings(record.item, known[record.item])
            progress(len(records), len(records))
            return [one for found in store.tolerance_findings().values() for one in found]

    def _same(self, finding: ToleranceFinding) -> bool:
        """Whether a finding was made in this way."""
        return (finding.seed, finding.settings) == (self.attack.seed, self.attack.settings)

    def _records(self, store: Store, items: int | None) -> list[ToleranceRecord]:
        """Records that claim something; what contradicts itself counts as proving nothing, and is not attacked."""
        proved = [one for one in prove_tolerances(store) if not isinstance(one, Failure)]
        if doubtful := sum(bool(one.doubts) for one in proved):
            self.say(f"{doubtful} doubtful record(s) prove nothing and are not attacked: see `attribound verify`")
        chosen = sorted({one.record.item for one in proved})[:items]
        return [one.record for one in proved if not one.doubts and one.record.item in chosen]
