"""One text's attributions as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exparity.core.escaping import visible
from exparity.explanations import Explanation
from exparity.explanations.markup import token_texts
from exparity.report.figures.style import GREEN, GREY, PALE, PURPLE, tint, without_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def tokens_panel(axes: Axes, explanation: Explanation) -> None:
    """Draw a bar per token: up for the target, down and hatched against it.

    Special tokens are grey, as metrics leave them out. Words of the rationale are bold.
    """
    scores = np.nan_to_num(explanation.scores)
    x = np.arange(len(scores))
    special = ~explanation.content_mask
    for mask, colour, hatch in (
        (special, PALE, ""),
        (~special & (scores >= 0), GREEN, ""),
        (~special & (scores < 0), PURPLE, "////"),
    ):
        axes.bar(
            x[mask],
            scores[mask],
            0.8,
            color=tint(colour, 0.75),
            edgecolor=GREY,
            linewidth=0.4,
            hatch=hatch,
        )
    tokens = [visible(token) for token in token_texts(explanation.tokens)]
    axes.set_xticks(x, tokens, rotation=60, ha="right", rotation_mode="anchor")
    rationale, words = explanation.rationale, explanation.word_ids
    assert words is not None
    for label, hidden, word in zip(axes.get_xticklabels(), special, words, strict=True):
        if hidden:
            label.set_color(GREY)
        if rationale is not None and word >= 0 and rationale[word]:
            label.set_fontweight("bold")
    axes.axhline(0, color=GREY, lw=0.5)
    axes.set_xlim(-0.7, len(scores) - 0.3)
    without_line(axes, "x")
    method = "" if explanation.origin is None else f"{explanation.origin.method}, "
    axes.set_title(visible(f"{method}target {explanation.target}"))
    axes.set_ylabel("attribution")
