"""Formulas of docstrings as MathML, which browsers show without any library."""

from __future__ import annotations

import html
import re
from functools import cache
from xml.etree.ElementTree import tostring

from markupsafe import Markup

# The one is set as a product, the other has a sign that few fonts have.
_BETTER = {r"\arg\min": r"\operatorname{arg\,min}", r"\setminus": r"\backslash"}

_ELEMENTS = re.compile(
    "math|m(enclose|frac|i|n|o|over|padded|phantom|root|row|space|sqrt|style|sub|subsup|sup|table|td|"
    "text|tr|under|underover)"
)
_ATTRIBUTES = re.compile(
    "xmlns|accent|column(align|lines|spacing)|depth|display|displaystyle|fence|form|height|linebreak|"
    "linethickness|lspace|math(size|variant)|(max|min)size|movablelimits|notation|row(lines|spacing)|"
    "rspace|scriptlevel|separator|stretchy|voffset|width"
)


@cache
def mathml(tex: str) -> Markup:
    """Return a formula as MathML.

    Args:
        tex: its TeX source, as in a ``:math:`` role.

    Returns:
        HTML; the source itself as code where it cannot be converted, as a plug-in's may not, or
        asks for more than a formula, such as a link.
    """
    source = Markup('<code class="tex">{}</code>').format(tex)
    try:
        from latex2mathml.converter import Converter

        better = tex
        for name, same in _BETTER.items():
            better = better.replace(name, same)
        # Its own text is not escaped: what stands in \text{} would be markup.
        formula = Converter().convert_to_element(better)
        for element in formula.iter():
            if not (
                _ELEMENTS.fullmatch(element.tag) and all(map(_ATTRIBUTES.fullmatch, element.attrib))
            ):
                return source
            element.text = html.unescape(element.text or "")
        return Markup(tostring(formula, encoding="unicode"))
    except Exception:
        return source
