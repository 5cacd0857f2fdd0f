"""Classifiers and explanations in closed form: how well a text is explained is known.

The log odds of a text are a function of the sum of its words' weights. An explanation has each
word's weight and an error. All trainings explain the same texts; their weights differ a little, and
half of the variance of an error is the same in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit

from exparity.metrics.foresight import Design, correlations
from exparity.metrics.limits import effective_number
from exparity.metrics.removal import TENTHS
from exparity.stats.skill import SCALES, Limits, Scale
from exparity.types import BoolArray, Falls, FloatArray, IntArray

DRAWS = 5
STAGES = 10
_DIGITS = 9  # sets of the same words are a tie in whatever order they are added up

_ADDITIVE = "sum", "saturating"

Form = Literal["sum", "either", "both", "pair", "saturating"]


@dataclass(frozen=True)
class Group:
    """Texts of a group, their classifier and their explanations.

    Attributes:
        n: words of a text.
        words: how many of them count.
        weight: mean weight of each of these.
        spread: share of its mean that such a weight differs by, at most.
        background: standard deviation of the weights of all words.
        against: words that speak against the class, of weight −1 on average.
        base: log odds without any word.
        form: what the first two words say: each its weight; the higher of both, if ``either`` is
            there; the sum if ``both`` are; ±2 by whether the ``pair`` is both there or both gone.
            Or the sum of all words is ``saturating`` at ±3.
        temperature: divides log odds.
        temperature_sd: standard deviation of its logarithm between trainings.
        halved: whether p is 1/4 + p/2 instead.
        float32: whether p and log odds are rounded to 32 bits.
        error: standard deviation of the error of an explanation, per word.
        relative: whether it is a multiple of the standard deviation of a text's weights.
        noise: share of a permuted copy in the explanations.
        random: share of the texts whose explanation is permuted.
        reversed: whether explanations have the opposite sign.
        power: of the size of what an explanation says of a word.
        named: words that an explanation scores at all; all if 0.
        by_threshold: whether steps take the words above shares of the explanation's mass.
    """

    n: int = 16
    words: int = 3
    weight: float = 1.5
    spread: float = 0.5
    background: float = 0.1
    against: int = 0
    base: float = -1.0
    form: Form = "sum"
    temperature: float = 1.0
    temperature_sd: float = 0.0
    halved: bool = False
    float32: bool = False
    error: float = 0.7
    relative: bool = False
    noise: float = 0.0
    random: float = 0.0
    reversed: bool = False
    power: float = 1.0
    named: int = 0
    by_threshold: bool = False


class Texts(NamedTuple):
    """Texts of a group in several trainings.

    Attributes:
        group: what they are drawn from.
        weights: (s, t, n) of words.
        shown: (s, t, n) explanations.
        temperatures: (s,) of the trainings.
    """

    group: Group
    weights: FloatArray
    shown: FloatArray
    temperatures: FloatArray


def drawn(group: Group, trainings: int, texts: int, rng: np.random.Generator) -> Texts:
    """Draw texts of a group, and their explanations in each training."""
    of_texts = rng.normal(0.0, group.background, (texts, group.n))
    spread = rng.uniform(1 - group.spread, 1 + group.spread, (texts, group.words))
    of_texts[:, : group.words] += group.weight * spread
    end = group.words + group.against
    of_texts[:, group.words : end] -= rng.uniform(0.5, 1.5, (texts, group.against))
    shape = trainings, texts, group.n
    weights = of_texts + rng.normal(0.0, group.background / 2, shape)
    temperatures = group.temperature * np.exp(group.temperature_sd * rng.normal(size=trainings))
    shown = _attributions(group, weights)
    scale = shown.std(axis=-1, keepdims=True) if group.relative else 1.0
    errors = rng.normal(0.0, math.sqrt(0.5), shape[1:]) + rng.normal(0.0, math.sqrt(0.5), shape)
    shown = shown + group.error * scale * errors
    shown = (1 - group.noise) * shown + group.noise * rng.permuted(shown, axis=-1)
    is_random = rng.random((texts, 1)) < group.random
    shown = np.where(is_random, rng.permuted(shown, axis=-1), shown)
    if group.reversed:
        shown = -shown
    shown = np.sign(shown) * np.abs(shown) ** group.power
    if group.named:
        least = np.sort(shown, axis=-1)[..., -group.named, None]
        shown = np.where(shown >= least, shown, 0.0)
    # Words that count come anywhere: of ties the later one goes first.
    places = rng.permuted(np.broadcast_to(np.arange(group.n), shape[1:]), axis=-1)[None]
    if group.form == "sum":
        weights = np.take_along_axis(weights, places, axis=-1)
        shown = np.take_along_axis(shown, places, axis=-1)
    return Texts(group, weights, shown, temperatures)


def _attributions(group: Group, weights: FloatArray) -> FloatArray:
    """Return what an exact additive explanation says of (..., n) words."""
    shown = weights.copy()
    if group.form == "either":
        shown[..., :2] /= 2
    if group.form == "pair":
        shown[..., :2] = 0.0
    return shown


def totals(texts: Texts, kept: BoolArray) -> FloatArray:
    """Return (s, t, ...) what the (s or 1, t, ..., n) words that are left add to the log odds."""
    group = texts.group
    lead = texts.weights.shape[:2]
    weights = texts.weights.reshape(*lead, *[1] * (kept.ndim - 3), group.n)
    parts = weights * kept
    total = np.asarray(parts.sum(axis=-1))
    if group.form in _ADDITIVE:
        return total
    first = parts[..., 0]
    second = parts[..., 1]
    others = total - first - second
    if group.form == "either":
        return np.asarray(others + np.maximum(first, second))
    if group.form == "both":
        return np.asarray(others + np.where(kept[..., 0] & kept[..., 1], first + second, 0.0))
    return np.asarray(others + np.where(kept[..., 0] == kept[..., 1], 2.0, -2.0))


def answers(texts: Texts, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return probability and log odds of the explained class, given (s, t, ...) totals."""
    group = texts.group
    if group.form == "saturating":
        total = 3 * np.tanh(total / 3)
    temperatures = texts.temperatures.reshape(-1, *[1] * (total.ndim - 1))
    odds = np.round((group.base + total) / temperatures, _DIGITS)
    probability = expit(odds)
    if group.halved:
        probability = 0.25 + probability / 2
        odds = logit(probability)
    if group.float32:
        return probability.astype(np.float32).astype(float), odds.astype(np.float32).astype(float)
    return probability, odds


