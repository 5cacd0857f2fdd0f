"""Worsenings of explanations that remove units as the reference does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exparity.artefacts.columns import KEY, Examples, Row
from exparity.core.seeding import generator
from exparity.explanations.units import Unit
from exparity.quantities.inputs import model_of, require_same_cell
from exparity.quantities.limits import Direction, RemovalLimits, Training, direction_of
from exparity.quantities.skill import first_order
from exparity.stats.planted import planted_gaps
from exparity.stats.samples import GroupedTexts
from exparity.stats.skill import (
    LEAST_ROOM,
    SCALES,
    Limits,
    Scale,
    linearised,
)
from exparity.types import BoolArray, Falls, FloatArray, IntArray

FAILURES = 0.3
"""Share of good explanations that are random, others in each training."""


class _Removal(NamedTuple):
    """What metrics remove, or keep alone: the witness of a gap."""

    witness: Direction
    unit: Unit


_NO_DESIGN = {"left_out": np.nan, "num_masks": 0}


@dataclass(frozen=True)
class _Controls:
    """Steps of the controls of a training.

    Attributes:
        reference: (n, 2) gain and room of the reference, by scale; NaN where undefined.
        random: (n, 2) the same of a random order.
        fails: (n,) which of the good explanations are random ones, too.
    """

    reference: Mapping[Scale, FloatArray]
    random: Mapping[Scale, FloatArray]
    fails: BoolArray

    def skill(self, spoilt: BoolArray, scale: Scale, groups: IntArray) -> FloatArray:
        """Return (r, n) values of skill where some of the good explanations are random, by row.

        Args:
            spoilt: (r, n) which explanations are random.
            scale: on which their falls are counted.
            groups: (n,) number of the group of each text.
        """
        is_random = (spoilt | self.fails)[..., None]
        steps = np.where(is_random, self.random[scale], self.reference[scale])
        least_room = LEAST_ROOM if scale == SCALES[0] else 0.0
        return linearised(steps[..., 0], steps[..., 1], groups, least_room=least_room)


def removal_rows(removal_limits: Sequence[Path], left_out: Collection[int]) -> Iterator[Row]:
    """Yield the planted gaps in skill, for each way to remove units.

    The good explanations of a training are the references, but for a share of :data:`FAILURES`,
    and random ones are the first random orders. Both take a step for each number of units that
    there are limits of, between the limits that the other random orders leave. Without failures,
    values of the group that is not worsened would not vary, and a gap would be found that
    explanations of a real method hide.

    Args:
        removal_limits: removal_limits artefacts of one dataset and model, one per seed.
        left_out: seeds of classifiers that say nothing.
    """
    examples = Examples()
    limits = RemovalLimits(removal_limits)
    models = map(model_of, limits.provenances)
    require_same_cell(*zip(removal_limits, models, strict=True))
    steps: dict[_Removal, list[Mapping[str, _Steps]]] = {}
    for training in limits:
        if training.seed in left_out:
            continue
        table = limits.table(training)
        for removal in _removals(table):
            steps_by_text = _steps_of(table, limits, training, removal)
            if steps_by_text:
                examples.places(_texts_of(table, removal))
                steps.setdefault(removal, []).append(steps_by_text)
    texts = GroupedTexts.of(examples.groups, limits.provenances[0].groups, examples.sets)
    for removal, by_training in steps.items():
        controls = [
            _laid(steps_by_text, examples.ids, _failures(texts, removal, number))
            for number, steps_by_text in enumerate(by_training)
        ]
        for gap in planted_gaps(partial(_skills, controls, texts.codes), texts):
            yield {**removal._asdict(), **_NO_DESIGN, **asdict(gap)}


class _Steps(NamedTuple):
    """(scales, 2) gain and room of the two explanations of a text."""

    reference: FloatArray
    random: FloatArray


def _removals(table: pa.Table) -> list[_Removal]:
    names = ["direction", "unit"]
    pairs = table.select(names).group_by(names).aggregate([])
    return [_Removal(*row.values()) for row in pairs.to_pylist()]


def _texts_of(table: pa.Table, removal: _Removal) -> pa.Table:
    """Return a row for each text that has limits of a removal."""
    chosen = (pc.field("direction") == removal.witness) & (pc.field("unit") == removal.unit)
    names = [column.name for column in KEY]
    return table.filter(chosen).select(names).group_by(names).aggregate([])


def _steps_of(
    table: pa.Table, limits: RemovalLimits, training: Training, removal: _Removal
) -> dict[str, _Steps]:
    """Return the steps of each text by its id; none with a single random order."""
    higher_is_better = removal.witness == direction_of(higher_is_better=True)
    steps = {}
    for example in _texts_of(table, removal).column("example_id").to_pylist():
        drawn = first_order(
            limits.of(training, removal.unit, example, higher_is_better=higher_is_better)
        )
        if drawn is not None:
            steps[example] = _steps_between(*drawn)
    return steps


def _steps_between(first: Falls, others: Limits) -> _Steps:
    """Return the steps of the reference and of a random order between the limits of the others."""
    reference = [*others.steps(others.reference).values()]
    random = [*others.steps(first).values()]
    return _Steps(np.array(reference), np.array(random))


def _failures(texts: GroupedTexts, removal: _Removal, training: int) -> BoolArray:
    """Return (n,) which good explanations are random in a training: as many of each group."""
    rng = generator(0, "failures", *removal, training)
    fails = np.zeros(len(texts), dtype=bool)
    for group in texts.order:
        places = np.flatnonzero(texts.in_group(group))
        fails[rng.choice(places, round(FAILURES * len(places)), replace=False)] = True
    return fails


def _laid(steps: Mapping[str, _Steps], ids: Sequence[str], fails: BoolArray) -> _Controls:
    """Return the controls of a training for all texts by their ids, NaN where it has none."""
    none = np.full((len(SCALES), 2), np.nan)
    missing = _Steps(none, none)
    steps_at_places = [steps.get(example, missing) for example in ids]
    reference = np.array([text.reference for text in steps_at_places])
    random = np.array([text.random for text in steps_at_places])
    return _Controls(
        {scale: reference[:, place] for place, scale in enumerate(SCALES)},
        {scale: random[:, place] for place, scale in enumerate(SCALES)},
        fails,
    )


def _skills(controls: Sequence[_Controls], groups: IntArray, spoilt: BoolArray) -> FloatArray:
    """Return (c, r, s, n) skills on all scales where some of the explanations are random."""
    return np.array(
        [
            np.stack([training.skill(spoilt, scale, groups) for training in controls], axis=1)
            for scale in SCALES
        ]
    )
