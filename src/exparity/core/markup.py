"""Explanations and the like as HTML, for notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.escaping import visible

if TYPE_CHECKING:
    from exparity.interface import Explanation


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


def explanation_html(explanation: Explanation) -> str:
    """Return the text with each token shaded by its attribution.

    The strongest content token has the full colour: blue for the target, orange against it.
    Special tokens are shown, but not shaded, as metrics leave them out.
    """
    return notebook_html(
        Path(__file__).with_name("explanation.html.j2"),
        explanation=explanation,
        **shaded_words(explanation),
    )


def shaded_words(explanation: Explanation) -> dict[str, Any]:
    """Return what ``tokens.html.j2`` shades a text by.

    Returns:
        ``words``, each a pair of its tokens (text, score, whether special, or ``between`` the texts
        of a pair) and whether it is of the rationale; ``limit``, the score of full colour;
        ``any_against``, whether one is negative.
    """
    special, rationale = ~explanation.content_mask, explanation.rationale
    assert explanation.word_ids is not None
    word_ids = explanation.word_ids.tolist()
    texts, scores = token_texts(explanation.tokens), explanation.scores
    kinds: list[bool | str] = special.tolist()
    if explanation.pair is not None and False in kinds:
        first, last = kinds.index(False), len(kinds) - 1 - kinds[::-1].index(False)
        kinds[first:last] = [kind and "between" for kind in kinds[first:last]]
    tokens = list(zip(texts, scores.tolist(), kinds, strict=True))
    # A special token stands alone, and so belongs to a word of its own.
    words = groupby(range(len(tokens)), key=lambda i: (i if word_ids[i] < 0 else -1, word_ids[i]))
    strengths = [abs(score) for _, score, hidden in tokens if not hidden and math.isfinite(score)]
    return {
        "words": [
            ([tokens[i] for i in members], rationale is not None and word >= 0 and rationale[word])
            for (_, word), members in words
        ],
        "limit": max(strengths, default=0.0),
        "any_against": (scores[~special] < 0).any(),
    }


def notebook_html(template: Path, **values: Any) -> str:
    """Return a template with values filled in, text among them escaped."""
    from jinja2 import Environment, FileSystemLoader

    shared = Path(__file__).parent
    loader = FileSystemLoader([template.parent, shared])
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=loader)
    environment.filters |= {"number": number_text, "visible": visible}
    return environment.get_template(template.name).render(
        values, font="font-family:system-ui,sans-serif"
    )


def number_text(value: float, *, signed: bool = True) -> str:
    """Return a number with three digits and typographic signs."""
    return f"{value:{'+' if signed else ''}.3g}".replace("-", "−").replace("inf", "∞")
