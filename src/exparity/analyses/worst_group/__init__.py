"""Analysis worst_group: which of many groups has the worst explanations, beyond chance?

Of many groups one always has the lowest mean, and small ones are the lowest most often. Means that
are shrunk towards the mean of all say how much of their range is left when chance is taken out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from exparity.analyses import StageResult, Table, analysis
from exparity.analyses.worst_group.section import findings
from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Provenance
from exparity.core.flags import Range
from exparity.core.grouping import grouped
from exparity.core.seeding import derive_seed
from exparity.quantities.inputs import cell_of, read_all, scored_of
from exparity.quantities.random_scores import are_scored_alike, random_by
from exparity.stats.informative import is_informative
from exparity.stats.model_bias import is_collapsed
from exparity.stats.multiplicity import benjamini_hochberg
from exparity.stats.samples import samples, set_index, set_means
from exparity.types import FloatArray, IntArray

_PLENTY = 10
"""Values from which a group has a variance of its own."""
_AT_ONCE = 2_000_000
"""Values that are permuted in one array."""


@dataclass(frozen=True)
class GroupSpread:
    """The mean of one group, and how far the means of all lie apart.

    Attributes:
        group: the group.
        n: its values.
        mean, standard_error: their mean, and its error.
        shrinkage: how far the mean moves towards that of all groups, in [0, 1].
        shrunk_mean: the mean after that.
        n_groups: groups with a value; this and what follows is the same for all groups.
        center: mean of all groups.
        tau: standard deviation between groups, without chance.
        q, p: Cochran's Q and its p-value by permutation.
        range, range_by_chance, shrunk_range: distance of the largest mean from the smallest, as it
            is, as it is with groups permuted, and of the shrunk means.
        lowest, highest: groups of the smallest and the largest shrunk mean; empty where nothing
            lies apart.
        flags: ``undefined_values`` where a value is NaN.
    """

    group: str
    n: int
    mean: float
    standard_error: float
    shrinkage: float
    shrunk_mean: float
    n_groups: int
    center: float
    tau: float
    q: float
    p: float
    range: float
    range_by_chance: float
    shrunk_range: float
    lowest: str
    highest: str
    flags: list[str]


@analysis(
    "worst_group",
    level="seed",
    reads=("predictions", "scores", "random_scores"),
    writes={
        "worst_group": Table(
            "quantity: string",
            GroupSpread,
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
    training = cell_of(metadata)
    collapsed = ["collapsed"] * is_collapsed(predicted.column("predicted").to_pylist())
    random = random_by(random_scores, "metric")
    rows: list[dict[str, object]] = []
    facts = Provenance()
    for table, facts in read_all("scores", scores, (predictions, training)):
        ids = scored_of(facts)
        random_explanations = random.get((ids.metric,))
        quantities = {"score": table.column("score").to_numpy()}
        if random_explanations is not None and are_scored_alike(
            random_explanations.metadata, facts
        ):
            quantities["excess"] = random_explanations.excess(table)
        for quantity, values in quantities.items():
            spread = spread_of(
                values,
                table.column("group").to_pylist(),
                facts.groups,
                table.column("match_id").to_pylist(),
                permutations=permutations,
                seed=derive_seed(training.seed, "worst_group", ids.method, ids.metric, quantity),
            )
            flags = [*facts.flags, *collapsed]
            rows += [
                {**ids, "quantity": quantity, **asdict(group), "flags": [*group.flags, *flags]}
                for group in spread
            ]
    _correct(rows)
    return StageResult(rows, training, facts.compared)


def _correct(rows: Sequence[dict[str, Any]]) -> None:
    """Add p-values that are corrected over the methods and metrics, by Benjamini and Hochberg."""
    cell_of_row = itemgetter("method", "metric")
    for compared in grouped(rows, itemgetter("quantity")).values():
        cells = {cell_of_row(row): row["p"] for row in compared if is_informative(row["flags"])}
        corrected = dict(zip(cells, benjamini_hochberg(list(cells.values())).tolist(), strict=True))
        for row in compared:
            row["p_bh"] = corrected.get(cell_of_row(row), np.nan)


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
) -> list[GroupSpread]:
    """Describe how far the means of groups lie apart.

    Returns:
        The spread of each group that has a value. None where there are fewer than two groups, or
        where nothing differs within any group.
    """
    values, codes, names = samples(scores, groups, order, pairs)
    kept = ~np.isnan(values)
    sets = set_index(names, kept)
    values = values[kept]
    present, codes = np.unique(codes[kept], return_inverse=True)
    g = len(present)
    if g < 2 or len(values) <= g or not np.ptp(values):
        return []
    offset = values.mean()
    n, means, variances = _moments(values - offset, codes[None], sets, g)
    if not variances.all():
        return []
    pooled = combined(means, variances)
    rng = np.random.default_rng(seed)
    chance = _by_chance(values - offset, codes, sets, g, permutations, rng)
    present_groups = [order[code] for code in present]
    shrunk = pooled.shrunk[0]
    tau2 = float(pooled.tau2[0])
    return [
        GroupSpread(
            group=group,
            n=int(n[0, i]),
            mean=float(means[0, i] + offset),
            standard_error=float(np.sqrt(variances[0, i])),
            shrinkage=float(pooled.shrinkage[0, i]),
            shrunk_mean=float(shrunk[i] + offset),
            n_groups=g,
            center=float(pooled.center[0] + offset),
            tau=tau2**0.5,
            q=float(pooled.q[0]),
            p=float((1 + (chance.q >= pooled.q[0] * (1 - 1e-9)).sum()) / (1 + permutations)),
            range=float(np.ptp(means[0])),
            range_by_chance=float(chance.ranges.mean()),
            shrunk_range=float(np.ptp(shrunk)),
            lowest=present_groups[shrunk.argmin()] if tau2 else "",
            highest=present_groups[shrunk.argmax()] if tau2 else "",
            flags=[] if kept.all() else ["undefined_values"],
        )
        for i, group in enumerate(present_groups)
    ]


class _Chance(NamedTuple):
    """(r,) Q and range of the means of groups, where groups are permuted."""

    q: FloatArray
    ranges: FloatArray


def _by_chance(
    values: FloatArray,
    codes: IntArray,
    sets: IntArray | None,
    groups: int,
    permutations: int,
    rng: np.random.Generator,
) -> _Chance:
    q = []
    ranges = []
    for permuted in _permuted(codes, sets, permutations, rng):
        _, means, variances = _moments(values, permuted, sets, groups)
        with np.errstate(all="ignore"):  # equal values within each group: more extreme than any
            q.append(np.nan_to_num(combined(means, variances).q, nan=np.inf))
        ranges.append(np.ptp(means, axis=-1))
    return _Chance(np.concatenate(q), np.concatenate(ranges))


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
        means_of_sets = set_means(values, codes, sets, groups)  # (r, m, groups)
        is_present = ~np.isnan(means_of_sets)
        units = means_of_sets[is_present]
        row, _, code = np.nonzero(is_present)
        cells = row * groups + code
    units = units.ravel()
    shape = r, groups
    n = np.bincount(cells, minlength=r * groups).reshape(shape)
    means = np.bincount(cells, units, minlength=r * groups).reshape(shape) / n
    deviations = (units - means.ravel()[cells]) ** 2
    squares = np.bincount(cells, deviations, minlength=r * groups).reshape(shape)
    within_group = squares / np.maximum(n - 1, 1)
    spare = np.maximum((n - 1).sum(axis=-1, keepdims=True), 1)
    within = squares.sum(axis=-1, keepdims=True) / spare
    few = (n < _PLENTY) | (squares <= 1e-12 * squares.sum(axis=-1, keepdims=True))
    return n, means, np.where(few, within, within_group) / n


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
            permuted = codes[places][order]  # (r, m, k)
            drawn[:, places] = rng.permuted(permuted, axis=2)
        yield drawn
