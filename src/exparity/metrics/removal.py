"""Comprehensiveness, class-wise comprehensiveness and sufficiency, by one removal curve.

Follows DeYoung et al. 2020 with the conventions of ferret (Attanasio et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np

from exparity.core.flags import Range
from exparity.metrics import MetricBatch, metric
from exparity.metrics._arrays import descending
from exparity.types import BoolArray, Falls, FloatArray

BasedOn = Literal["fraction", "threshold"]
AverageOver = Literal["distinct", "all"]
Threshold = Annotated[float, Range(above=0, at_most=1)]
TENTHS = tuple(j / 10 for j in range(1, 11))
LEAST_SPAN = 0.01
"""Smallest |f(x) − f(∅)| that a fall is divided by."""


class Steps(NamedTuple):
    """The steps of a removal curve; see :func:`top_sets`."""

    based_on: BasedOn
    thresholds: Sequence[float]
    only_positive: bool
    average_over: AverageOver = "distinct"


def top_sets(scores: FloatArray, content_mask: BoolArray, steps: Steps) -> list[BoolArray]:
    """Return the token sets that the steps of a removal curve take.

    A step takes the ⌊threshold · n⌋ highest of the ``n`` content tokens (``fraction``), or those
    with a score above the threshold. Of equal scores the later token comes first.
    """
    ranked = descending(scores, content_mask)
    positive = int((scores[ranked] > 0).sum()) if steps.only_positive else len(ranked)
    sets: list[BoolArray] = []
    sizes = {0}
    for threshold in steps.thresholds:
        if steps.based_on == "fraction":
            # The nudge keeps 0.3 · 10 from becoming 2.
            size = min(int(threshold * len(ranked) + 1e-9), positive)
        else:
            size = min(int((scores[ranked] > threshold).sum()), positive)
        if steps.average_over == "all" or size not in sizes:
            is_taken = np.zeros(len(scores), dtype=bool)
            is_taken[ranked[:size]] = True
            sets.append(is_taken)
            sizes.add(size)
    return sets


def step_sizes(n_tokens: int, steps: Steps) -> list[int]:
    """Return how many of ``n_tokens`` with positive scores each step of fractions takes."""
    scores = np.arange(1.0, n_tokens + 1)
    all_tokens = np.ones(n_tokens, dtype=bool)
    return [int(is_taken.sum()) for is_taken in top_sets(scores, all_tokens, steps)]


def mean_drop(drops: FloatArray, step_mask: BoolArray) -> FloatArray:
    """Return the (n,) mean of (n, k) falls over each text's steps, NaN without; others are 0."""
    counts = step_mask.sum(1)
    result = np.full(len(drops), np.nan)
    np.divide(drops.sum(1), counts, out=result, where=counts > 0)
    return result


def removal_curve(batch: MetricBatch, steps: Steps, *, keep: bool, normalised: bool) -> FloatArray:
    """Return the (n,) mean fall in target probability, in [−1, 1], when top tokens go, or stay.

    A text without a step of :func:`top_sets` has 0, or with ``keep`` 1; one whose attribution is
    not finite has NaN. If ``normalised``, the fall is divided by that of the text without any
    content token, is within ±1/:data:`LEAST_SPAN`, and NaN where the divisor is smaller.
    """
    n = len(batch)
    masks = batch.content_masks
    finite = np.array([not np.isnan(scores).any() for scores in batch.scores])
    sets = [
        top_sets(scores, mask, steps) if is_finite else []
        for scores, mask, is_finite in zip(batch.scores, masks, finite, strict=True)
    ]
    emptied = [np.zeros_like(mask) if keep else mask for mask in masks]
    with_emptied = [[*text_sets, empty] for text_sets, empty in zip(sets, emptied, strict=True)]
    falls_by_text = batch.falls_of_sets(with_emptied if normalised else sets, keep=keep)
    drops = np.zeros((n, len(steps.thresholds)))
    step_mask = np.zeros((n, len(steps.thresholds)), dtype=bool)
    for index, (falls, text_sets) in enumerate(zip(falls_by_text, sets, strict=True)):
        n_steps = len(text_sets)
        drops[index, :n_steps] = falls.probability[:n_steps]
        step_mask[index, :n_steps] = True
        if finite[index]:
            batch.falls[index] = Falls._make(column[:n_steps] for column in falls)
    values = mean_drop(drops, step_mask)
    spans = np.ones(n)
    if normalised:
        spans = span_or_nan(np.array([falls.probability[-1] for falls in falls_by_text]))
        batch.notes["alike_when_empty"] += int(np.isnan(spans).sum())
    stepless = finite & ~step_mask.any(1) & ~np.isnan(spans)
    return np.where(stepless, float(keep), values / spans)


def span_or_nan(spans: FloatArray) -> FloatArray:
    """Return falls from whole texts to none, NaN where they are too small to divide by."""
    return np.where(np.abs(spans) < LEAST_SPAN, np.nan, spans)


