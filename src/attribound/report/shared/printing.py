"""Pages as PDF, printed by the browser that is there."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from attribound.errors import AttriboundError
from attribound.files import write_whole

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_SECONDS = 180
_SWITCHES = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-pdf-header-footer",
    "--virtual-time-budget=20000",
)


def find_browser() -> str:
    """The first browser that can print; none is an error that says what to do."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise AttriboundError(
            "--format pdf needs Chromium, Chrome or Edge: install one, or print the HTML page yourself"
        )
    return found


def print_pdf(page: str, out: Path) -> Path:
    """Print a page, given as text, into a PDF file that appears whole or not at all."""
    browser = find_browser()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        # A browser's own sandbox does not start for the administrator; the page's policy lets nothing else run.
        alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        switches = [*_SWITCHES, *alone, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        try:
            done = subprocess.run(
                [browser, *switches, source.as_uri()], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise AttriboundError(f"{browser} did not print the page within {_SECONDS} s") from None
        if not target.is_file():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise AttriboundError(f"{browser} could not print the page: {last}")
        return write_whole(out, target.read_bytes())
