"""Analysis worst_group: which of many groups has the worst explanations, beyond chance?

Of many groups one always has the lowest mean, and small ones are the lowest most often. Means that
are shrunk towards the mean of all say how much of their range is left when chance is taken out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from exparity.analyses import StageResult, Table, analysis
from exparity.analyses.worst_group.section import findings
from exparity.artefacts.files import read_artefact
from exparity.core.flags import Range
from exparity.core.grouping import grouped
from exparity.core.seeding import derive_seed
from exparity.stages.cell import cell_of, compared_in, read_all
from exparity.stages.skill import are_scored_alike, random_by
from exparity.stats.informative import informative
from exparity.stats.model_bias import is_collapsed
from exparity.stats.multiplicity import benjamini_hochberg
from exparity.stats.samples import samples, set_index, set_means
from exparity.types import FloatArray, IntArray

_PLENTY = 10
"""Values from which a group has a variance of its own."""
_AT_ONCE = 2_000_000
"""Values that are permuted in one array."""


@analysis(
    "worst_group",
    level="seed",
    reads=("predictions", "scores", "random_scores"),
    writes={
        "worst_group": Table(
            "quantity group: string",
            "n: int64",
            "mean standard_error shrinkage shrunk_mean: float64",
            "n_groups: int64",
            "center tau q p range range_by_chance shrunk_range: float64",
            "lowest highest: string",
            "flags: list<string>",
            "p_bh: float64",
            keys=("method", "metric", "quantity", "group"),
            ids=("method", "metric"),
        )
    },
    display="Worst group",
    section=findings,
)
def worst_group_cell(
    predictions: Path,
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    *,
    permutations: Annotated[int, Range(at_least=99, at_most=100_000)] = 1999,
) -> StageResult:
    """Shrink the means of all groups, and compare their range with the range by chance.

    A row is of the ``score``, or of the ``excess`` over random explanations where there are any.

    Args:
        predictions: the predictions artefact; one class for every text is flagged ``collapsed``.
        scores: scores artefacts of one dataset, model and seed; one per method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        permutations: how often groups are permuted.

    Raises:
        InputError: a file is damaged or of another trained classifier.
    """
    predicted, metadata = read_artefact(predictions, "predictions")
    ids_of_cell = cell_of(metadata)
    collapsed = ["collapsed"] * is_collapsed(predicted.column("predicted").to_pylist())
    random = random_by(random_scores, "metric")
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for table, facts in read_all("scores", scores, (predictions, ids_of_cell)):
        ids = {name: facts["wildcards"][name] for name in ("method", "metric")}
        of_metric = random.get((str(ids["metric"]),))
        quantities = {"score": table.column("score").to_numpy()}
        if of_metric is not None and are_scored_alike(of_metric.metadata, facts):
            quantities["excess"] = of_metric.excess(table)
        groups, sets = (table.column(name).to_pylist() for name in ("group", "match_id"))
        for quantity, values in quantities.items():
            key = ("worst_group", ids["method"], ids["metric"], quantity)
            spread = spread_of(
                values,
                groups,
                facts["groups"],
                sets,
                permutations=permutations,
                seed=derive_seed(int(facts["wildcards"]["seed"]), *key),
            )
            flags = [*facts.get("flags", []), *collapsed]
            rows += [
                {**ids, "quantity": quantity, **row, "flags": [*row["flags"], *flags]}
                for row in spread
            ]
    # p-values are corrected over the methods and metrics by Benjamini and Hochberg.
    for of in grouped(rows, itemgetter("quantity")).values():
        cells = {(row["method"], row["metric"]): row["p"] for row in informative(of)}
        corrected = dict(zip(cells, benjamini_hochberg(list(cells.values())).tolist(), strict=True))
        for row in of:
            row["p_bh"] = corrected.get((row["method"], row["metric"]), np.nan)
    return StageResult(rows, ids_of_cell, compared_in(facts))


class Combined(NamedTuple):
    """A random-effects model of means; arrays have (..., g) groups, the others (...)."""

    q: FloatArray
    tau2: FloatArray
    center: FloatArray
    shrinkage: FloatArray
    shrunk: FloatArray


def combined(means: FloatArray, variances: FloatArray) -> Combined:
    """Combine means of groups by DerSimonian and Laird (1986), and shrink them."""
    weights = 1 / variances
    total = weights.sum(axis=-1, keepdims=True)
    fixed = (weights * means).sum(axis=-1, keepdims=True) / total
    q = (weights * (means - fixed) ** 2).sum(axis=-1)
    scale = total[..., 0] - (weights**2).sum(axis=-1) / total[..., 0]
    tau2 = np.maximum(0, (q - (means.shape[-1] - 1)) / scale)
    weights = 1 / (variances + tau2[..., None])
    center = (weights * means).sum(axis=-1) / weights.sum(axis=-1)
    shrinkage = variances / (variances + tau2[..., None])
    shrunk = center[..., None] + (1 - shrinkage) * (means - center[..., None])
    return Combined(q, tau2, center, shrinkage, shrunk)


def spread_of(
    scores: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[Any] | None = None,
    *,
    permutations: int = 1999,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Describe how far the means of groups lie apart.

    Returns:
        One row per group that has a value: its mean, shrunk mean and standard error, and what is
        the same for all groups; see the columns of the ``worst_group`` artefact. None where there
        are fewer than two groups, or where nothing differs within any group.
    """
    values, codes, names = samples(scores, groups, order, pairs)
    kept = ~np.isnan(values)
    sets = set_index(names, kept)
    values, codes = values[kept], codes[kept]
    present, codes = np.unique(codes, return_inverse=True)
    g = len(present)
    if g < 2 or len(values) <= g or not np.ptp(values):
        return []
    offset = values.mean()
    n, means, variances = _moments(values - offset, codes[None], sets, g)
    if not variances.all():
        return []
    pooled = combined(means, variances)
    q, ranges = [], []
    rng = np.random.default_rng(seed)
    for permuted in _permuted(codes, sets, permutations, rng):
        _, means_by_chance, variances_by_chance = _moments(values - offset, permuted, sets, g)
        with np.errstate(all="ignore"):  # equal values within each group: more extreme than any
            q.append(np.nan_to_num(combined(means_by_chance, variances_by_chance).q, nan=np.inf))
        ranges.append(np.ptp(means_by_chance, axis=-1))
    by_chance = np.concatenate(q)
    named = [order[code] for code in present]
    shrunk, tau2 = pooled.shrunk[0], float(pooled.tau2[0])
    of_all = {
        "n_groups": g,
        "center": float(pooled.center[0] + offset),
        "tau": tau2**0.5,
        "q": float(pooled.q[0]),
        "p": float((1 + (by_chance >= pooled.q[0] * (1 - 1e-9)).sum()) / (1 + permutations)),
        "range": float(np.ptp(means[0])),
        "range_by_chance": float(np.concatenate(ranges).mean()),
        "shrunk_range": float(np.ptp(shrunk)),
        "lowest": named[shrunk.argmin()] if tau2 else "",
        "highest": named[shrunk.argmax()] if tau2 else "",
        "flags": [] if kept.all() else ["undefined_values"],
    }
    columns = {
        "group": named,
        "n": n[0].tolist(),
        "mean": (means[0] + offset).tolist(),
        "standard_error": (variances[0] ** 0.5).tolist(),
        "shrinkage": pooled.shrinkage[0].tolist(),
        "shrunk_mean": (shrunk + offset).tolist(),
    }
    rows = zip(*columns.values(), strict=True)
    return [{**dict(zip(columns, row, strict=True)), **of_all} for row in rows]


