"""Run the Python of a page and compare what it prints: `python scripts/tools/run_tutorial.py docs/tutorials/digits.md`.

Blocks marked `python` run in order, in one namespace; a block marked `text` right after one is what it prints. A
comment `<!-- not run -->` before a block skips it. `--write` puts what was printed into the page. Exit code 1 if a
page prints something else: words must agree, numbers within five per cent, for processors round differently.
"""

import argparse
import contextlib
import io
import re
import sys
from pathlib import Path

from attribound import memory

BLOCK = re.compile(r"(<!-- not run -->\n+)?```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
TOLERANCE = 0.05


def run(text: str) -> tuple[str, list[str]]:
    """The page as it should be, and where it differs."""
    names: dict[str, object] = {"__name__": "__main__"}
    differences: list[str] = []

    def replace(block: re.Match[str]) -> str:
        skipped, code, stated = block.groups()
        if skipped:
            return block[0]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "<page>", "exec"), names)
        if not alike(printed.getvalue(), stated or ""):
            differences.append(f"printed:\n{printed.getvalue()}stated:\n{stated or ''}")
        shown = f"\n```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
        return f"```python\n{code}```\n{shown}"

    return BLOCK.sub(replace, text), differences


def alike(printed: str, stated: str) -> bool:
    """The same words, and numbers within the tolerance."""
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", stated).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(stated), strict=True)
    return all(abs(float(one) - float(two)) <= TOLERANCE * max(abs(float(two)), 0.2) for one, two in pairs)


def main() -> None:
    """Run every page that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true", help="put what was printed into the page")
    chosen = parser.parse_args()
    memory.keep_freed()
    failed = False
    for page in chosen.pages:
        text, differences = run(page.read_text())
        if chosen.write:
            page.write_text(text)
        else:
            failed |= bool(differences)
            print("\n".join([f"{page}: {len(differences)} outputs differ", *differences]))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
