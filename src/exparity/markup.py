"""Explanations and comparisons as HTML, for notebooks.

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

from exparity.escaping import visible

if TYPE_CHECKING:
    from exparity.interface import Explanation
    from exparity.stats.compare import GroupComparison

# Blue and vermilion of Okabe and Ito (2008).
_FOR, _AGAINST = "0,114,178", "213,94,0"
_STRONGEST = 0.55  # text stays readable on it, black or white
_FONT = "font-family:system-ui,sans-serif"
_BOX = "outline:1px dashed currentColor"
_SMALL = "font-size:85%;opacity:.8"


def token_texts(tokens: Sequence[str]) -> list[str]:
    """Return tokens without their tokenizer's marks (``##``, ``Ġ``, ``▁``).

    Byte-level tokens are spelled in characters that stand for bytes; those that are whole
    characters are given back as these.
    """
    byte_level = any("Ġ" in token for token in tokens)
    found = []
    for token in tokens:
        text = _decoded(token) if byte_level else token
        text = text.removesuffix("</w>")
        for mark in ("##", "▁"):
            text = text.removeprefix(mark) if text != mark else text
        found.append(text.strip() or text or token)
    return found


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
        f'<div style="{_FONT};max-width:60em">'
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
    value = "undefined" if score != score else _number(score)
    title = escape(f"{token}: {value}")
    return (
        f'<span style="padding:1px;white-space:pre-wrap;{";".join(styles)}" title="{title}">'
        f"{escape(token)}</span>"
    )


def _scale(explanation: Explanation, limit: float) -> str:
    scores = explanation.scores[explanation.content_mask]
    text = (
        f'<span style="border-bottom:2px solid rgb({_FOR});background:rgba({_FOR},{_STRONGEST})">'
        f"&nbsp;+{_number(limit, signed=False)}&nbsp;</span> for the target"
    )
    if (scores < 0).any():
        text += (
            f' · <span style="border-bottom:2px dotted rgb({_AGAINST});'
            f'background:rgba({_AGAINST},{_STRONGEST})">'
            f"&nbsp;−{_number(limit, signed=False)}&nbsp;</span> against it"
        )
    if explanation.rationale is not None:
        text += f' · <span style="{_BOX}">&nbsp;rationale&nbsp;</span>'
    return text


def _number(value: float, *, signed: bool = True) -> str:
    return f"{value:{'+' if signed else ''}.3g}".replace("-", "−").replace("inf", "∞")


def comparison_html(found: GroupComparison) -> str:
    """Return a comparison of two groups as a table."""
    a, b = escape(found.group_a), escape(found.group_b)
    rows = [("", "n", "mean", "standard deviation")]
    rows += [
        (name, str(n), _plain(mean), _plain(sd))
        for name, n, mean, sd in (
            (a, found.n_a, found.mean_a, found.sd_a),
            (b, found.n_b, found.mean_b, found.sd_b),
        )
    ]
    facts = [
        (f"{a} − {b}", f"<b>{_signed(found.mean_difference)}</b>"),
        ("Cohen’s d", _effect(found)),
        ("Mann–Whitney U", f"U = {_count(found.U)}, {_p(found.p)}"
         f"{', significant' if found.significant else ''}"),
    ]  # fmt: skip
    if found.n_pairs:
        facts.append(
            ("signed rank", f"{found.n_pairs} matched sets, {_p(found.wilcoxon_p)}, "
             f"d<sub>z</sub> = {_signed(found.d_z)}")
        )  # fmt: skip
    if found.omnibus:
        facts.append(
            (f"all {found.n_groups} groups", f"{escape(found.omnibus.replace('_', '–').title())} "
             f"H = {_plain(found.omnibus_statistic)}, {_p(found.omnibus_p)}")
        )  # fmt: skip
    if found.n_undefined:
        facts.append(("undefined", f"{found.n_undefined} of {found.n_examples}, left out"))
    if found.flags:
        facts.append(("flags", escape(", ".join(found.flags))))
    head, *body = rows
    cell = "padding:2px 10px;text-align:right"
    table = "<tr>" + "".join(f'<th style="{cell}">{text}</th>' for text in head) + "</tr>"
    for name, *values in body:
        table += f'<tr><th style="{cell}">{name}</th>'
        table += "".join(f'<td style="{cell}">{value}</td>' for value in values) + "</tr>"
    for name, text in facts:
        table += (
            f'<tr><th style="{cell}">{name}</th>'
            f'<td colspan="3" style="padding:2px 10px;text-align:left">{text}</td></tr>'
        )
    return f'<table style="{_FONT};border-collapse:collapse;color:inherit">{table}</table>'


def _effect(found: GroupComparison) -> str:
    text = _signed(found.cohens_d)
    if math.isfinite(found.d_ci_low):
        text += f" ({_signed(found.d_ci_low)} to {_signed(found.d_ci_high)})"
    return text + (", considerable" if found.considerable else "")


def _plain(value: float) -> str:
    return "undefined" if value != value else _number(value, signed=False)


def _count(value: float) -> str:
    return "undefined" if value != value else f"{value:,.1f}".removesuffix(".0")


def _signed(value: float) -> str:
    return "undefined" if value != value else _number(value)


def _p(value: float) -> str:
    if value != value:
        return "p undefined"
    return "p &lt; 0.001" if value < 0.001 else f"p = {value:.3f}"