def whole_texts(texts: Texts) -> FloatArray:
    """Return (s, t) totals of texts with all their words."""
    return totals(texts, np.ones((1, *texts.weights.shape[1:]), dtype=bool))


def falls_of(texts: Texts, orders: IntArray) -> Falls:
    """Return falls (s, t, r, n) at every size as (s, t, r, n) orders take the words."""
    sizes = np.arange(1, texts.group.n + 1)
    total = whole_texts(texts)[..., None, None]
    if texts.group.form in _ADDITIVE:
        taken = np.take_along_axis(texts.weights[..., None, :], orders, axis=-1)
        left = total - taken.cumsum(axis=-1)
    else:
        place = np.argsort(orders, axis=-1)
        left = totals(texts, place[..., None, :] >= sizes[:, None])
    probability, odds = answers(texts, total)
    probability_left, odds_left = answers(texts, left)
    return Falls(sizes, probability - probability_left, odds - odds_left)


def orders_of(scores: FloatArray) -> IntArray:
    """Return orders of words, the highest of the last axis first, of ties the later one."""
    n = scores.shape[-1]
    return np.asarray(n - 1 - np.argsort(-scores[..., ::-1], axis=-1, kind="stable"))


def searched(texts: Texts, stages: int = STAGES) -> IntArray:
    """Return (s, t, n) the orders of the search in stages, for all texts at once."""
    if texts.group.form in _ADDITIVE:
        return orders_of(texts.weights)
    n = texts.group.n
    lead = texts.weights.shape[:2]
    left = np.ones((*lead, n), dtype=bool)
    ranks = np.zeros((*lead, n))  # the first word that goes has the highest
    gone = 0
    for stage in range(1, stages + 1):
        take = int(stage * n / stages + 1e-9) - gone
        if not take:
            continue
        alone = left[..., None, :] & ~np.eye(n, dtype=bool)
        _, odds = answers(texts, totals(texts, alone))
        first = orders_of(np.where(left, -odds, -np.inf))[..., :take]
        np.put_along_axis(left, first, False, axis=-1)
        np.put_along_axis(ranks, first, np.arange(n - gone, n - gone - take, -1.0), axis=-1)
        gone += take
    return orders_of(ranks)


def single_falls(texts: Texts) -> FloatArray:
    """Return (s, t, n) falls in log odds when each word alone is left out."""
    n = texts.group.n
    alone = np.broadcast_to(~np.eye(n, dtype=bool), (1, texts.weights.shape[1], n, n))
    _, whole = answers(texts, whole_texts(texts)[..., None])
    _, left = answers(texts, totals(texts, alone))
    return np.asarray(whole - left)


