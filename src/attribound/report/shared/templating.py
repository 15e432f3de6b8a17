"""Pages from templates: one file each, with its style and script in it, that loads nothing and runs nothing else."""

import base64
import hashlib
import json
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from attribound.report.shared import images


def fill(template: str, *scripts: str, **values: Any) -> str:
    """A page as text; every value is escaped unless it is markup that was made here.

    Args:
        template: its file within `report/`.
        scripts: files beside it, in the page's own script; the page forbids all others.
        values: what the template names.
    """
    environment = _environment()
    folder = resources.files("attribound.report").joinpath(template.rpartition("/")[0])
    parts = [folder.joinpath(name).read_text(encoding="utf-8") for name in scripts]
    script = "(() => {\n'use strict';\n" + "\n".join(parts) + "})();" if scripts else ""
    css = environment.get_template("shared/templates/style.css").render(stops=", ".join(images.STOPS))
    page: str = environment.get_template(template).render(
        **values, css=Markup(css), script=Markup(script), policy=_policy(script)
    )
    return page


def embedded(value: Any) -> Markup:
    """JSON that is safe inside a script element: no character of it can end the element or begin a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("attribound.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _policy(script: str) -> str:
    """Nothing is loaded, and no script runs but the one that was put here."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
