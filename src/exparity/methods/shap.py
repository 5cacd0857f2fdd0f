"""Partition SHAP (Lundberg and Lee 2017) on tokens, with a hierarchy of the text."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from exparity.interface import BoolArray, FloatArray, IntArray, Range
from exparity.methods import MethodBatch, method
from exparity.methods._lockstep import run_in_lockstep
from exparity.methods._partition import owen_values

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
)
def shap(
    batch: MethodBatch, *, max_evals: Annotated[int, Range(at_least=10, at_most=1_000_000)] = 500
) -> list[FloatArray]:
    r"""Owen values: Shapley values that respect a hierarchy of the text's tokens.

    The shap package builds the hierarchy (pieces of words, then words, then clauses), splits the
    branch with the largest weighted effect first, and shares what is not split any more evenly.
    Absent tokens are replaced by the mask token; special tokens stay. Draws decide between branches
    of equal effect only.

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
    """Explain some texts with all versions of each, in shared batches."""
    from exparity.engine.masking import MaskedTexts

    tokenizer = batch.classifier.tokenizer
    order = np.concatenate(versions)
    starts = np.cumsum([0, *[len(items) for items in versions]])
    texts = MaskedTexts(batch.classifier, [batch.rows[item] for item in order])

    def answer(asking: list[int], questions: list[BoolArray]) -> list[FloatArray]:
        owners, masks = [], []
        for text, asked in zip(asking, questions, strict=True):
            for version in range(starts[text], starts[text + 1]):
                owners += [version] * len(asked)
                masks += list(asked)
        probabilities = texts.probabilities(np.array(owners), masks)
        answers, first = [], 0
        for text, asked in zip(asking, questions, strict=True):
            count = len(versions[text])
            part = probabilities[first : first + count * len(asked)]
            answers.append(part.reshape(count, len(asked), -1))
            first += len(part)
        return answers

    return run_in_lockstep(
        [
            partial(
                owen_values,
                tokenizer=tokenizer,
                encoding=batch.encodings[items[0]],
                targets=batch.targets[items],
                max_evals=max_evals,
            )
            for items in versions
        ],
        [int(batch.generator(items[0]).integers(2**32)) for items in versions],
        answer,
    )
