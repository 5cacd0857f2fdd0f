"""What the site does beyond Markdown: formulas as MathML, and nothing from a network."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\(?:\(|\[)(.*?)\\(?:\)|\])</\1>', re.DOTALL)
# As in the report: the one is set as a product, the other has a sign that few fonts have.
_BETTER = {r"\arg\min": r"\operatorname{arg\,min}", r"\setminus": r"\backslash"}
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=["']?(?:https?:)?//[^>]*>"""
)


def on_page_content(content: str, **_: Any) -> str:
    """Set the formulas of a page, which readers' browsers know without a script."""
    return _FORMULA.sub(_mathml, content)


def on_post_build(config: Any) -> None:
    """Refuse a site that loads anything from elsewhere."""
    for path in Path(config.site_dir).rglob("*.html"):
        if loaded := _LOADED.search(path.read_text(encoding="utf-8")):
            raise PluginError(f"{path}: loads from a network: {loaded[0]}")


def _mathml(formula: re.Match[str]) -> str:
    display = "block" if formula[1] == "div" else "inline"
    tex = html.unescape(formula[2])
    for name, better in _BETTER.items():
        tex = tex.replace(name, better)
    return convert(tex, display=display)
