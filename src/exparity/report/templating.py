"""Jinja environments of page and LaTeX: strict about undefined names."""

from __future__ import annotations

import html
import json
import re
from functools import cache, partial
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from exparity.core.escaping import visible
from exparity.core.formats import coverage, duration, percent, signed, unbroken

_COMMENT = re.compile(r"^[ \t]*(?:/\*.*?\*/[ \t]*$|//[^\n]*)", re.DOTALL | re.MULTILINE)
"""A comment in a script or a style sheet that has its lines to itself."""
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "×": r"$\times$",
    "−": r"$-$",
    "α": r"$\alpha$",
    "∞": r"$\infty$",
    "|": r"\textbar{}",
}


def latex_escape(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(character, character) for character in visible(text))


def _shown(value: object) -> object:
    """Return text, markup as well, with its control characters written out."""
    if not isinstance(value, str):
        return value
    text = visible(value, keep="\n\t")
    # Markup may hold data of scripts.
    return Markup(text) if isinstance(value, Markup) else unbroken(text)


def _breakable(name: str) -> Markup:
    """Return an id that may be broken after its underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


def _pretty_json(value: object) -> Markup:
    """Return JSON on several lines, as text of an element: quotes need no escape there."""
    return Markup(html.escape(json.dumps(value, indent=1), quote=False))


@cache
def asset(name: str) -> str:
    """Return the text of a file under ``assets``; of code, without comments and indentation."""
    text = (files("exparity.report") / "assets" / name).read_text(encoding="utf-8")
    if not name.endswith((".js", ".css")):
        return text
    return re.sub(r"\n\s+", "\n", _COMMENT.sub("", text))


_environment = partial(
    Environment,
    loader=PackageLoader("exparity.report"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


@cache
def html_environment() -> Environment:
    """Return the environment of the page: everything escaped."""
    environment = _environment(autoescape=True, finalize=_shown)
    environment.filters |= {"percent": percent, "signed": signed, "duration": duration}
    environment.filters |= {"coverage": coverage, "breakable": _breakable}
    environment.filters["pretty_json"] = _pretty_json
    return environment


@cache
def text_environment() -> Environment:
    """Return the environment of LaTeX and plain text."""
    # LaTeX is full of braces; its templates use other marks.
    environment = _environment(variable_start_string="<<", variable_end_string=">>")
    environment.filters["tex"] = latex_escape
    return environment
