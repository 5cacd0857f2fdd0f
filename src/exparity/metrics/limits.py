"""The two controls of metrics that take units: random orders of them, and a searched one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from exparity.metrics import MetricBatch
from exparity.metrics._arrays import descending
from exparity.metrics.removal import Steps, mean_drop, span_or_nan, step_sizes
from exparity.types import BoolArray, Falls, FloatArray, IntArray

LogOdds = Callable[[Sequence[BoolArray]], list[FloatArray]]
"""From (k, n) sets of each text's n content units that are left to the target's (k,) log odds."""


def passes_of(turns: int, n_units: int, draws: int, stages: int) -> int:
    """Return about how many passes limits of one text take, for some directions and units."""
    each_size = n_units * (draws + 1)
    searched = n_units * (min(stages, n_units) + 1) // 2
    alone = n_units // 2  # both directions ask about the same units
    return turns * (each_size + searched + alone)


def falls_by_size(batch: MetricBatch, scores: Sequence[FloatArray], *, keep: bool) -> list[Falls]:
    """Return the falls of texts when each number of their units goes, or stays.

    The units with the highest of a text's (u,) scores are taken first. Sizes are 1 to n, and from 0
    with ``keep``: explanations take steps of any size, and a fall of another size is no substitute.
    """
    sets = []
    for text_scores, mask in zip(scores, batch.content_masks, strict=True):
        ranked = descending(text_scores, mask)
        place = np.full(len(mask), len(ranked))
        place[ranked] = np.arange(len(ranked))
        sizes = np.arange(0 if keep else 1, len(ranked) + 1)
        sets.append(place < sizes[:, None])
    return batch.falls_of_sets(sets, keep=keep)


def reference_scores(batch: MetricBatch, stages: int, *, keep: bool) -> list[FloatArray]:
    """Return (u,) scores of each text's units by :func:`best_orders`, the first highest."""
    places = [np.flatnonzero(mask) for mask in batch.content_masks]

    def log_odds(sets: Sequence[BoolArray]) -> list[FloatArray]:
        sequences: list[IntArray] = []
        counts = [len(left) for left in sets]
        for index, left in enumerate(sets):
            stays = np.tile(~batch.content_masks[index], (len(left), 1))
            stays[:, places[index]] = left
            sequences += batch.left(index, stays)
        values = batch.target_outputs(sequences, np.repeat(np.arange(len(sets)), counts))[1]
        return np.split(values, np.cumsum(counts)[:-1])

    orders = best_orders(log_odds, list(map(len, places)), stages, keep=keep)
    scores_by_text = []
    for content, order, mask in zip(places, orders, batch.content_masks, strict=True):
        scores = np.zeros(len(mask))
        scores[content[order]] = np.arange(len(order), 0, -1)
        scores_by_text.append(scores)
    return scores_by_text


def best_orders(
    log_odds: LogOdds, lengths: Sequence[int], stages: int, *, keep: bool
) -> list[IntArray]:
    """Return the best of three orders in which to take the units of each text.

    They are that of :func:`reference_orders`; that of the log odds of each unit alone; and the
    former for as many units as a first stage takes, with the others by the latter. The search
    misses units that can replace each other, since little falls until the last of them goes; alone,
    each of them shows. The log odds at all stages of the three are ranked together: the best order
    has the lowest sum of ranks, of units to ``keep`` the highest, and of equal ones the first
    counts. Only ranks matter, so that no increasing change of the probability changes the order.
    """
    from scipy.stats import rankdata

    searched = reference_orders(log_odds, lengths, stages, keep=keep)
    alone = _by_text(log_odds, [np.eye(length, dtype=bool) for length in lengths])
    places = [rankdata(-values, "min") for values in alone]
    begun = []
    for order, by_value in zip(searched, places, strict=True):
        first = order[: max(1, _taken_after(1, stages, len(order)))]
        from_first = by_value.copy()
        from_first[first] = np.arange(len(first)) - len(first)
        begun.append(from_first)
    candidates = [
        searched,
        [_lowest_first(ranks) for ranks in places],
        [_lowest_first(ranks) for ranks in begun],
    ]
    at_stages = []
    for orders in candidates:
        sets = [_left_at(order, stages, keep=keep) for order in orders]
        at_stages.append(_by_text(log_odds, sets))
    best = []
    for index, by_order in enumerate(zip(*at_stages, strict=True)):
        ranks = rankdata(by_order).reshape(len(candidates), -1)
        sums = ranks.sum(axis=1) if keep else -ranks.sum(axis=1)
        best.append(candidates[int(sums.argmax())][index])
    return best


