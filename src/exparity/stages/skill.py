"""The excess of explanations over random ones, and gain and room of their skill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exparity.artefacts.files import facts_of, read_artefact
from exparity.artefacts.seal import read_metadata
from exparity.explanations.units import Unit
from exparity.stages.cell import Lookup
from exparity.stats.skill import (
    LEAST_ROOM,
    LITTLE_ROOM,
    NO_STEP,
    SCALES,
    Limits,
    Rooms,
    Scale,
    ScaleTests,
    Step,
    Test,
    linearised,
    of_constant,
    on_all_scales,
    step_among,
    tell_nothing,
)
from exparity.types import BoolArray, Falls, FloatArray

STEPLESS = "stepless"
"""Flag of a cell in which some explanation takes no step."""
Training = tuple[str, int]
"""Model and seed of a classifier."""


def are_scored_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two artefacts of scores were made by the same metric with the same options."""
    own, theirs = one["parameters"], other["parameters"]
    return all(own.get(name) == theirs.get(name) for name in ("use", "params", "precision"))


@dataclass(frozen=True)
class RandomScores:
    """A random_scores artefact.

    Attributes:
        path: the file.
        metadata: how it was made; its ``wildcards`` are dataset, model, seed and metric.
        table: its rows.
        means: mean score of each example's random explanations; a file serves every method.
    """

    path: Path
    metadata: Mapping[str, Any]
    table: pa.Table
    means: Mapping[str, float]

    @classmethod
    def read(cls, path: Path) -> RandomScores:
        """Read a random_scores artefact."""
        table, metadata = read_artefact(path, "random_scores")
        return cls(path, metadata, table, _means(path, table))

    def draws(self) -> Iterator[tuple[int, pa.Table, RandomScores | None]]:
        """Yield the number and the rows of each random explanation; with the first, all others.

        The others serve as its control. Later ones have none, since it would show the same.
        """
        drawn = self.table.column("draw").to_numpy()
        first, *rest = np.unique(drawn).tolist()
        others = self.table.filter(drawn != first)
        control = replace(self, table=others, means=_means(self.path, others)) if rest else None
        yield first, self.table.filter(drawn == first), control
        for draw in rest:
            yield draw, self.table.filter(drawn == draw), None

    def has_texts_of(self, table: pa.Table) -> bool:
        """Return whether the texts are those of other scores."""
        return set(table.column("example_id").to_pylist()) == self.means.keys()

    def excess(self, table: pa.Table) -> FloatArray:
        """Return (n,) each score minus the mean of its text's random ones; NaN where one is."""
        keys = table.column("example_id").to_pylist()
        over: FloatArray = table.column("score").to_numpy() - np.array(
            [self.means[key] for key in keys], dtype=np.float64
        )
        return over


def random_by(paths: Sequence[Path] | None, *names: str) -> dict[tuple[str, ...], RandomScores]:
    """Read the scores of random explanations, by some of their ids as text."""
    read = map(RandomScores.read, paths or ())
    return {tuple(str(one.metadata["wildcards"][name]) for name in names): one for one in read}


def _means(path: Path, table: pa.Table) -> Lookup[float]:
    """Return the mean score of each example's random explanations; NaN where one of them is."""
    keys = np.asarray(table.column("example_id").to_pylist(), dtype=str)
    examples, owners = np.unique(keys, return_inverse=True)
    means = np.bincount(owners, weights=table.column("score").to_numpy()) / np.bincount(owners)
    content = zip(examples.tolist(), means.tolist(), strict=True)
    return Lookup(path, "random explanation of example", content)


@dataclass(frozen=True, eq=False)
class Quantity:
    """Values of a cell's texts that are compared between groups: its scores, or their excess.

    Attributes:
        values: (n,) by scale, of which the first is shown; None is the scale of what has no other.
    """

    values: Mapping[Scale | None, FloatArray]

    @property
    def shown(self) -> FloatArray:
        """(n,) values on the scale that is shown."""
        return next(iter(self.values.values()))

    def among(self, chosen: BoolArray) -> Quantity:
        """Return the quantity of some of its (n,) texts; NaN elsewhere."""
        return Quantity(
            {scale: np.where(chosen, own, np.nan) for scale, own in self.values.items()}
        )


