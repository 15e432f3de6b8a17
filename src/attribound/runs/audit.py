"""Attack what a run or a stored certificate claims; a run keeps its findings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from attribound import checks as check
from attribound.attacks.base import Attack
from attribound.attacks.case import save_case
from attribound.attacks.challenge import Challenge, challenge, settings_of
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure, Record
from attribound.certification.reopen import Opener
from attribound.forests.libraries import library_of
from attribound.runs.job import cells_of
from attribound.runs.proving import prove_columns
from attribound.runs.store import Store
from attribound.tolerances.columns.attack import ColumnsAttack
from attribound.tolerances.columns.finding import ColumnsFinding


@final
@dataclass(frozen=True)
class Audit:
    """How claims are attacked.

    Attributes:
        attacks: methods and their options.
        opener: opens what claims are about.
        cosine: the largest epsilon certified for this cosine is attacked.
        seed: seed of the attacks.
        tightness: also search the smallest epsilon that breaks the cosine.
        say: called with a line about what is being done.
    """

    attacks: Sequence[Attack]
    opener: Opener
    cosine: float = 0.8
    seed: int = 0
    tightness: bool = False
    say: Callable[[str], None] = lambda line: None

    def of_run(
        self,
        path: Path,
        *,
        items: int | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[Finding]:
        """Attack every certified record not yet attacked in this way; stops at the first violation and saves its case.

        Args:
            path: the run.
            items: attack at most this many inputs.
            progress: called with (inputs attacked, inputs in all).

        Returns:
            All findings of the run.
        """
        check.fraction("cosine", self.cosine)
        self._open_first(path)
        with Store.append(path) as store:
            done, settings = store.findings(), settings_of(self.attacks, self.cosine, self.seed, self.tightness)
            certified = list(_certified(store))[:items]
            for number, record in enumerate(certified):
                progress(number, len(certified))
                before = done.get(record.item)
                if before and (before.violated or before.settings == settings):
                    continue
                found = self._challenge(Certificate(record))
                worst = found.worst
                pictures = {"attacked": worst.map.numpy(), "change": worst.delta.cpu().double().numpy()}
                store.add_finding(found.finding, pictures)
                if found.finding.violated:
                    save_case(path / f"violation-{record.item}.json", Certificate(record), found.finding, worst)
                    break
            progress(len(certified), len(certified))
            return list(store.findings().values())

    def of_file(self, path: Path) -> Finding:
        """Attack one stored certificate; a violation is saved as a case beside it."""
        certificate = Certificate.load(path)
        found = self._challenge(certificate)
        if found.finding.violated:
            save_case(path.with_name(f"violation-{path.stem}.json"), certificate, found.finding, found.worst)
        return found.finding

    def _open_first(self, path: Path) -> None:
        """A model that cannot be opened is found out before anything is written."""
        with Store.read(path) as stored:
            claim = next(_certified(stored), None)
        if claim is not None:
            self.opener(claim.subject)

    def _challenge(self, claim: Certificate) -> Challenge:
        opened = self.opener(claim.record.subject)
        return challenge(
            claim,
            opened.field,
            opened.x,
            self.attacks,
            cosine=self.cosine,
            seed=self.seed,
            measure_tightness=self.tightness,
            progress=lambda line: self.say(f"item {claim.item}: {line}"),
        )


def _certified(store: Store) -> Iterator[Record]:
    return (one for one in store.records() if isinstance(one, Record) and one.status != "uncertified")


def audit_columns(
    path: Path,
    opener: Opener,
    *,
    count: int = 2048,
    seed: int = 0,
    items: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    say: Callable[[str], None] = lambda line: None,
) -> list[ColumnsFinding]:
    """Attack every statement of a run.

    Args:
        path: the run.
        opener: opens its forest.
        count: points for each way to move.
        seed: of the points.
        items: attack at most this many rows.
        progress: called with (rows attacked, rows in all).
        say: called with a line about what is being done.
    """
    with Store.append(path) as store:
        config = store.config
        shap, _ = opener.table(config.subject, cells_of(config))
        forest = shap.forest
        library = library_of(opener.model_file(config.subject), library=forest.library, outputs=forest.outputs)
        if library is None:
            say(f"{forest.library} is not installed: nearest changes are not explained by it")
        attack = ColumnsAttack(shap, count, seed, library)
        proved = (one for one in prove_columns(store) if not isinstance(one, Failure))
        records = [one.record for one in proved if not one.doubts][:items]
        found: list[ColumnsFinding] = []
        for number, record in enumerate(records):
            progress(number, len(records))
            findings = attack(record)
            store.add_findings(record.item, findings)
            found += findings
        progress(len(records), len(records))
    return found
