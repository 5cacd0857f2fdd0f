"""Explanations and the like as HTML, for notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from exparity.core.escaping import visible

_SMALLEST, _LARGEST = 1e-4, 1e6
"""Ends of the numbers that are written without an exponent."""


def token_texts(tokens: Sequence[str]) -> list[str]:
    """Return tokens without their tokenizer's marks (``##``, ``Ġ``, ``▁``).

    Byte-level tokens are spelled in characters that stand for bytes; those that are whole
    characters are given back as these.
    """
    byte_level = any("Ġ" in token for token in tokens)
    texts = []
    for token in tokens:
        text = _decoded(token) if byte_level else token
        text = text.removesuffix("</w>")
        for mark in ("##", "▁"):
            text = text.removeprefix(mark) if text != mark else text
        texts.append(text.strip() or text or token)
    return texts


def _decoded(token: str) -> str:
    """Decode a byte-level token (Radford et al. 2019); as it is where bytes are no character."""
    from tokenizers.decoders import ByteLevel

    text: str = ByteLevel().decode([token])
    return token if "\ufffd" in text else text


def template_html(template: Path, **values: object) -> str:
    """Return a template with values filled in, text among them escaped."""
    from jinja2 import Environment, FileSystemLoader

    shared = Path(__file__).parent
    loader = FileSystemLoader([template.parent, shared])
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=loader)
    environment.filters |= {"number": number_text, "visible": visible}
    return environment.get_template(template.name).render(
        values, font="font-family:system-ui,sans-serif"
    )


def notebook_html(template: Path, **values: object) -> str:
    """Return a template with values filled in, to be shown in a notebook.

    Notebooks would set what is between two dollars as a formula; both classes keep MathJax out.
    """
    body = template_html(template, **values)
    return f'<div class="tex2jax_ignore mathjax_ignore">{body}</div>'


def number_text(value: float, *, signed: bool = True, like: float | None = None) -> str:
    """Return a number with typographic signs and three digits.

    With ``like`` it has as many decimals as that number needs for three digits.
    """
    form = ".3g" if like is None else _form_of(like)
    return f"{value:{'+' if signed else ''}{form}}".replace("-", "−").replace("inf", "∞")


def number_texts(*values: float) -> list[str]:
    """Return numbers with as many decimals as the first needs for three digits.

    Where that does not tell the first two apart, with as many as do.
    """
    texts = [number_text(value, signed=False, like=values[0]) for value in values]
    distance = abs(values[0] - values[1])
    if texts[0] != texts[1] or not distance > 0:
        return texts
    decimals = 1 - math.floor(math.log10(distance))
    return [f"{value:.{decimals}f}".replace("-", "−") for value in values]


def _form_of(value: float) -> str:
    """Return the format of a number with three digits, which ends in zeros if need be."""
    size = abs(value)
    if not size or not math.isfinite(size):
        return ".3g"
    if size < _SMALLEST or size >= _LARGEST:
        return ".2e"
    return f".{max(0, 2 - math.floor(math.log10(size)))}f"