@dataclass(frozen=True, eq=False)
class Skill(Quantity):
    """The skill of the explanations of a cell: the mean of the values in a group.

    Attributes:
        steps: (n, 2) gain over chance, NaN where undefined, and room that a reference leaves above
            chance, by scale.
        groups: (n,) group of each text.
        is_share: whether the room is a share, on the scale that is shown.
        flags: of the cell.
        claims_means: whether a mean gap is ascribed to the explanations: not with a single scale,
            which other ways to count falls might contradict.
    """

    steps: Mapping[Scale, FloatArray]
    groups: Sequence[str]
    is_share: bool = True
    flags: Sequence[str] = ()
    claims_means: bool = True

    @classmethod
    def of(
        cls,
        steps: Mapping[Scale, Sequence[Step] | FloatArray],
        groups: Sequence[str],
        least_room: float = LEAST_ROOM,
        **facts: Any,
    ) -> Skill:
        """Return a skill by the steps of its texts.

        ``least_room`` is the mean room of a group that has a skill, on the scale that is shown.
        """
        arrays = {
            scale: np.array(each, dtype=np.float64).reshape(-1, 2) for scale, each in steps.items()
        }
        shown, *_ = arrays
        values: dict[Scale | None, FloatArray] = {
            scale: linearised(
                of[:, 0], of[:, 1], groups, least_room=least_room if scale == shown else 0.0
            )
            for scale, of in arrays.items()
        }
        return cls(values, arrays, groups, least_room > 0, **facts)

    def among(self, chosen: BoolArray) -> Skill:
        """Return the skill of some of its (n,) texts."""
        steps = {scale: np.where(chosen[:, None], own, np.nan) for scale, own in self.steps.items()}
        least = LEAST_ROOM if self.is_share else 0.0
        return Skill.of(steps, self.groups, least, flags=self.flags, claims_means=self.claims_means)

    @property
    def shown_room(self) -> FloatArray:
        """(n,) room on the scale that is shown."""
        return next(iter(self.steps.values()))[:, 1]


Direction = Literal["removed", "kept"]
"""A step removes its units, or keeps them alone."""


def direction_of(higher_is_better: bool) -> Direction:
    """Return whether metrics remove or keep the units of a step, by which score is better."""
    return "removed" if higher_is_better else "kept"


def limits_by_example(
    path: Path, direction: Direction, unit: Unit = "token"
) -> Callable[[str], tuple[Falls, Falls]]:
    """Return a function of an example's id that reads its falls from an artefact.

    It returns the (r, k) falls of the random orders, and the (k,) falls of the reference, at k
    rising sizes.
    """
    chosen = (pc.field("direction") == direction) & (pc.field("unit") == unit)
    table = read_artefact(path, "removal_limits")[0].filter(chosen)
    ids, starts = np.unique(table.column("example_id").to_pylist(), return_index=True)
    ends = [*starts[1:], None]  # rows are sorted
    places = zip(ids.tolist(), map(slice, starts, ends), strict=True)
    rows_of = Lookup(path, f"limits for {unit}s {direction} of example", places)
    sizes = table.column("size").to_numpy().astype(np.int64)
    columns = {
        name: np.array(table.column(name).to_pylist(), dtype=np.float64)
        for name in ("random", "random_log_odds", "reference", "reference_log_odds")
    }

    def falls_of(example_id: str) -> tuple[Falls, Falls]:
        rows = rows_of[example_id]
        random, random_odds, *reference = (column[rows].T for column in columns.values())
        return Falls(sizes[rows], random, random_odds), Falls(sizes[rows], *reference)

    return falls_of


class Controls:
    """The limits of removal of trained classifiers, an artefact each."""

    def __init__(self, paths: Sequence[Path]) -> None:
        wildcards = [facts_of(read_metadata(path).metadata)["wildcards"] for path in paths]
        trainings = [(str(ids["model"]), int(ids["seed"])) for ids in wildcards]
        self._files = dict(zip(trainings, paths, strict=True))
        self._read = cache(limits_by_example)
        self.limits = cache(self._limits)  # every method and variant of a metric asks for them

    def __contains__(self, training: Training) -> bool:
        return training in self._files

    def _limits(self, training: Training, higher: bool, unit: Unit, example: str) -> Limits:
        falls = self._read(self._files[training], direction_of(higher), unit)(example)
        random, reference = (
            Falls(sizes[sizes > 0], *(each[..., sizes > 0] for each in of_sizes))
            for sizes, *of_sizes in falls
        )
        return Limits(random, reference, higher_is_better=higher)