def _by_text(log_odds: LogOdds, sets: Sequence[BoolArray]) -> list[FloatArray]:
    """Return (k,) log odds of each text, given (k, n) the units that are left."""
    return log_odds(sets) if any(map(len, sets)) else [np.zeros(0) for _ in sets]


def _left_at(order: IntArray, stages: int, *, keep: bool) -> BoolArray:
    """Return (k, n) the units that are left at each stage of an order."""
    n_units = len(order)
    place = np.argsort(order)
    sizes = np.unique([_taken_after(stage, stages, n_units) for stage in range(1, stages + 1)])
    is_taken = place < sizes[sizes > 0, None]
    return is_taken if keep else ~is_taken


def _taken_after(stage: int, stages: int, n_units: int) -> int:
    """Return how many of a text's units are taken after a stage; the nudge is that of steps."""
    return int(stage * n_units / stages + 1e-9)


def _lowest_first(values: FloatArray) -> IntArray:
    """Return the order of rising values, of ties the later unit first."""
    return np.lexsort((-np.arange(len(values)), values))


def reference_orders(
    log_odds: LogOdds, lengths: Sequence[int], stages: int, *, keep: bool
) -> list[IntArray]:
    """Return an order in which to take the units of each text, searched in stages.

    At each stage every unit that is left is taken out alone. Those go whose loss lowers the log
    odds most, as many as a stage takes; of ties the later unit first. To ``keep`` units, those
    go whose loss lowers them least, and the order is reversed. All texts are searched together.
    """
    left = [np.ones(length, dtype=bool) for length in lengths]
    orders: list[list[int]] = [[] for _ in lengths]
    for stage in range(1, stages + 1):
        takes = [
            _taken_after(stage, stages, length) - len(order)
            for length, order in zip(lengths, orders, strict=True)
        ]
        sets = [
            _without_one(units) if take else np.zeros((0, len(units)), dtype=bool)
            for units, take in zip(left, takes, strict=True)
        ]
        answers = _by_text(log_odds, sets)
        for index, (take, without_token) in enumerate(zip(takes, answers, strict=True)):
            if not take:
                continue
            tokens = np.flatnonzero(left[index])
            losses = -without_token if keep else without_token
            first = tokens[_lowest_first(losses)[:take]]
            orders[index] += first.tolist()
            left[index][first] = False
    return [np.array(order[::-1] if keep else order, dtype=np.int64) for order in orders]


def _without_one(left: BoolArray) -> BoolArray:
    """Return (k, n) the k units that are left less each of them in turn."""
    units = np.flatnonzero(left)
    sets = np.tile(left, (len(units), 1))
    sets[np.arange(len(units)), units] = False
    return sets


def scores_of_orders(falls: Falls, steps: Steps, *, normalised: bool, keep: bool) -> FloatArray:
    """Return the (r,) scores of r orders of a text's units, by steps of fractions.

    ``falls`` are the (r, k) falls of :func:`falls_by_size`.
    """
    n_tokens = int(falls.sizes[-1])
    n_orders = len(falls.probability)
    sizes = step_sizes(n_tokens, steps)
    drops = np.zeros((n_orders, len(steps.thresholds)))
    if keep:
        drops[:, : len(sizes)] = falls.probability[:, sizes]
    else:  # nothing falls where no unit goes
        from_none = np.pad(falls.probability, ((0, 0), (1, 0)))
        drops[:, : len(sizes)] = from_none[:, sizes]
    step_mask = np.broadcast_to(np.arange(len(steps.thresholds)) < len(sizes), drops.shape)
    values = mean_drop(drops, step_mask) if sizes else np.full(n_orders, float(keep))
    if not normalised:
        return values
    return values / span_or_nan(falls.probability[:, 0 if keep else -1])
