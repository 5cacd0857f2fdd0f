"""Partition SHAP (Lundberg and Lee 2017) on the units of a text, with a hierarchy of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from exparity.core.flags import Range
from exparity.explanations.alignment import laid_on
from exparity.methods import MethodBatch, method
from exparity.methods._owen import Search, owen_values, text_hierarchy
from exparity.types import BoolArray, FloatArray, IntArray

_TOGETHER = 64  # texts that run side by side; what they ask fills the engine's batches


@method(
    "shap",
    signed=True,
    needs_gradient=False,
    target="probability",
    baseline="mask token",
    stochastic=True,
    reference="Lundberg and Lee 2017, arXiv:1705.07874; Owen 1977, doi:10.1007/978-3-642-45494-3_7",
    display="Partition SHAP",
    adaptive=True,
    passes=500,
    per="token",
)
def shap(
    batch: MethodBatch, *, max_evals: Annotated[int, Range(at_least=10, at_most=1_000_000)] = 500
) -> list[FloatArray]:
    r"""Owen values: Shapley values that respect a hierarchy of the text's tokens, or larger units.

    The shap package builds the hierarchy (pieces of words, then words, then clauses), splits the
    branch with the largest weighted effect first, and shares what is not split any more evenly.
    Absent tokens are replaced by the mask token; special tokens and those of a prompt stay. The
    tokens of a larger unit share its value. Draws decide between branches of equal effect only.

    Args:
        batch: the texts.
        max_evals: most masks to evaluate per text.

    Returns:
        (t,) signed scores for each text, in probability; where every branch was split they sum to
        f(input) − f(all masked).
    """
    scores: list[FloatArray] = [np.zeros(0)] * len(batch)
    leaders = np.unique(batch.leaders)
    for first in range(0, len(leaders), _TOGETHER):
        versions = [_versions(batch, leader) for leader in leaders[first : first + _TOGETHER]]
        for items, values in zip(
            versions, _explain_together(batch, versions, max_evals), strict=True
        ):
            for item, row in zip(items, values, strict=True):
                scores[item] = row
    return scores


def _versions(batch: MethodBatch, leader: int) -> IntArray:
    """Return the items that follow a text, the text itself first."""
    followers = np.flatnonzero(batch.leaders == leader)
    return np.concatenate([[leader], followers[followers != leader]]).astype(np.int64)


def _explain_together(
    batch: MethodBatch, versions: list[IntArray], max_evals: int
) -> list[FloatArray]:
    """Explain some texts with all versions of each, in shared batches: (v, t) of each text."""
    from exparity.engine.masking import MaskedTexts

    order = np.concatenate(versions)
    starts = np.cumsum([0, *[len(items) for items in versions]])
    texts = MaskedTexts(
        batch.classifier,
        [batch.rows[item] for item in order],
        token_ids=[batch.token_ids[item] for item in order],
    )
    units = [batch.units[items[0]] for items in versions]
    own = [  # (u,) False for units of a prompt around the text
        ~batch.encodings[items[0]].frame_mask[its.first]
        for items, its in zip(versions, units, strict=True)
    ]

    def answer(questions: dict[int, BoolArray]) -> list[FloatArray]:
        """Return the (v, m, c) probabilities of all versions of the texts that ask."""
        owners, masks, shapes = [], [], []
        for text, asked in questions.items():
            on_tokens = units[text].on_tokens(laid_on(own[text], asked, True))
            for version in range(starts[text], starts[text + 1]):
                owners += [version] * len(asked)
                masks += list(on_tokens)
            shapes.append((len(versions[text]), len(asked), -1))
        probabilities = texts.probabilities(np.array(owners, dtype=np.int64), masks)
        parts = np.split(probabilities, np.cumsum([v * m for v, m, _ in shapes])[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    searches = [
        _search(batch, items, mask, max_evals) for items, mask in zip(versions, own, strict=True)
    ]
    found = _run_together(searches, answer)
    return [
        np.stack([its.shared(row) for row in laid_on(mask, values, 0.0)])
        for its, mask, values in zip(units, own, found, strict=True)
    ]


def _search(batch: MethodBatch, items: IntArray, own: BoolArray, max_evals: int) -> Search:
    """Return the search for the values of one text's own units, and of its versions."""
    encoding, units = batch.encodings[items[0]], batch.units[items[0]]
    assert encoding.offsets is not None
    ends = np.zeros(len(units), dtype=np.int64)
    np.maximum.at(ends, units.of_token, encoding.offsets[:, 1])
    spans = np.stack([encoding.offsets[units.first, 0], ends], axis=1)[own]
    return owen_values(
        text_hierarchy(encoding.text, spans, batch.classifier.tokenizer.sep_token),
        encoding.special_mask[units.first][own],
        batch.targets[items],
        max_evals,
        int(batch.generator(items[0]).integers(2**32)),
    )


def _run_together(
    searches: list[Search], answer: Callable[[dict[int, BoolArray]], list[FloatArray]]
) -> list[FloatArray]:
    """Run searches to their ends, and answer the questions of each round together."""
    found: dict[int, FloatArray] = {}
    replies: dict[int, Any] = dict.fromkeys(range(len(searches)))
    while replies:
        questions = {}
        for place, reply in replies.items():
            try:
                questions[place] = searches[place].send(reply)
            except StopIteration as end:
                found[place] = end.value
        replies = dict(zip(questions, answer(questions), strict=True)) if questions else {}
    return [found[place] for place in range(len(searches))]