def quantities_of(
    table: pa.Table,
    metadata: Mapping[str, Any],
    random: RandomScores | None,
    controls: Controls,
    *,
    is_drawn: bool = False,
) -> dict[str, Quantity]:
    """Return the quantities of scores that are compared, by name; the scores come first.

    Excess and skill need random explanations that were scored alike; a score whose chance is 0 by
    construction has neither. The names of quantities of a
    random explanation (``is_drawn``) begin with ``random_``.
    """
    prefix = "random_" if is_drawn else ""
    quantities = {f"{prefix}score": Quantity({None: table.column("score").to_numpy()})}
    facts = metadata.get("skill") or {}
    is_relative = facts.get("by") != "zero"
    # Of fewer texts, there is less to learn from, and other success by chance.
    is_of_others = random is not None and facts.get("together") and not random.has_texts_of(table)
    if is_of_others or not is_relative or random is None:
        return quantities
    if are_scored_alike(random.metadata, metadata):
        quantities[f"{prefix}excess"] = Quantity({None: random.excess(table)})
        skill = skill_of(table, metadata, random, controls, is_drawn=is_drawn)
        if skill is not None:
            quantities[f"{prefix}skill"] = skill
    return quantities


def scales_of(quantities: Sequence[Quantity]) -> list[Scale | None]:
    """Return the scales on which a quantity is tested, given what it is in each training."""
    return [*dict.fromkeys(scale for one in quantities for scale in one.values)] or [None]


def over_scales(
    quantities: Sequence[Quantity],
    tests: Mapping[Scale | None, Sequence[Test]],
    estimate: str = "d",
) -> list[tuple[Test, ScaleTests]]:
    """Return the test on all scales, for each pair of groups.

    ``tests`` are those of the pairs on each of :func:`scales_of` a quantity; ``estimate`` names
    what is tested.
    """
    if None in tests:
        return [(test, ScaleTests()) for test in tests[None]]
    skills = [one for one in quantities if isinstance(one, Skill)]
    claims_means = all(one.claims_means for one in skills)
    results = []
    for each in zip(*tests.values(), strict=True):
        rooms = {
            scale: (
                _mean_room(skills, scale, test.group_a),
                _mean_room(skills, scale, test.group_b),
            )
            for scale, test in zip(tests, each, strict=True)
            if scale
        }
        whole, scales = on_all_scales(
            {scale: of_constant(test) for scale, test in zip(tests, each, strict=True) if scale},
            estimate=estimate,
            claims_means=claims_means,
        )
        whole.flags.extend(f"{scale}_cannot_tell" for scale in tell_nothing(rooms))
        results.append((whole, scales))
    return results


def _mean_room(skills: Sequence[Skill], scale: Scale, group: str) -> float:
    """Return the mean room of a group on a scale, over texts and trainings; NaN of no text."""
    rooms = [
        skill.steps[scale][np.array(skill.groups) == group, 1]
        for skill in skills
        if scale in skill.steps
    ]
    of_all = np.concatenate(rooms) if rooms else np.zeros(0)
    known = of_all[np.isfinite(of_all)]
    return float(known.mean()) if known.size else np.nan


def skill_of(
    table: pa.Table,
    metadata: Mapping[str, Any],
    random: RandomScores,
    controls: Controls,
    *,
    is_drawn: bool = False,
) -> Skill | None:
    """Return the skill of the explanations of a cell; None of metrics without, or no control.

    ``random`` are the scores of other random explanations; of the first one (``is_drawn``) limits
    are those that the others leave.
    """
    facts, ids = metadata.get("skill") or {}, metadata["wildcards"]
    kind, higher = facts.get("by", "none"), facts.get("better") == "higher"
    training = str(ids["model"]), int(ids["seed"])
    if kind == "removal" and training in controls:
        unit: Unit = metadata["parameters"].get("params", {}).get("unit", "token")
        return _of_removal(table, controls, (training, higher, unit), is_drawn)
    if kind == "draws":
        return _of_draws(table, random.table, higher)
    if kind in ("ratio", "ratios"):
        return _of_ratio(table, metadata, random, higher)
    return None


def is_skill(quantity: str) -> bool:
    """Return whether what is compared is the skill of explanations, or of random ones."""
    return quantity.removeprefix("random_") == "skill"


