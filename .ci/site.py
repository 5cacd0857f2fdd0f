"""What the site does beyond Markdown: formulas, the notebook as a page, nothing from a network."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\(?:\(|\[)(.*?)\\(?:\)|\])</\1>', re.DOTALL)
# As in the report: the one is set as a product, the other has a sign that few fonts have.
_BETTER = {r"\arg\min": r"\operatorname{arg\,min}", r"\setminus": r"\backslash"}
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=["']?(?:https?:)?//[^>]*>"""
)
_NOTEBOOK, _AS_PAGE = "example.ipynb", "example.md"
_API = Path("build/api.md")
"""Page of the Python API, which ``make docs`` has written from the docstrings."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are no Markdown of the repository: the notebook and the Python API."""
    api = Path(config.config_file_path).parent / _API
    files.append(File.generated(config, api.name, content=api.read_text(encoding="utf-8")))
    notebook = json.loads((Path(config.docs_dir) / _NOTEBOOK).read_text(encoding="utf-8"))
    parts = [part for cell in notebook["cells"] for part in _markdown(cell)]
    files.append(File.generated(config, _AS_PAGE, content="\n\n".join(parts)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link to the notebook's page, where other readers of the docs open the notebook."""
    return (
        markdown
        if page.file.src_uri == _AS_PAGE
        else markdown.replace(f"({_NOTEBOOK})", f"({_AS_PAGE})")
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


def _markdown(cell: dict[str, Any]) -> list[str]:
    """Return the source of a notebook's cell and its outputs, as Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    parts = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
        if "image/png" in data:
            parts.append(f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">')
        elif "text/html" in data:
            # A blank line would end the block of HTML.
            parts.append("<div>" + re.sub(r"\n\s*\n", "\n", data["text/html"]) + "</div>")
        else:
            parts.append(
                "```text\n" + "".join(output.get("text", data.get("text/plain", ""))) + "\n```"
            )
    return parts
