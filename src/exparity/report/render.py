"""The page: one self-contained HTML file that loads nothing and runs from disk."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from jinja2 import Environment, Template
from markupsafe import Markup

from exparity.artefacts.files import current_run
from exparity.core.escaping import visible
from exparity.report.context import Context, Section, section_of
from exparity.report.failures import listed
from exparity.report.sections import SECTIONS
from exparity.report.templating import asset, html_environment

_CORE = ("core.js", "address.js", "tables.js", "grids.js", "charts.js", "cell.js")
_LAST = "start.js"
_BETWEEN_CELLS = re.compile(r"(?<=>)\s+(?=</?(?:caption|t(?:able|body|d|foot|h|head|r))\b)")
"""Blanks and line breaks before parts of tables, which nothing shows."""
DIGITS = 6
"""Significant digits of the numbers inside a page, as in its CSV tables; Parquet has all."""
_BESIDE_GRID = 1 + [section.id for section in SECTIONS].index("causal_bias")
"""Place of the sections of analyses."""


def render_page(context: Context) -> str:
    """Return the page as HTML.

    Styles, scripts and data are inside. Its content security policy allows this very script and
    style, by their SHA-256, and nothing else: no request, no evaluated code, no inline handler.

    A section that fails is a line that says why, and is among the failures of the context. A page
    with failures carries no lineage, so that the next run makes it again.
    """
    environment = html_environment()
    shared = {"study": context.study, "version": version("exparity")}
    analysed = map(section_of, context.analyses)
    sections = [*SECTIONS[:_BESIDE_GRID], *analysed, *SECTIONS[_BESIDE_GRID:]]
    drawn = {}
    if not context.with_texts:
        sections = [section for section in sections if not section.shows_texts]
    for section in sections:
        with context.failures.caught(section.title):
            drawn[section.id] = _draw(section, context, shared)
    parts = [drawn.get(section.id, _failed(section, context)) for section in sections]
    shown = [part for part in parts if part is not None]
    script = _script([section for section in sections if drawn.get(section.id)])
    loader = asset("unpack.js")
    style = asset("page.css")
    failures = context.failures.reasons
    return environment.get_template("page.html.j2").render(
        shared,
        lineage="" if failures else current_run().lineage,
        failed=listed(failures),
        policy=policy_of(style, loader, script),
        style=Markup(style),
        script=Markup(packed(script)),
        loader=Markup(loader),
        sections=shown,
        data={part.id: part.data for part in shown if part.data is not None},
    )


@dataclass(frozen=True)
class DrawnSection:
    """A section as HTML, and its packed data, None without a script."""

    id: str
    title: str
    unfolded: bool
    html: Markup
    data: Markup | None = None


def _draw(section: Section, context: Context, shared: Mapping[str, object]) -> DrawnSection | None:
    """Return a section; None if it is left out."""
    content = section.build(context)
    if content is None:
        return None
    template = template_of(html_environment(), section)
    body = Markup(_BETWEEN_CELLS.sub("", template.render(shared, **content.values)))
    data = None if content.data is None else Markup(packed_json(content.data))
    return DrawnSection(section.id, section.title, content.unfolded, body, data)


def _failed(section: Section, context: Context) -> DrawnSection:
    """Return the line that stands in for a section that failed."""
    reason = context.failures.reasons.get(section.title, "")
    text = Markup('<p class="callout" role="alert">This section failed: {}</p>').format(reason)
    return DrawnSection(section.id, section.title, unfolded=True, html=text)


def template_of(environment: Environment, section: Section) -> Template:
    """Return the template of a section."""
    if section.template is not None:
        return environment.from_string(section.template())
    return environment.get_template(f"sections/{section.id}.html.j2")


def _script(sections: Sequence[Section]) -> str:
    """Return the script of a page."""
    files = [*_CORE, *(section.script for section in sections if section.script), _LAST]
    return "\n".join(asset(name) for name in files)


def policy_of(style: str, *scripts: str) -> str:
    """Return a content security policy for this very style, and for scripts, if any."""
    allowed = " ".join(map(_hash, scripts)) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def packed_json(value: object) -> str:
    """Return data as compact JSON, packed.

    Numbers have :data:`DIGITS` significant digits, more than a page shows. NaN becomes ``null``,
    infinity the text ``inf`` or ``-inf``. Control characters in text are written out.
    """
    text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return packed(text)


def packed(text: str) -> str:
    """Return text deflated (RFC 1950) and in base 85, which ``unpack.js`` reverses.

    Base 85 takes 5 characters for 4 bytes, base 64 takes 16 for 12. A comma stands for ``<``, which
    a page may not hold here.
    """
    deflated = zlib.compress(text.encode("utf-8"), 9)
    return base64.b85encode(deflated).decode("ascii").replace("<", ",")


def _plain(value: object) -> object:
    if isinstance(value, str):
        return visible(value, keep="\n\t")
    if isinstance(value, float):
        if math.isfinite(value):
            return float(f"{value:.{DIGITS}g}")
        return None if value != value else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
