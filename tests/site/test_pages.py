"""The pages as files: links lead somewhere, every public name is described, nothing comes from outside."""

import importlib.util
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import attribound
from attribound import bounds
from tests.site.conftest import BUILD, ROOT, build

START, GOAL = "index.html", "tutorials/grad-cam.html"
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
UNLISTED = {"bounds", "__version__"}
"""Public names that are a page and a sentence rather than an entry."""


class Reader(HTMLParser):
    """Links, anchors and loaded files of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links, self.loaded, self.anchors = list[str](), list[str](), set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {key: value or "" for key, value in attrs}
        self.anchors |= {known[key] for key in ("id", "name") if key in known}
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        if (key := LOADS.get(tag)) in known and known.get("rel") != "canonical":
            self.loaded.append(known[str(key)])


@cache
def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text())
    return reader


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if path.name != "404.html")


def leads_to(page: Path, link: str) -> Path:
    return (page.parent / unquote(urlsplit(link).path)).resolve() if urlsplit(link).path else page


def inside(link: str) -> bool:
    return not urlsplit(link).scheme and not link.startswith("//")


def test_every_link_leads_somewhere(site) -> None:
    broken = []
    for page in pages(site):
        reader = read(page)
        for link in filter(inside, [*reader.links, *reader.loaded]):
            target = leads_to(page, link)
            anchor = unquote(urlsplit(link).fragment)
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                broken.append(f"{page.relative_to(site)}: {link}")
            elif anchor and target.suffix == ".html" and anchor not in read(target).anchors:
                broken.append(f"{page.relative_to(site)}: {link} (no such heading)")
    assert broken == []


def test_nothing_is_loaded_from_outside(site) -> None:
    outside = {link for page in pages(site) for link in read(page).loaded if not inside(link) and link[:5] != "data:"}
    assert outside == set()
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import\s)['\"]?(?:https?:)?//[^)'\"]+", styles) == []


def test_grad_cam_of_your_own_model_is_one_click_away(site) -> None:
    """By a link in the text; the navigation leads everywhere anyway."""
    first = text_links(site, START)
    assert GOAL in first, "the landing page itself should have the link"
    text = (site / GOAL).read_text()
    assert text.index("GradCAM") < text.index("max_epsilon")


def text_links(site: Path, page: str) -> set[str]:
    reader, path = Reader(), site / page
    reader.feed(path.read_text().partition("<article")[2].partition("</article>")[0])
    found = {leads_to(path, link) for link in filter(inside, reader.links)}
    return {str(one.relative_to(site)) for one in found if one.suffix == ".html" and one.is_relative_to(site)}


def test_every_public_name_is_described(site) -> None:
    anchors = set().union(*(read(page).anchors for page in (site / "api").glob("*.html")))
    names = {name for name in attribound.__all__ if name not in UNLISTED}
    assert {name for name in names if not any(one in anchors for one in _paths(name))} == set()
    described = (site / "api" / "bounds.html").read_text()
    assert {name for name in bounds.__all__ if f'id="attribound.bounds.{name}"' not in described} == set()


def _paths(name: str) -> list[str]:
    value = getattr(attribound, name)
    return [f"attribound.{name}", f"{value.__module__}.{value.__qualname__}"]


def test_every_command_is_described(site) -> None:
    from typer.main import get_command

    from attribound.cli import app

    described = (site / "api" / "cli.html").read_text()
    commands = get_command(app).commands
    assert {name for name in commands if f"attribound {name}" not in described} == set()
    assert "--cells" in described


def test_formulas_are_drawn_without_scripts(site) -> None:
    text = (site / "theory" / "tight-bound.html").read_text()
    assert text.count("<math") > 100
    for page in pages(site):
        assert "arithmatex" not in page.read_text(), page.name
        assert not re.search(r"<mi>\\", page.read_text()), page.name


def test_lists_and_tables_became_such(site) -> None:
    """GitHub forgives a missing blank line before a list or a table, the site does not."""
    for page in pages(site):
        text = page.read_text().partition("<article")[2].partition("</article>")[0]
        text = re.sub(r"<pre.*?</pre>|<code.*?</code>", "", text, flags=re.DOTALL)
        assert not re.search(r"^\s*(<p>)?\|.*\|", text, re.MULTILINE), page.name
        assert not re.search(r"<p>[^<]*\n- ", text), page.name


def hooks():
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'attribound[docs]'")
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "scripts" / "tools" / "site_hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_warning_is_an_error(tmp_path) -> None:
    """A check that cannot fail is none: a link that leads nowhere ends the build, by the Makefile's own command."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'attribound[docs]'")
    assert f"/mkdocs {' '.join(BUILD)}\n" in (ROOT / "Makefile").read_text()
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: small\n")
    (tmp_path / "docs" / "index.md").write_text("# Small\n")
    assert build(tmp_path, tmp_path / "site").returncode == 0
    (tmp_path / "docs" / "index.md").write_text("# Small\n[nowhere](none.md)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "none.md" in done.stderr


def test_a_new_page_appears_where_its_folder_stands(tmp_path) -> None:
    (tmp_path / "how-to").mkdir()
    for name in ("b.md", "a.md", "named.md"):
        (tmp_path / "how-to" / name).write_text(f"# {name}")
    (tmp_path / "how-to" / "deep").mkdir()
    (tmp_path / "how-to" / "deep" / "c.md").write_text("# c")
    nav = [{"Home": "index.md"}, {"How to": ["how-to/named.md", "how-to/", {"Deep": ["how-to/deep/"]}]}]
    module = hooks()
    found = module._expanded(nav, set(module._pages(nav)), tmp_path)
    assert found[1] == {"How to": ["how-to/named.md", "how-to/a.md", "how-to/b.md", {"Deep": ["how-to/deep/c.md"]}]}


def test_a_formula_that_cannot_be_drawn_is_an_error() -> None:
    module = hooks()
    assert "<math" in module.mathml(r"\frac{1}{2}", block=True)
    with pytest.raises(module.PluginError, match="unheardof"):
        module.mathml(r"\unheardof{x}", block=False)
