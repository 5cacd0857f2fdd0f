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
from scipy.stats import rankdata

from exparity.metrics.foresight import FEWEST_UNITS, Design
from exparity.metrics.removal import TENTHS
from exparity.stats.skill import SCALES, Scale
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
    if group.form in _ADDITIVE:
        flat = kept.reshape(*kept.shape[:2], -1, group.n).astype(float)
        total = np.matmul(flat, texts.weights[..., None])
        return np.asarray(total.reshape(*lead, *kept.shape[2:-1]))
    weights = texts.weights.reshape(*lead, *[1] * (kept.ndim - 3), group.n)
    parts = weights * kept
    total = np.asarray(parts.sum(axis=-1))
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


def reference_of(texts: Texts) -> IntArray:
    """Return (s, t, n) the orders of :func:`exparity.metrics.limits.best_orders`."""
    if texts.group.form in _ADDITIVE:
        return orders_of(texts.weights)
    n = texts.group.n
    single = np.broadcast_to(np.eye(n, dtype=bool), (1, texts.weights.shape[1], n, n))
    _, alone = answers(texts, totals(texts, single))
    by_search = searched(texts)
    places = np.argsort(by_search, axis=-1)
    first = max(1, int(n / STAGES + 1e-9))
    begun = np.where(places < first, alone.max() + n - places, alone)
    orders = np.stack([by_search, orders_of(alone), orders_of(begun)], axis=-2)
    sizes = np.unique([int(stage * n / STAGES + 1e-9) for stage in range(1, STAGES + 1)])
    at_stages = falls_of(texts, orders).log_odds[..., sizes[sizes > 0] - 1]
    ranks = rankdata(at_stages.reshape(*at_stages.shape[:2], -1), axis=-1)
    best = ranks.reshape(at_stages.shape).sum(axis=-1).argmax(axis=-1)
    return np.take_along_axis(orders, best[..., None, None], axis=-2)[..., 0, :]