def rooms_of(skills: Sequence[Skill], group_a: str, group_b: str) -> tuple[Rooms, list[str]]:
    """Return skill and room of two groups over trainings, and the flags of a cell by these."""
    by_group, flags = [], []
    for group in (group_a, group_b):
        chosen = [np.array(skill.groups) == group for skill in skills]
        values, rooms = (
            [part[own & np.isfinite(part)] for part, own in zip(parts, chosen, strict=True)]
            for parts in ([s.shown for s in skills], [s.shown_room for s in skills])
        )
        means = [[float(part.mean()) for part in parts if part.size] for parts in (values, rooms)]
        measured: list[Any] = [*means, np.concatenate(rooms) < LITTLE_ROOM]
        by_group.append([float(np.mean(of)) if len(of) else np.nan for of in measured])
        if len(measured[2]) and not means[0]:
            flags = ["no_room"]
    whole = Rooms(*(mean for pair in zip(*by_group, strict=True) for mean in pair))
    is_share = all(skill.is_share for skill in skills)
    if is_share and abs(whole.room_a - whole.room_b) > LITTLE_ROOM:
        flags.append("room_differs")
    return whole, [*flags, *(flag for skill in skills for flag in skill.flags)]


def _of_removal(
    table: pa.Table, controls: Controls, asked: tuple[Training, bool, Unit], is_drawn: bool
) -> Skill | None:
    """Return gain and room at the explanations' own steps, on all scales."""
    own: list[Falls | None] = [*_falls(table)]
    limits = [controls.limits(*asked, key) for key in table.column("example_id").to_pylist()]
    if is_drawn:
        if any(len(of.random.probability) < 2 for of in limits):
            return None
        own = [_draws(of.random, 0) for of in limits]
        limits = [
            Limits(_draws(of.random, slice(1, None)), of.reference, higher_is_better=asked[1])
            for of in limits
        ]
    pairs = list(zip(own, limits, strict=True))
    steps = {
        scale: [NO_STEP if falls is None else of.step(falls, scale) for falls, of in pairs]
        for scale in SCALES
    }
    stepless = any(falls is not None and not (falls.sizes > 0).any() for falls in own)
    flags = [STEPLESS] if stepless else []
    return Skill.of(steps, table.column("group").to_pylist(), flags=flags)


def _of_draws(table: pa.Table, random: pa.Table, higher: bool) -> Skill:
    """Return gain and room in the ranks of the draws of all random explanations."""
    pools: dict[str, list[FloatArray]] = defaultdict(list)
    for example, falls in zip(random.column("example_id").to_pylist(), _falls(random), strict=True):
        if falls is not None:
            pools[example].append(falls.log_odds)
    steps = [
        step_among(np.concatenate(pools[example]), falls.log_odds, higher_is_better=higher)
        if falls is not None and example in pools
        else NO_STEP
        for example, falls in zip(
            table.column("example_id").to_pylist(), _falls(table), strict=True
        )
    ]
    return Skill.of({"ranks": steps}, table.column("group").to_pylist(), claims_means=False)


def _of_ratio(
    table: pa.Table, metadata: Mapping[str, Any], random: RandomScores, higher: bool
) -> Skill:
    """Return gain and room of the scores themselves, up to that of the reference or the ideal."""
    low, high = metadata.get("bounds", (0.0, 1.0))
    examples, scores = table.column("example_id").to_pylist(), table.column("score").to_numpy()
    chance = np.array([random.means.get(example, np.nan) for example in examples])
    ideal = np.full(len(examples), high if higher else low, dtype=np.float64)
    best = ideal
    if "reference" in random.table.column_names:
        names = (random.table.column(name).to_pylist() for name in ("example_id", "reference"))
        of_example = dict(zip(*names, strict=True))
        best = np.array([of_example.get(example) for example in examples], dtype=np.float64)
    sign = 1.0 if higher else -1.0
    least = LEAST_ROOM if np.isfinite([low, high]).all() else 0.0  # of a share
    ends: dict[Scale, FloatArray] = {"score": best}
    if metadata["skill"]["by"] == "ratios":
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
    for sizes, *falls in zip(*(table.column(name).to_pylist() for name in names), strict=True):
        yield (
            None if sizes is None else Falls(np.array(sizes, dtype=np.int64), *map(np.array, falls))
        )


def _draws(falls: Falls, which: int | slice) -> Falls:
    return Falls(falls.sizes, falls.probability[which], falls.log_odds[which])
