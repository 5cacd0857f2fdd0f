"""The excess of explanations over random ones, and gain and room of their skill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exparity.artefacts.files import facts_of, read_artefact
from exparity.artefacts.seal import read_metadata
from exparity.explanations.units import Unit
from exparity.stages.cell import Lookup
from exparity.stats.crossed import NOT_COMPARABLE, CrossedTest, crossed_tests
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
    alike_texts,
    linearised,
    linearised_alike,
    of_constant,
    on_all_scales,
    step_among,
    tell_nothing,
)
from exparity.stats.strata import LEAST_SHARE
from exparity.types import BoolArray, Falls, FloatArray, IntArray

REFERENCE_BEATEN = "reference_beaten"
"""Flag of a cell in which the explanations of a group do better than the reference search."""
STEPLESS = "stepless"
"""Flag of a cell in which some explanation takes no step."""
_ROUNDING = 1e-9
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
        matter: (n,) how many units of each text matter; None where that is not known.
        is_predicted: (n,) whether the class that is explained is predicted, where that is known.
    """

    steps: Mapping[Scale, FloatArray]
    groups: Sequence[str]
    is_share: bool = True
    flags: Sequence[str] = ()
    claims_means: bool = True
    matter: FloatArray | None = None
    is_predicted: BoolArray | None = None

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
        return Skill.of(
            steps,
            self.groups,
            least,
            flags=self.flags,
            claims_means=self.claims_means,
            matter=None if self.matter is None else np.where(chosen, self.matter, np.nan),
            is_predicted=self.is_predicted,
        )

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


def alike_by_example(
    path: Path, direction: Direction, unit: Unit
) -> Mapping[str, tuple[float, bool]]:
    """Return how many units of a text matter, and whether its target is predicted, by example.

    It is empty where the artefact does not hold them.
    """
    names = ["example_id", "units_that_matter", "is_predicted"]
    table = read_artefact(path, "removal_limits")[0]
    if not set(names) <= set(table.column_names):
        return {}
    chosen = (pc.field("direction") == direction) & (pc.field("unit") == unit)
    columns = (table.filter(chosen).column(name).to_pylist() for name in names)
    return {id: (matter, is_predicted) for id, matter, is_predicted in zip(*columns, strict=True)}


class Controls:
    """The limits of removal of trained classifiers, an artefact each."""

    def __init__(self, paths: Sequence[Path]) -> None:
        wildcards = [facts_of(read_metadata(path).metadata)["wildcards"] for path in paths]
        trainings = [(str(ids["model"]), int(ids["seed"])) for ids in wildcards]
        self._files = dict(zip(trainings, paths, strict=True))
        self._read = cache(limits_by_example)
        self._read_alike = cache(alike_by_example)
        self.limits = cache(self._limits)  # every method and variant of a metric asks for them

    def __contains__(self, training: Training) -> bool:
        return training in self._files

    def alike(
        self, training: Training, higher: bool, unit: Unit
    ) -> Mapping[str, tuple[float, bool]]:
        """Return what says which texts are alike; see :func:`alike_by_example`."""
        return self._read_alike(self._files[training], direction_of(higher), unit)

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
    is_relative = (metadata.get("skill") or {}).get("by") != "zero"
    if is_relative and random is not None and are_scored_alike(random.metadata, metadata):
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
    alike: Sequence[Sequence[Test]] | None = None,
) -> list[tuple[Test, ScaleTests]]:
    """Return the test on all scales, for each pair of groups.

    ``tests`` are those of the pairs on each of :func:`scales_of` a quantity; ``estimate`` names
    what is tested. ``alike`` are the tests of each pair among texts that are alike.
    """
    if None in tests:
        return [(test, ScaleTests()) for test in tests[None]]
    skills = [one for one in quantities if isinstance(one, Skill)]
    claims_means = all(one.claims_means for one in skills)
    of_pairs = list(zip(*tests.values(), strict=True))
    further: Sequence[Sequence[Test]] = [()] * len(of_pairs) if alike is None else alike
    results = []
    for each, of_alike in zip(of_pairs, further, strict=True):
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
            alike=of_alike,
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