def searched(texts: Texts) -> IntArray:
    """Return (s, t, n) the orders of the search in stages, for all texts at once."""
    n = texts.group.n
    lead = texts.weights.shape[:2]
    left = np.ones((*lead, n), dtype=bool)
    ranks = np.zeros((*lead, n))  # the first word that goes has the highest
    gone = 0
    for stage in range(1, STAGES + 1):
        take = int(stage * n / STAGES + 1e-9) - gone
        if not take:
            continue
        alone = left[..., None, :] & ~np.eye(n, dtype=bool)
        _, odds = answers(texts, totals(texts, alone))
        first = orders_of(np.where(left, -odds, -np.inf))[..., :take]
        np.put_along_axis(left, first, False, axis=-1)
        np.put_along_axis(ranks, first, np.arange(n - gone, n - gone - take, -1.0), axis=-1)
        gone += take
    return orders_of(ranks)


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
        earlier: the same by the earlier rule (``earlier.py``).
        counting: (s, t) how many words count.
        foreseen: correlation of forward simulation.
        masks: (t, k, n) the words that draws of forward simulation leave out.
        drops: (s, t, k) the falls of these.
        n_units: (t,) words of each text.
    """

    steps: dict[Scale, FloatArray]
    earlier: dict[Scale, FloatArray]
    counting: FloatArray
    foreseen: FloatArray
    masks: BoolArray
    drops: FloatArray
    n_units: FloatArray


def measured(texts: Texts, rng: np.random.Generator) -> Measured:
    """Measure explanations by removal and by forward simulation."""
    own = _of_one(falls_of(texts, orders_of(texts.shown)[..., None, :]))
    reference = _of_one(falls_of(texts, reference_of(texts)[..., None, :]))
    scores = rng.random((*texts.weights.shape[:2], DRAWS, texts.group.n))
    random = falls_of(texts, orders_of(scores))
    taken = sizes_taken(texts)
    steps = steps_of(own, taken, random, reference)
    earlier = steps_of(own, taken, *earlier_limits(texts, random, reference), interpolated=True)
    masks, drops, foreseen = foresight_of(texts, rng)
    n_units = np.full(texts.weights.shape[1], float(texts.group.n))
    return Measured(steps, earlier, words_that_count(reference), foreseen, masks, drops, n_units)


def words_that_count(reference: Falls) -> FloatArray:
    """Return (s, t) what :func:`exparity.stats.skill.units_that_count` says of all texts."""
    added = np.abs(np.diff(reference.log_odds, axis=-1, prepend=0.0))
    with np.errstate(invalid="ignore"):
        counting = added.sum(axis=-1) ** 2 / np.square(added).sum(axis=-1)
    return np.asarray(np.round(counting, _DIGITS))


def earlier_limits(texts: Texts, random: Falls, reference: Falls) -> tuple[Falls, Falls]:
    """Return limits of the earlier rule: at tenths of the words, the reference by the search."""
    n = texts.group.n
    if texts.group.form not in _ADDITIVE:
        reference = _of_one(falls_of(texts, searched(texts)[..., None, :]))
    sizes = np.unique([int(tenth * n + 1e-9) for tenth in TENTHS])
    sizes = sizes[sizes > 0]
    return _at_sizes(random, sizes), _at_sizes(reference, sizes)


def _at_sizes(falls: Falls, sizes: IntArray) -> Falls:
    """Return the falls of some sizes, of all from 1."""
    return Falls(sizes, falls.probability[..., sizes - 1], falls.log_odds[..., sizes - 1])


def steps_of(
    own: Falls,
    taken: BoolArray,
    random: Falls,
    reference: Falls,
    *,
    interpolated: bool = False,
) -> dict[Scale, FloatArray]:
    """Return (s, t, 2) gain and room by scale, of texts that have steps of the sizes taken.

    They are those of :meth:`exparity.stats.skill.Limits.step`, for all texts at once. By the
    earlier rule, limits are ``interpolated`` between the sizes that there are.
    """
    lead = taken.shape[:2]
    k = len(random.sizes)
    in_pool = shares_below(
        random.log_odds.reshape(*lead, -1),
        np.concatenate([own.log_odds, reference.log_odds], axis=-1),
    )
    by_chance = in_pool[..., : DRAWS * k].reshape(*lead, DRAWS, k)
    counted = {
        "ranks": (in_pool[..., DRAWS * k : -k], by_chance, in_pool[..., -k:]),
        "log_odds": (own.log_odds, random.log_odds, reference.log_odds),
        "probability": (own.probability, random.probability, reference.probability),
    }
    steps = {}
    with np.errstate(invalid="ignore"):  # an explanation without a step has none
        shares = taken / taken.sum(axis=-1, keepdims=True)
    for scale in SCALES:
        of_own, of_chance, of_reference = counted[scale]
        chance = of_chance.mean(axis=-2)
        if interpolated:
            units = np.eye(k)
            weights = np.array([np.interp(own.sizes, random.sizes, unit) for unit in units])
            chance = chance @ weights
            of_reference = of_reference @ weights
        gain = (shares * (of_own - chance)).sum(axis=-1)
        room = (shares * (of_reference - chance)).sum(axis=-1)
        steps[scale] = np.stack([gain, room], axis=-1)
    return steps


def shares_below(pool: FloatArray, others: FloatArray) -> FloatArray:
    """Return the share of a (..., m) pool below each of its falls and of (..., k) others.

    A tie counts half. The result is (..., m + k).
    """
    size = pool.shape[-1]
    values = np.concatenate([pool, others], axis=-1)
    order = values.argsort(axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    is_pool = order < size
    up_to = is_pool.cumsum(axis=-1)  # of the pool, up to each place
    is_new = np.ones(values.shape, dtype=bool)
    is_new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    is_last = np.ones(values.shape, dtype=bool)
    is_last[..., :-1] = is_new[..., 1:]
    below = np.maximum.accumulate(np.where(is_new, up_to - is_pool, 0), axis=-1)
    ends = np.where(is_last, up_to, size)[..., ::-1]
    not_above = np.minimum.accumulate(ends, axis=-1)[..., ::-1]
    shares = np.empty(values.shape)
    np.put_along_axis(shares, order, (below + not_above) / (2 * size), axis=-1)
    return shares


def _of_one(falls: Falls) -> Falls:
    """Return the falls of the only order of each text."""
    return Falls(falls.sizes, falls.probability[..., 0, :], falls.log_odds[..., 0, :])


def foresight_of(
    texts: Texts, rng: np.random.Generator
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return masks, their falls, and the correlation with what explanations foresee."""
    n = texts.group.n
    lead = texts.weights.shape[:2]
    if n < FEWEST_UNITS:
        nothing = np.zeros((lead[1], 0, n), dtype=bool)
        return nothing, np.zeros((*lead, 0)), np.full(lead, np.nan)
    draws = Design("word").draws_of(n)
    numbers = rng.random((lead[1], draws, n))
    masks = numbers < np.partition(numbers, n // 2, axis=-1)[..., n // 2, None]
    _, whole = answers(texts, whole_texts(texts)[..., None])
    _, left = answers(texts, totals(texts, ~masks[None]))
    drops = whole - left
    predicted = np.matmul(masks.astype(float), texts.shown[..., None])[..., 0]
    return masks, drops, correlations(predicted, drops)


def correlations(predicted: FloatArray, drops: FloatArray) -> FloatArray:
    """Return (...) Pearson's correlations of two (..., k) arrays; NaN where one is constant."""
    first = predicted - predicted.mean(axis=-1, keepdims=True)
    second = drops - drops.mean(axis=-1, keepdims=True)
    norms = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    with np.errstate(invalid="ignore"):
        return np.asarray((first * second).sum(axis=-1) / norms)


def together(parts: Sequence[Measured]) -> Measured:
    """Return what was measured of texts of several kinds, which make up one group."""
    if len(parts) == 1:
        return parts[0]
    steps = {
        scale: np.concatenate([part.steps[scale] for part in parts], axis=1) for scale in SCALES
    }
    earlier = {
        scale: np.concatenate([part.earlier[scale] for part in parts], axis=1) for scale in SCALES
    }
    counting = np.concatenate([part.counting for part in parts], axis=1)
    foreseen = np.concatenate([part.foreseen for part in parts], axis=1)
    n_units = np.concatenate([part.n_units for part in parts])
    return parts[0]._replace(
        steps=steps, earlier=earlier, counting=counting, foreseen=foreseen, n_units=n_units
    )
