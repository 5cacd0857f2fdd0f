"""Explanations as HTML, for notebooks.

Only inline styles: notebooks may drop anything else. Colours are translucent and text keeps the
theme's colour, so that light and dark themes both work. The sign is said by the kind of underline
as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape as html_escape
from itertools import groupby
from typing import TYPE_CHECKING

from exparity.core.escaping import visible

if TYPE_CHECKING:
    from exparity.interface import Explanation

# Blue and vermilion of Okabe and Ito (2008).
_FOR, _AGAINST = "0,114,178", "213,94,0"
_STRONGEST = 0.55  # text stays readable on it, black or white
FONT = "font-family:system-ui,sans-serif"
_BOX = "outline:1px dashed currentColor"
_SMALL = "font-size:85%;opacity:.8"


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
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    byte_of = {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
    try:
        return bytes(byte_of[character] for character in token).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return token


def escape(text: str) -> str:
    """Escape text for HTML, control characters as well."""
    return html_escape(visible(text))


def explanation_html(explanation: Explanation) -> str:
    """Return the text with each token shaded by its attribution.

    The strongest content token has the full colour: blue for the target, orange against it.
    Special tokens are shown, but not shaded, as metrics leave them out.
    """
    special, words = explanation.special_mask, explanation.word_ids
    assert special is not None
    assert words is not None
    tokens = token_texts(explanation.tokens)
    scores = explanation.scores.tolist()
    limit = max(
        (
            abs(score)
            for score, hidden in zip(scores, special, strict=True)
            if not hidden and math.isfinite(score)
        ),
        default=0.0,
    )
    shaded = [
        _token(token, score, limit, bool(hidden))
        for token, score, hidden in zip(tokens, scores, special, strict=True)
    ]
    parts = []
    for (_, word), members in groupby(
        range(len(shaded)), key=lambda i: (i if words[i] < 0 else -1, int(words[i]))
    ):
        text = "".join(shaded[i] for i in members)
        if explanation.rationale is not None and word >= 0 and explanation.rationale[word]:
            text = f'<span style="{_BOX};padding:3px 1px" title="rationale">{text}</span>'
        parts.append(text)
    return (
        f'<div style="{FONT};max-width:60em">'
        f'<div style="{_SMALL}">{_head(explanation)}</div>'
        f'<div style="line-height:2.1">{" ".join(parts)}</div>'
        f'<div style="{_SMALL}">{_scale(explanation, limit)}</div></div>'
    )


def _head(explanation: Explanation) -> str:
    facts = [f"target {explanation.target}"]
    if explanation.origin is not None:
        facts.insert(0, escape(explanation.origin.method))
    return " · ".join(facts)


def _token(token: str, score: float, limit: float, special: bool) -> str:
    styles = []
    if special:
        styles.append("opacity:.5;font-size:80%")
    elif score and score == score:
        share = min(1.0, abs(score) / limit) if limit else 1.0
        colour, line = (_FOR, "solid") if score > 0 else (_AGAINST, "dotted")
        styles.append(
            f"background:rgba({colour},{_STRONGEST * share:.2f});"
            f"border-bottom:2px {line} rgba({colour},{max(share, 0.15):.2f})"
        )
    value = "undefined" if score != score else number_text(score)
    title = escape(f"{token}: {value}")
    return (
        f'<span style="padding:1px;white-space:pre-wrap;{";".join(styles)}" title="{title}">'
        f"{escape(token)}</span>"
    )


def _scale(explanation: Explanation, limit: float) -> str:
    scores = explanation.scores[explanation.content_mask]
    text = (
        f'<span style="border-bottom:2px solid rgb({_FOR});background:rgba({_FOR},{_STRONGEST})">'
        f"&nbsp;+{number_text(limit, signed=False)}&nbsp;</span> for the target"
    )
    if (scores < 0).any():
        text += (
            f' · <span style="border-bottom:2px dotted rgb({_AGAINST});'
            f'background:rgba({_AGAINST},{_STRONGEST})">'
            f"&nbsp;−{number_text(limit, signed=False)}&nbsp;</span> against it"
        )
    if explanation.rationale is not None:
        text += f' · <span style="{_BOX}">&nbsp;rationale&nbsp;</span>'
    return text


def number_text(value: float, *, signed: bool = True) -> str:
    """Return a number with three digits and typographic signs."""
    return f"{value:{'+' if signed else ''}.3g}".replace("-", "−").replace("inf", "∞")