class AmongAlike(NamedTuple):
    """A skill of two groups among texts in which as many units matter.

    Attributes:
        values: (s, n) values of the texts of both groups by scale, none where nothing is known.
        are_comparable: whether the groups have enough texts that are alike.
    """

    values: Mapping[Scale, FloatArray]
    are_comparable: bool = True


def among_alike(
    skills: Sequence[Skill], places: Sequence[IntArray], of_pair: BoolArray, is_b: IntArray
) -> AmongAlike:
    """Return a skill among texts that are alike.

    Args:
        skills: of each training.
        places: of the texts of each.
        of_pair: (m,) whether the text at a place is of one of the groups.
        is_b: (n,) of these, 0 for those of the first group, 1 for those of the second.
    """
    if not skills or any(skill.matter is None for skill in skills):
        return AmongAlike({})
    shape = len(skills), len(of_pair)
    matter, is_predicted = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    for row, (skill, own) in enumerate(zip(skills, places, strict=True)):
        matter[row, own] = skill.matter
        is_predicted[row, own] = skill.is_predicted
    strata = alike_texts(matter[:, of_pair], is_predicted[:, of_pair], is_b)
    values: dict[Scale, FloatArray] = {}
    shares = []
    for scale in skills[0].steps:
        values[scale] = np.full(strata.shape, np.nan)
        for row, (skill, own) in enumerate(zip(skills, places, strict=True)):
            steps = np.full((len(of_pair), 2), np.nan)
            steps[own] = skill.steps[scale]
            gain, room = steps[of_pair].T
            standard = linearised_alike(gain, room, is_b, strata[row])
            values[scale][row] = standard.values
            shares.append((standard.share_a, standard.share_b))
    return AmongAlike(values, bool(np.mean(shares, axis=0).min() >= LEAST_SHARE))


def without_gap(test: Test) -> Test:
    """Return a test that shows no gap, of texts that are not comparable."""
    nan = np.nan
    return replace(test, d=nan, p_mean=nan, p_large=nan, p_large_others=nan, p_cross=nan)


def tests_among_alike(
    skills: Sequence[Skill],
    places: Sequence[IntArray],
    groups: Sequence[str],
    pair: tuple[str, str],
    sets: Sequence[str | None],
    options: Mapping[str, Any],
) -> tuple[list[CrossedTest], list[str]]:
    """Test the gap of a skill among texts that are alike, scale by scale; see :func:`among_alike`.

    ``groups`` and ``sets`` are (n,) of the texts at all places, and ``options`` those of
    :func:`~exparity.stats.crossed.crossed_tests`. Returns a test for each scale, none where nothing
    is known of the texts, and flags of the cell.
    """
    of_pair = np.isin(groups, pair)
    names = np.array(groups)[of_pair]
    alike = among_alike(skills, places, of_pair, (names == pair[1]).astype(np.int64))
    own_sets = np.array(sets, dtype=object)[of_pair].tolist()
    tests = [
        crossed_tests(list(values), names.tolist(), pair, own_sets, **options)[0]
        for values in alike.values.values()
    ]
    if alike.are_comparable:
        return tests, []
    return [without_gap(test) for test in tests], [NOT_COMPARABLE]


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
    has_search = all(len(skill.steps) > 1 for skill in skills)
    if has_search and np.nanmax([whole.skill_a, whole.skill_b, 0.0]) > 1 + _ROUNDING:
        flags.append(REFERENCE_BEATEN)
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
    known = controls.alike(*asked)
    of_texts = [known[key] for key in table.column("example_id").to_pylist()] if known else None
    matter, is_predicted = zip(*of_texts, strict=True) if of_texts else (None, None)
    return Skill.of(
        steps,
        table.column("group").to_pylist(),
        flags=flags,
        matter=None if matter is None else np.array(matter, dtype=np.float64),
        is_predicted=None if is_predicted is None else np.array(is_predicted, dtype=bool),
    )


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
    steps = sign * (np.column_stack([scores, best]) - chance[:, None])
    return Skill.of({"score": steps}, table.column("group").to_pylist(), least)


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
