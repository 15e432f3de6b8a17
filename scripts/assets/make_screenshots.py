"""Make the report's screenshots for the README: `python scripts/assets/make_screenshots.py [RUN MASKED]`.

Without runs, certifies 24 images of the embedded sample twice, saliency and maps of 7 x 7 patches with their cells, and
attacks three of each: a few minutes.
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
CERTIFY = "certify --model mnist-cnn-consistency --data mnist-sample --noise gaussian:0.75 --samples 2048"
SHAPE = "--map pooled:7 --map centred --cells 0.5,0.3"
ATTACK = "--method direct --restarts 1 --steps 5 --samples 16 --items 3"
LARGEST = 150_000


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("error: no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        given = [Path(path) for path in sys.argv[1:3]]
        runs = given or [make_run(Path(folder) / name, shape) for name, shape in (("my-run", ""), ("masked", SHAPE))]
        pages = [write_report(run, Path(folder) / f"{run.name}.html") for run in runs]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            for name, shot in SHOTS.items():
                store(IMAGES / name, take(browser, pages[name == "report-mask.png"], **shot))
            browser.close()


def make_run(path: Path, shape: str) -> Path:
    cli.run([*CERTIFY.split(), *shape.split(), "--items", "24", "--workers", "1", "--out", str(path)])
    cli.run(["attack", str(path), *ATTACK.split()])
    return path


def take(browser, page: Path, *, width: int, height: int, scheme: str, enlarge: bool) -> bytes:
    view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    view.goto(page.resolve().as_uri())
    view.wait_for_selector("html[data-ready=yes]")
    if enlarge:
        view.click("#cards li:first-child h3 button")
        view.wait_for_selector("#large-curve .drawing svg")
        view.evaluate("document.activeElement.blur()")
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