def _moments(
    values: FloatArray, codes: IntArray, sets: IntArray | None, groups: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return (r, groups) sizes, means and squared standard errors for (r, n) groups of (n,) values.

    A group of few values, or of equal ones, has the variance within all groups. It is 0 where no
    group has two values that differ.
    """
    r = len(codes)
    if sets is None:
        units = np.broadcast_to(values, codes.shape)
        cells = (np.arange(r)[:, None] * groups + codes).ravel()
    else:
        of_sets = set_means(values, codes, sets, groups)  # (r, m, groups)
        there = ~np.isnan(of_sets)
        units, (row, _, code) = of_sets[there], np.nonzero(there)
        cells = row * groups + code
    units = units.ravel()
    shape = r, groups
    n = np.bincount(cells, minlength=r * groups).reshape(shape)
    means = np.bincount(cells, units, minlength=r * groups).reshape(shape) / n
    deviations = (units - means.ravel()[cells]) ** 2
    squares = np.bincount(cells, deviations, minlength=r * groups).reshape(shape)
    own = squares / np.maximum(n - 1, 1)
    spare = np.maximum((n - 1).sum(axis=-1, keepdims=True), 1)
    within = squares.sum(axis=-1, keepdims=True) / spare
    few = (n < _PLENTY) | (squares <= 1e-12 * squares.sum(axis=-1, keepdims=True))
    return n, means, np.where(few, within, own) / n


def _permuted(
    codes: IntArray, sets: IntArray | None, permutations: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield (r, n) permuted groups, ``permutations`` of them in all."""
    for start in range(0, permutations, step := max(1, _AT_ONCE // len(codes))):
        drawn = np.tile(codes, (min(step, permutations - start), 1))
        if sets is None:
            yield rng.permuted(drawn, axis=1)
            continue
        members = np.argsort(sets, kind="stable")
        _, first, size = np.unique(sets[members], return_index=True, return_counts=True)
        for k in np.unique(size):
            places = members[first[size == k, None] + np.arange(k)]  # (m, k)
            order = rng.permuted(np.tile(np.arange(len(places)), (len(drawn), 1)), axis=1)
            of_sets = codes[places][order]  # (r, m, k)
            drawn[:, places] = rng.permuted(of_sets, axis=2)
        yield drawn
