"""Make the screenshots of the pages: `python scripts/assets/make_screenshots.py [RUN MASKED TOLERANCES]`.

Without runs, certifies 24 images of the embedded sample twice, saliency and maps of 7 x 7 patches with their cells, and
attacks three of each; and asks for the tolerances of six images: a few minutes. One run only: the page of tolerances.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from attribound import cli
from attribound.report.page import write_report

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SHOTS = {
    "report-light.png": {"width": 1180, "height": 1290, "scheme": "light", "enlarge": False},
    "report-mask.png": {"width": 1000, "height": 900, "scheme": "light", "enlarge": True},
    "report-phone-dark.png": {"width": 390, "height": 844, "scheme": "dark", "enlarge": True},
}
FILM = {"width": 1120, "height": 860, "scheme": "light", "enlarge": False, "part": "#sheets"}
TOLERANCE = "tolerance --model mnist-cnn-consistency --data mnist-sample --samples 2048 --cosine 0.8 --items 6"
CERTIFY = "certify --model mnist-cnn-consistency --data mnist-sample --noise gaussian:0.75 --samples 2048"
SHAPE = "--map pooled:7 --map centred --cells 0.5,0.3"
ATTACK = "--method direct --restarts 1 --steps 5 --samples 16 --items 3"
LARGEST = 150_000


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("error: no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        given = [Path(path) for path in sys.argv[1:4]]
        *runs, sheets = given or make_runs(Path(folder))
        pages = [write_report(run, Path(folder) / f"{run.name}.html") for run in runs]
        film = write_report(sheets, Path(folder) / "tolerances.html")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            for name, shot in SHOTS.items() if pages else ():
                store(IMAGES / name, take(browser, pages[name == "report-mask.png"], **shot))
            store(IMAGES / "tolerance-light.png", take(browser, film, **FILM))
            browser.close()


def make_runs(folder: Path) -> list[Path]:
    runs = [make_run(folder / name, shape) for name, shape in (("my-run", ""), ("masked", SHAPE))]
    cli.run([*TOLERANCE.split(), "--workers", "1", "--out", str(folder / "sheets")])
    return [*runs, folder / "sheets"]


def make_run(path: Path, shape: str) -> Path:
    cli.run([*CERTIFY.split(), *shape.split(), "--items", "24", "--workers", "1", "--out", str(path)])
    cli.run(["attack", str(path), *ATTACK.split()])
    return path


def take(browser, page: Path, *, width: int, height: int, scheme: str, enlarge: bool, part: str = "body") -> bytes:
    view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    view.goto(page.resolve().as_uri())
    view.wait_for_selector("html[data-ready=yes]")
    if enlarge:
        view.click("#cards li:first-child h3 button")
        view.wait_for_selector("#large-curve .drawing svg")
        view.evaluate("document.activeElement.blur()")
    view.evaluate(f"document.querySelector({part!r}).scrollIntoView({{behavior: 'instant'}})")
    return view.screenshot()


def store(path: Path, content: bytes) -> None:
    """As few colours as look the same: a repository is no place for large pictures."""
    picture = Image.open(io.BytesIO(content)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    picture.save(path, "PNG", optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")
    if path.stat().st_size > LARGEST:
        sys.exit(f"error: expected at most {LARGEST:,} bytes")


if __name__ == "__main__":
    main()
