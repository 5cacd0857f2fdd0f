"""Formulas of docstrings as MathML, which browsers show without any library."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup


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

        return Markup(convert(tex.replace(r"\arg\min", r"\operatorname{arg\,min}")))
    except Exception:
        return Markup('<code class="tex">{}</code>').format(tex)
