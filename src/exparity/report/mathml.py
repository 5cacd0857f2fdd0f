"""Formulas of docstrings as MathML, which browsers show without any library."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup

# The one is set as a product, the other has a sign that few fonts have.
_BETTER = {r"\arg\min": r"\operatorname{arg\,min}", r"\setminus": r"\backslash"}


@cache
def mathml(tex: str) -> Markup:
    """Return a formula as MathML.

    Args:
        tex: its TeX source, as in a ``:math:`` role.

    Returns:
        HTML; the source itself as code where it cannot be converted, as a plug-in's may not.
    """
    try:
        from latex2mathml.converter import convert

        better = tex
        for name, same in _BETTER.items():
            better = better.replace(name, same)
        return Markup(convert(better))
    except Exception:
        return Markup('<code class="tex">{}</code>').format(tex)
