"""The excess of explanations over random ones, and gain and room of their skill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.artefacts.files import facts_of, read_artefact
from exparity.artefacts.seal import read_metadata
from exparity.explanations.units import Unit
from exparity.stages.cell import Lookup
from exparity.stages.limits import direction_of, limits_by_example
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
    on_all_scales,
    step_among,
)
from exparity.types import Falls, FloatArray

STEPLESS = "stepless"
"""Flag of a cell in which some explanation takes no step."""
Training = tuple[str, int]
"""Model and seed of a classifier."""
SCORED_ALIKE = ("use", "params", "precision")
"""Parameters of the metric that scores must share with those of random explanations."""


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

    def are_scored_as(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a scores artefact was made by the same metric with the same options."""
        own, theirs = self.metadata["parameters"], metadata["parameters"]
        return all(theirs.get(name) == own.get(name) for name in SCORED_ALIKE)

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


@dataclass(frozen=True, eq=False)
class Skill(Quantity):
    """The skill of the explanations of a cell: the mean of the values in a group.

    Attributes:
        gain: (n,) over chance, by scale; NaN where undefined.
        room: (n,) that a reference leaves above chance, by scale.
        groups: (n,) group of each text.
        is_share: whether the room is a share, on the scale that is shown.
        flags: of the cell.
        claims_means: whether a mean gap is ascribed to the explanations: not with a single scale,
            which other ways to count falls might contradict.
    """

    gain: Mapping[Scale, FloatArray]
    room: Mapping[Scale, FloatArray]
    groups: Sequence[str]
    is_share: bool = True
    flags: Sequence[str] = ()
    claims_means: bool = True

    @classmethod
    def of(
        cls,
        gain: Mapping[Scale, FloatArray],
        room: Mapping[Scale, FloatArray],
        groups: Sequence[str],
        least_room: float = LEAST_ROOM,
        **facts: Any,
    ) -> Skill:
        """Return a skill by gain and room.

        ``least_room`` is the mean room of a group that has a skill, on the scale that is shown.
        """
        shown, *_ = gain
        values: dict[Scale | None, FloatArray] = {}
        for scale, own in gain.items():
            least = least_room if scale == shown else 0.0
            values[scale] = linearised(own, room[scale], groups, least_room=least)
        return cls(values, gain, room, groups, least_room > 0, **facts)

    @property
    def shown_room(self) -> FloatArray:
        """(n,) room on the scale that is shown."""
        return next(iter(self.room.values()))


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

    def falls(
        self, training: Training, higher: bool, unit: Unit, example: str
    ) -> tuple[Falls, Falls]:
        """Return the falls of the random orders of a text's units, and of the reference."""
        random, reference = self._read(self._files[training], direction_of(higher), unit)(example)
        some = random.sizes > 0
        return _at(random, some), _at(reference, some)

    def _limits(self, training: Training, higher: bool, unit: Unit, example: str) -> Limits:
        random, reference = self.falls(training, higher, unit, example)
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

    Excess and skill need random explanations that were scored alike. The names of quantities of a
    random explanation (``is_drawn``) begin with ``random_``.
    """
    prefix = "random_" if is_drawn else ""
    quantities = {f"{prefix}score": Quantity({None: table.column("score").to_numpy()})}
    if random is not None and random.are_scored_as(metadata):
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
    claims_means = all(one.claims_means for one in quantities if isinstance(one, Skill))
    return [
        on_all_scales(
            {scale: test for scale, test in zip(tests, each, strict=True) if scale},
            estimate=estimate,
            claims_means=claims_means,
        )
        for each in zip(*tests.values(), strict=True)
    ]


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
    if kind == "ratio":
        return _of_ratio(table, metadata, random, higher)
    return None


def is_skill(quantity: str) -> bool:
    """Return whether what is compared is the skill of explanations, or of random ones."""
    return quantity.removeprefix("random_") == "skill"


def rooms_of(skills: Sequence[Skill], group_a: str, group_b: str) -> tuple[Rooms, list[str]]:
    """Return skill and room of two groups over trainings, and the flags of a cell by these."""
    means: dict[str, list[float]] = {name: [] for name in ("skill", "room", "little_room")}
    without = False
    for group in (group_a, group_b):
        chosen = [np.array(skill.groups) == group for skill in skills]
        values, room = (
            [part[own & np.isfinite(part)] for part, own in zip(parts, chosen, strict=True)]
            for parts in ([s.shown for s in skills], [s.shown_room for s in skills])
        )
        every = np.concatenate(room)
        means["skill"].append(_mean([part.mean() for part in values if part.size]))
        means["room"].append(_mean([part.mean() for part in room if part.size]))
        means["little_room"].append(float((every < LITTLE_ROOM).mean()) if every.size else np.nan)
        without |= bool(every.size) and not any(part.size for part in values)
    is_share = all(skill.is_share for skill in skills)
    rooms = Rooms(*(mean for pair in means.values() for mean in pair))
    differs = is_share and abs(rooms.room_a - rooms.room_b) > LITTLE_ROOM
    flags = ["no_room"] if without else []
    if differs:
        flags.append("room_differs")
    return rooms, [*flags, *(flag for skill in skills for flag in skill.flags)]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _of_removal(
    table: pa.Table, controls: Controls, asked: tuple[Training, bool, Unit], is_drawn: bool
) -> Skill | None:
    """Return gain and room at the explanations' own steps, on all scales."""
    examples, higher = table.column("example_id").to_pylist(), asked[1]
    found: list[tuple[Falls | None, Limits]] = []
    if is_drawn:
        for example in examples:
            random, reference = controls.falls(*asked, example)
            if len(random.probability) < 2:
                return None
            own, others = (
                Falls(random.sizes, random.probability[which], random.log_odds[which])
                for which in (0, slice(1, None))
            )
            found.append((own, Limits(others, reference, higher_is_better=higher)))
    else:
        limits = [controls.limits(*asked, example) for example in examples]
        found = list(zip(_falls(table), limits, strict=True))
    steps = {
        scale: [NO_STEP if own is None else limits.step(own, scale) for own, limits in found]
        for scale in SCALES
    }
    stepless = any(own is not None and not (own.sizes > 0).any() for own, _ in found)
    flags = [STEPLESS] if stepless else []
    return Skill.of(*_columns(steps), table.column("group").to_pylist(), flags=flags)