def sizes_taken(texts: Texts) -> BoolArray:
    """Return (s, t, n) whether an explanation has a step of 1, 2, ... n words."""
    n = texts.group.n
    positive = (texts.shown > 0).sum(axis=-1)
    if texts.group.by_threshold:
        shares = texts.shown / np.abs(texts.shown).sum(axis=-1, keepdims=True)
        counts = [(shares > threshold).sum(axis=-1) for threshold in TENTHS]
    else:
        counts = [np.minimum(int(tenth * n + 1e-9), positive) for tenth in TENTHS]
    sizes = np.arange(1, n + 1)
    is_taken = np.array(counts)[..., None] == sizes  # (k, s, t, n)
    return np.asarray(is_taken.any(axis=0))


class Measured(NamedTuple):
    """What metrics give of texts, (s, t) each.

    Attributes:
        steps: (s, t, 2) gain and room by scale.
        score: mean fall in probability.
        excess: the same less that of random orders.
        foreseen: correlation of forward simulation.
        true: correlation of an explanation with the weights, over the words.
        masks: (t, k, n) the words that draws of forward simulation leave out.
        drops: (s, t, k) the falls of these.
        effective: how many words matter.
        is_predicted: whether the explained class is the predicted one.
    """

    steps: dict[Scale, FloatArray]
    score: FloatArray
    excess: FloatArray
    foreseen: FloatArray
    true: FloatArray
    masks: BoolArray
    drops: FloatArray
    effective: FloatArray
    is_predicted: BoolArray


def measured(texts: Texts, rng: np.random.Generator) -> Measured:
    """Measure explanations by removal and by forward simulation."""
    own = _of_one(falls_of(texts, orders_of(texts.shown)[..., None, :]))
    reference = _of_one(falls_of(texts, searched(texts)[..., None, :]))
    scores = rng.random((*texts.weights.shape[:2], DRAWS, texts.group.n))
    random = falls_of(texts, orders_of(scores))
    taken = sizes_taken(texts)
    count = np.maximum(taken.sum(axis=-1), 1)
    score = (own.probability * taken).sum(axis=-1) / count
    masks, drops, foreseen = foresight_of(texts, rng)
    return Measured(
        steps_of(own, taken, random, reference),
        score,
        score - random.probability.mean(axis=(-2, -1)),
        foreseen,
        correlations(texts.shown, _attributions(texts.group, texts.weights)),
        masks,
        drops,
        effective_number(single_falls(texts)),
        answers(texts, whole_texts(texts))[1] > 0,
    )


def steps_of(
    own: Falls, taken: BoolArray, random: Falls, reference: Falls
) -> dict[Scale, FloatArray]:
    """Return (s, t, 2) gain and room by scale, of texts that have steps of the sizes taken."""
    steps = {scale: np.full((*taken.shape[:2], 2), np.nan) for scale in SCALES}
    patterns, which = np.unique(taken.reshape(-1, taken.shape[-1]), axis=0, return_inverse=True)
    which = which.reshape(taken.shape[:2])
    limits = Limits(random, reference, higher_is_better=True)
    for number, pattern in enumerate(patterns):
        some = which == number
        of_steps = Falls(
            own.sizes[pattern], own.probability[some][:, pattern], own.log_odds[some][:, pattern]
        )
        of_some = limits[some]
        for scale in SCALES:
            steps[scale][some] = np.stack(of_some.steps(of_steps, scale), axis=-1)
    return steps


def _of_one(falls: Falls) -> Falls:
    """Return the falls of the only order of each text."""
    return Falls(falls.sizes, falls.probability[..., 0, :], falls.log_odds[..., 0, :])


def foresight_of(
    texts: Texts, rng: np.random.Generator
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return masks, their falls, and the correlation with what explanations foresee."""
    n = texts.group.n
    draws = Design("word").draws_of(n)
    numbers = rng.random((texts.weights.shape[1], draws, n))
    masks = numbers < np.partition(numbers, n // 2, axis=-1)[..., n // 2, None]
    _, whole = answers(texts, whole_texts(texts)[..., None])
    _, left = answers(texts, totals(texts, ~masks[None]))
    drops = whole - left
    predicted = np.matmul(masks.astype(float), texts.shown[..., None])[..., 0]
    return masks, drops, correlations(predicted, drops)


def together(parts: Sequence[Measured]) -> Measured:
    """Return what was measured of texts of several kinds, which make up one group."""
    if len(parts) == 1:
        return parts[0]
    steps = {
        scale: np.concatenate([part.steps[scale] for part in parts], axis=1) for scale in SCALES
    }
    names = ("score", "excess", "foreseen", "true", "effective", "is_predicted")
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names
    }
    return parts[0]._replace(steps=steps, **columns)