_removal_metric = partial(
    metric,
    bounds=(-1.0, 1.0),
    unit="probability",
    kind="faithfulness",
    needs="probabilities",
    stochastic=False,
    reference="DeYoung et al. 2020, doi:10.18653/v1/2020.acl-main.408, section 4.2",
    passes=20,
    skill="removal",
    per="token",
    bounds_where={"normalised": (-1 / LEAST_SPAN, 1 / LEAST_SPAN)},
)


@_removal_metric("comprehensiveness", direction="higher", display="Comprehensiveness")
def comprehensiveness(
    batch: MetricBatch,
    *,
    based_on: BasedOn = "fraction",
    thresholds: tuple[Threshold, ...] = TENTHS,
    only_positive: bool = True,
    average_over: AverageOver = "distinct",
    normalised: bool = False,
) -> FloatArray:
    r"""Mean fall in target probability when the highest-scored tokens are removed.

    :math:`\frac1K \sum_k f_y(x) - f_y(x \setminus r_k)`, an area over the perturbation curve.

    Args:
        batch: the explanations.
        based_on: ``fraction`` of content tokens, or score ``threshold``.
        thresholds: steps of the curve, each in (0, 1].
        only_positive: never remove tokens with a score of 0 or less.
        average_over: ``distinct`` steps: of steps that remove the same tokens one counts, and none
            that removes nothing; or ``all`` steps, where one that removes nothing adds 0.
        normalised: divide by the fall from the whole text to one without any content token,
            :math:`f_y(x) - f_y(\emptyset)`.

    Returns:
        (n,) in [−1, 1], higher is better; 0 where no step removes a token. Normalised, a share in
        [−100, 100]; NaN where that fall is less than 0.01 either way.
    """
    steps = Steps(based_on, thresholds, only_positive, average_over)
    return removal_curve(batch, steps, keep=False, normalised=normalised)


@_removal_metric("sufficiency", direction="lower", display="Sufficiency")
def sufficiency(
    batch: MetricBatch,
    *,
    based_on: BasedOn = "fraction",
    thresholds: tuple[Threshold, ...] = TENTHS,
    only_positive: bool = True,
    average_over: AverageOver = "distinct",
    normalised: bool = False,
) -> FloatArray:
    r"""Mean fall in target probability when only the highest-scored tokens are kept.

    :math:`\frac1K \sum_k f_y(x) - f_y(r_k)`, an area over the perturbation curve.

    Args:
        batch: the explanations.
        based_on: ``fraction`` of content tokens, or score ``threshold``.
        thresholds: steps of the curve, each in (0, 1].
        only_positive: never keep tokens with a score of 0 or less.
        average_over: ``distinct`` steps: of steps that keep the same tokens one counts, and none
            that keeps nothing; or ``all`` steps, where one that keeps nothing leaves the special
            tokens.
        normalised: divide by the fall from the whole text to one without any content token,
            :math:`f_y(x) - f_y(\emptyset)`.

    Returns:
        (n,) in [−1, 1], lower is better; 1 where there is no step. Normalised, a share in
        [−100, 100]; NaN where that fall is less than 0.01 either way.
    """
    steps = Steps(based_on, thresholds, only_positive, average_over)
    return removal_curve(batch, steps, keep=True, normalised=normalised)


@_removal_metric(
    "class_comprehensiveness",
    direction="higher",
    needs="explainer",
    reference="Attanasio et al. 2023, arXiv:2208.01575, in the code of ferret-xai 0.4.2",
    display="Class-wise comprehensiveness",
    passes=4,
    skill="none",
    bounds_where={},
)
def class_comprehensiveness(
    batch: MetricBatch,
    *,
    based_on: BasedOn = "fraction",
    thresholds: tuple[Threshold, ...] = TENTHS,
    average_over: AverageOver = "distinct",
) -> FloatArray:
    r"""Mean comprehensiveness of the explanations of all classes.

    :math:`\frac1C \sum_c \frac1K \sum_k f_c(x) - f_c(x \setminus r_{ck})`, where :math:`r_{ck}` are
    the tokens that speak for class :math:`c` most. The method explains every text for each class.

    Args:
        batch: the explanations.
        based_on: as for :func:`comprehensiveness`.
        thresholds: steps of the curve, each in (0, 1].
        average_over: ``distinct`` steps, or ``all``.

    Returns:
        (n,) in [−1, 1], higher is better; a class adds 0 where no step removes a token. NaN where
        an attribution is not finite, and for methods that need the training texts, which a metric
        does not have.

    Raises:
        InputError: explanations that cannot be made again.
    """
    if batch.explainer.facts.needs_training:
        return np.full(len(batch), np.nan)
    steps = Steps(based_on, thresholds, only_positive=True, average_over=average_over)
    values = [
        removal_curve(batch.of_class(target), steps, keep=False, normalised=False)
        for target in range(batch.classifier.n_classes)
    ]
    return np.asarray(np.stack(values, axis=1).mean(axis=1), dtype=np.float64)
