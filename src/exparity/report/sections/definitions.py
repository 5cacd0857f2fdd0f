"""Methods and definitions: formulas and sources, from the registries and their docstrings."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from xml.etree.ElementTree import tostring

import yaml
from markupsafe import Markup, escape

from exparity.core.registry import Registry
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.report.context import Content, Context
from exparity.report.templating import asset

_MARKED = re.compile(r":math:`([^`]+)`|``([^`]+)``")
_DOI = re.compile(r"\b(doi:|arXiv:)(\S+?)(?=[,;.]?(?:\s|$))")
_PLACES = {"doi:": "https://doi.org/", "arXiv:": "https://arxiv.org/abs/"}


# The one is set as a product, the other has a sign that few fonts have.
_BETTER = {r"\arg\min": r"\operatorname{arg\,min}", r"\setminus": r"\backslash"}


def prose(docstring: str) -> str:
    """Return the description of a Google-style docstring, without its sections."""
    text = "\n".join(line.strip() for line in docstring.strip().splitlines())
    return re.split(r"\n(?:Args|Returns|Raises|Yields|Note|Example)s?:\n", text)[0].strip()


def to_html(text: str) -> Markup:
    """Return paragraphs with ``:math:`` roles as escaped HTML with MathML."""
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())
    return Markup("").join(Markup("<p>{}</p>").format(_marked_up(part)) for part in paragraphs)


def _marked_up(text: str) -> Markup:
    result = Markup("")
    end = 0
    for match in _MARKED.finditer(text):
        formula, code = match.groups()
        inner = _mathml(formula) if formula else Markup("<code>{}</code>").format(code)
        result += escape(text[end : match.start()]) + inner
        end = match.end()
    return result + escape(text[end:])


@cache
def _mathml(tex: str) -> Markup:
    """Return a formula as MathML; its source where it cannot be converted."""
    from latex2mathml.converter import Converter

    better = tex
    for name, same in _BETTER.items():
        better = better.replace(name, same)
    try:
        formula = Converter().convert_to_element(better)
    except Exception:
        return Markup('<code class="tex">{}</code>').format(tex)
    # Its own text is not escaped: text in \text{} would be markup.
    for element in formula.iter():
        element.text = html.unescape(element.text or "")
    # In HTML, elements of MathML need no name space.
    formula.attrib.pop("xmlns", None)
    return Markup(tostring(formula, encoding="unicode"))


def source_html(text: str) -> Markup:
    """Return a reference with its DOI or arXiv number as a link."""

    def link(match: re.Match[str]) -> str:
        return f'<a href="{_PLACES[match[1]]}{match[2]}" rel="noreferrer">{match[0]}</a>'

    return Markup(_DOI.sub(link, str(escape(text))))


def _entries(names: Mapping[str, str], registry: Registry[Any]) -> list[dict[str, object]]:
    """Return the methods or metrics of a study in words, with the ids of their instances."""
    return [
        {
            "name": entry.display,
            "ids": [name for name, use in names.items() if use == entry.id],
            "text": to_html(prose(entry.function.__doc__ or "")),
            "facts": entry.facts,
            "source": source_html(entry.facts.reference),
        }
        for entry in map(registry.get, dict.fromkeys(names.values()))
    ]


def _statistics() -> list[dict[str, object]]:
    return [
        {"name": name, "text": to_html(entry["text"]), "source": source_html(entry["source"])}
        for name, entry in yaml.safe_load(asset("statistics.yaml")).items()
    ]


def build(context: Context) -> Content:
    """Return the content of the section."""
    study = context.study
    groups = {
        "Metrics": _entries(study.metrics, METRICS),
        "Explanation methods": _entries(study.methods, METHODS),
        **({"Statistics": _statistics()} if study.compares else {}),
    }
    return Content({"groups": groups})
