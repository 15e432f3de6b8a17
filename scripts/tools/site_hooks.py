"""What `mkdocs build` does beyond its plugins: pages from outside docs/, folders in the navigation, formulas as MathML.

Pages stay as GitHub shows them: formulas between dollars, links to files of the repository. Here formulas become
MathML, which browsers draw by themselves, and whatever is linked outside docs/ comes along: Markdown as a page, the
rest as a file. So the site needs no network and no script of its own.
"""

import html
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.main import get_command

ROOT = Path(__file__).parents[2]
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "results/**/*.md")
"""Pages of the site that are not in docs/."""
RENAMED = {"README.md": "index.md"}

LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1`*\s*$", re.MULTILINE | re.DOTALL)
LIST = re.compile(r"^((?![-*|>#\s]|\d+\.).+)\n(?=- )", re.MULTILINE)
"""A list right after a paragraph: GitHub begins one there, Python's Markdown needs an empty line."""
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
CONTENTS = re.compile(r'<span class="md-ellipsis">.*?</span>', re.DOTALL)
TEXT = re.compile(r"\\\((.*?)\\\)", re.DOTALL)
LONG = 24
"""A formula in a sentence with more letters than this may need to scroll on a phone."""
COMMANDS, NAMES = "<!-- commands -->", "<!-- names -->"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages that no line names where their folder stands."""
    config.nav = _expanded(config.nav or [], set(_pages(config.nav or [])), Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages from outside docs/, and files that pages link to."""
    for path in sorted({found for pattern in OUTSIDE for found in ROOT.glob(pattern)}):
        files.append(File.generated(config, _repository(path), content=path.read_text()))
    wanted = {
        target
        for file in files.documentation_pages()
        for target in map(_resolved(file.src_uri), _links(file.content_string))
        if target is not None and (ROOT / target).is_file() and not target.startswith("docs/")
    }
    for target in sorted(wanted):
        if files.get_file_from_path(_site(target)) is None:
            files.append(File.generated(config, _site(target), abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files of the repository into links within the site."""
    resolve, here = _resolved(page.file.src_uri), posixpath.dirname(page.file.src_uri)
    if here.startswith("results"):
        page.meta["hide"] = ["toc"]  # wide tables want the room
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, commands())
    if NAMES in markdown:
        markdown = markdown.replace(NAMES, names())

    def replace(match: re.Match[str]) -> str:
        target = resolve(match[2])
        if target is None or files.get_file_from_path(_site(target)) is None:
            return match[0]
        return f"{match[1]}{posixpath.relpath(_site(target), here or '.')}{match[3] or ''})"

    def translate(text: str) -> str:
        return LINK.sub(replace, LIST.sub(r"\1\n\n", text))

    pieces, last = [], 0
    for fence in FENCE.finditer(markdown):
        pieces += [translate(markdown[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*pieces, translate(markdown[last:])])


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Draw formulas."""
    return FORMULA.sub(lambda match: mathml(html.unescape(match[3]), block=match[2] == "["), content)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Formulas in headings appear in tables of contents, too, as plain text."""
    return CONTENTS.sub(
        lambda entry: TEXT.sub(lambda match: mathml(html.unescape(match[1]), block=False), entry[0]), output
    )


def mathml(formula: str, *, block: bool) -> str:
    """A formula as MathML; one that is not understood is an error."""
    try:
        drawn = convert(formula, display="block" if block else "inline")
    except Exception as error:
        raise PluginError(f"cannot draw the formula {formula!r}: {type(error).__name__} {error}") from None
    if "\\" in drawn:
        raise PluginError(f"cannot draw all of the formula {formula!r}")
    if block:
        return f'<div class="formula">{drawn}</div>'
    return f'<span class="long">{drawn}</span>' if len(formula) > LONG else drawn


def commands() -> str:
    """What every command of the command line says about itself."""
    from attribound.cli import app

    def sections(command: Any, name: str, parent: Any) -> Iterator[str]:
        context = command.context_class(command, info_name=name, parent=parent, terminal_width=84, max_content_width=84)
        yield f"## {context.command_path}\n\n```text\n{command.get_help(context).strip()}\n```\n"
        for inner, one in getattr(command, "commands", {}).items():
            if not one.hidden:
                yield from sections(one, inner, context)

    return "\n".join(sections(get_command(app), "attribound", None))


def names() -> str:
    """Entries for public names that no page of the reference has yet."""
    from attribound import __all__ as public

    written = "".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    known = set(re.findall(r"^::: attribound\.(\w+)", written, re.MULTILINE)) | {"__version__"}
    return "\n\n".join(f"::: attribound.{name}" for name in public if name not in known)


def _pages(nav: list[Any]) -> Iterator[str]:
    """Every page that the navigation names."""
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from _pages(value) if isinstance(value, list) else [value]


def _expanded(nav: list[Any], known: set[str], docs: Path) -> list[Any]:
    """The navigation with pages for folders."""
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/"):
            base = docs if (docs / entry).is_dir() else ROOT
            pages = {path.relative_to(base).as_posix() for path in (base / entry).rglob("*.md")} - known
            found += sorted(page for page in pages if _home(page, known) == entry)
        elif isinstance(entry, dict):
            found.append({name: _expanded(v, known, docs) if isinstance(v, list) else v for name, v in entry.items()})
        else:
            found.append(entry)
    return found


def _home(page: str, known: set[str]) -> str:
    """The innermost folder of the navigation that a page is in."""
    return max((name for name in known if name.endswith("/") and page.startswith(name)), key=len)


def _links(markdown: str) -> list[str]:
    return [match[2] for match in LINK.finditer(FENCE.sub("", markdown))]


def _repository(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _site(target: str) -> str:
    """Where a file of the repository is in the site."""
    return RENAMED.get(target, target.removeprefix("docs/"))


def _resolved(source: str) -> Callable[[str], str | None]:
    """From a link on a page to a path in the repository; None for what leads elsewhere."""
    outside = (ROOT / source).is_file() and not (ROOT / "docs" / source).is_file()
    folder = posixpath.dirname(source if outside else f"docs/{source}")

    def resolve(link: str) -> str | None:
        if re.match(r"[a-z]+:|/", link):
            return None
        target = posixpath.normpath(posixpath.join(folder, link))
        return None if target.startswith("..") else target

    return resolve