def _of_draws(table: pa.Table, random: pa.Table, higher: bool) -> Skill:
    """Return gain and room in the ranks of the draws of all random explanations."""
    pools: dict[str, list[FloatArray]] = {}
    for example, falls in zip(random.column("example_id").to_pylist(), _falls(random), strict=True):
        if falls is not None:
            pools.setdefault(example, []).append(falls.log_odds)
    steps: list[Step] = []
    for example, falls in zip(table.column("example_id").to_pylist(), _falls(table), strict=True):
        if falls is None or example not in pools:
            steps.append(NO_STEP)
            continue
        pool = np.concatenate(pools[example])
        steps.append(step_among(pool, falls.log_odds, higher_is_better=higher))
    groups = table.column("group").to_pylist()
    return Skill.of(*_columns({"ranks": steps}), groups, claims_means=False)


def _of_ratio(
    table: pa.Table, metadata: Mapping[str, Any], random: RandomScores, higher: bool
) -> Skill:
    """Return gain and room of the scores themselves, up to that of the rationale or the ideal."""
    low, high = metadata.get("bounds", (0.0, 1.0))
    examples, scores = table.column("example_id").to_pylist(), table.column("score").to_numpy()
    chance = np.array([random.means.get(example, np.nan) for example in examples])
    best = np.full(len(examples), high if higher else low, dtype=np.float64)
    if "reference" in random.table.column_names:
        names = (random.table.column(name).to_pylist() for name in ("example_id", "reference"))
        of_example = dict(zip(*names, strict=True))
        best = np.array([of_example.get(example) for example in examples], dtype=np.float64)
    sign = 1.0 if higher else -1.0
    least = LEAST_ROOM if np.isfinite([low, high]).all() else 0.0  # of a share
    gain, room = sign * (scores - chance), sign * (best - chance)
    return Skill.of({"score": gain}, {"score": room}, table.column("group").to_pylist(), least)


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


def _at(falls: Falls, chosen: Any) -> Falls:
    return Falls(falls.sizes[chosen], falls.probability[..., chosen], falls.log_odds[..., chosen])


def _columns(
    steps: Mapping[Scale, Sequence[Step]],
) -> tuple[dict[Scale, FloatArray], dict[Scale, FloatArray]]:
    """Return the (n,) gains and rooms by scale."""
    arrays = {
        scale: np.array(each, dtype=np.float64).reshape(-1, 2) for scale, each in steps.items()
    }
    return ({s: a[:, 0] for s, a in arrays.items()}, {s: a[:, 1] for s, a in arrays.items()})
