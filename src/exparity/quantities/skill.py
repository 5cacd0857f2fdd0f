"""Quantities of the scores of a cell: the scores, their excess over chance, and skill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from exparity.artefacts.ids import Provenance
from exparity.explanations.units import Unit
from exparity.quantities.limits import RemovalLimits, Training
from exparity.quantities.quantity import Quantity, Skill
from exparity.quantities.random_scores import RandomScores, are_scored_alike
from exparity.stats.skill import LEAST_ROOM, NO_STEP, SCALES, Limits, Scale, step_among
from exparity.types import Falls, FloatArray

STEPLESS = "stepless"
"""Flag of a cell in which some explanation takes no step."""


def quantities_of(
    table: pa.Table,
    metadata: Provenance,
    random: RandomScores | None,
    limits: RemovalLimits,
    *,
    is_drawn: bool = False,
) -> dict[str, Quantity]:
    """Return the quantities of scores that are compared, by name; the scores come first.

    Excess and skill need random explanations that were scored alike; a score whose chance is 0 by
    construction has neither. The names of quantities of a random explanation (``is_drawn``) begin
    with ``random_``.
    """
    prefix = "random_" if is_drawn else ""
    quantities = {f"{prefix}score": Quantity({None: table.column("score").to_numpy()})}
    facts = metadata.skill
    if random is None or facts.get("by") == "zero":
        return quantities
    # Of fewer texts, there is less to learn from, and other success by chance.
    if facts.get("together") and not random.has_texts_of(table):
        return quantities
    if are_scored_alike(random.metadata, metadata):
        quantities[f"{prefix}excess"] = Quantity({None: random.excess(table)})
        skill = skill_of(table, metadata, random, limits, is_drawn=is_drawn)
        if skill is not None:
            quantities[f"{prefix}skill"] = skill
    return quantities


def skill_of(
    table: pa.Table,
    metadata: Provenance,
    random: RandomScores,
    limits: RemovalLimits,
    *,
    is_drawn: bool = False,
) -> Skill | None:
    """Return the skill of the explanations of a cell; None of metrics without, or no limits.

    ``random`` are the scores of other random explanations; of the first one (``is_drawn``) limits
    are those that the others leave.
    """
    facts = metadata.skill
    kind = facts.get("by", "none")
    higher_is_better = facts.get("better") == "higher"
    ids = metadata.ids
    training = Training(ids.model, ids.seed)
    if kind == "removal" and training in limits:
        unit: Unit = metadata.params.get("unit", "token")
        by_text = [
            limits.of(training, unit, example, higher_is_better=higher_is_better)
            for example in table.column("example_id").to_pylist()
        ]
        groups = table.column("group").to_pylist()
        if is_drawn:
            return _of_drawn(by_text, groups)
        return _of_removal([*_falls(table)], by_text, groups)
    if kind == "draws":
        return _of_draws(table, random.table, higher_is_better=higher_is_better)
    if kind in ("ratio", "ratios"):
        return _of_ratio(table, metadata, random, higher_is_better=higher_is_better)
    return None


def first_order(limits: Limits) -> tuple[Falls, Limits] | None:
    """Return the first random order of a text, and the limits that the others leave.

    None where there is no other.
    """
    if len(limits.random.probability) < 2:
        return None
    others = Limits(
        _draws(limits.random, slice(1, None)),
        limits.reference,
        higher_is_better=limits.higher_is_better,
        counting=limits.counting,
    )
    return _draws(limits.random, 0), others


def _of_drawn(limits: Sequence[Limits], groups: Sequence[str]) -> Skill | None:
    """Return the skill of the first random order of each text, within those that others leave."""
    drawn = [order for order in map(first_order, limits) if order is not None]
    if len(drawn) < len(limits):
        return None
    return _of_removal([first for first, _ in drawn], [others for _, others in drawn], groups)


def _of_removal(
    explained: Sequence[Falls | None], limits: Sequence[Limits], groups: Sequence[str]
) -> Skill:
    """Return gain and room at the explanations' own steps, on all scales."""
    no_steps = dict.fromkeys(SCALES, NO_STEP)
    steps_by_text = [
        no_steps if falls is None else text.steps(falls)
        for falls, text in zip(explained, limits, strict=True)
    ]
    steps = {scale: [by_scale[scale] for by_scale in steps_by_text] for scale in SCALES}
    stepless = any(falls is not None and not (falls.sizes > 0).any() for falls in explained)
    counting = np.array([text.counting for text in limits])
    return Skill.of(steps, groups, flags=[STEPLESS] if stepless else [], counting=counting)


def _of_draws(table: pa.Table, random: pa.Table, *, higher_is_better: bool) -> Skill:
    """Return gain and room in the ranks of the draws of all random explanations."""
    pools: dict[str, list[FloatArray]] = defaultdict(list)
    for example, falls in zip(random.column("example_id").to_pylist(), _falls(random), strict=True):
        if falls is not None:
            pools[example].append(falls.log_odds)
    examples = table.column("example_id").to_pylist()
    steps = [
        NO_STEP
        if falls is None or example not in pools
        else step_among(
            np.concatenate(pools[example]), falls.log_odds, higher_is_better=higher_is_better
        )
        for example, falls in zip(examples, _falls(table), strict=True)
    ]
    return Skill.of({"ranks": steps}, table.column("group").to_pylist(), claims_means=False)


def _of_ratio(
    table: pa.Table, metadata: Provenance, random: RandomScores, *, higher_is_better: bool
) -> Skill:
    """Return gain and room of the scores themselves, up to that of the reference or the ideal."""
    low, high = metadata.bounds or (0.0, 1.0)
    examples = table.column("example_id").to_pylist()
    scores = table.column("score").to_numpy()
    chance = np.array([random.means.get(example, np.nan) for example in examples])
    ideal = np.full(len(examples), high if higher_is_better else low, dtype=np.float64)
    best = ideal
    if "reference" in random.table.column_names:
        keys = random.table.column("example_id").to_pylist()
        references = dict(zip(keys, random.table.column("reference").to_pylist(), strict=True))
        best = np.array([references.get(example) for example in examples], dtype=np.float64)
    sign = 1.0 if higher_is_better else -1.0
    least = LEAST_ROOM if np.isfinite([low, high]).all() else 0.0  # of a share
    ends: dict[Scale, FloatArray] = {"score": best}
    if metadata.skill["by"] == "ratios":
        ends["ideal"] = ideal
    steps = {
        scale: sign * (np.column_stack([scores, end]) - chance[:, None])
        for scale, end in ends.items()
    }
    return Skill.of(steps, table.column("group").to_pylist(), least)


def _falls(table: pa.Table) -> Iterator[Falls | None]:
    """Yield the falls of each row; None of one without."""
    names = ("sizes", "falls", "falls_log_odds")
    if not set(names) <= set(table.column_names):
        yield from [None] * table.num_rows
        return
    columns = [table.column(name).to_pylist() for name in names]
    for sizes, falls, log_odds in zip(*columns, strict=True):
        if sizes is None:
            yield None
        else:
            yield Falls(np.array(sizes, dtype=np.int64), np.array(falls), np.array(log_odds))


def _draws(falls: Falls, which: int | slice) -> Falls:
    return Falls(falls.sizes, falls.probability[which], falls.log_odds[which])
