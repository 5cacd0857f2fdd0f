"""Gaps that the samples of an experiment can show, before it runs."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count

from exparity.artefacts.ids import Ids
from exparity.config.experiment import Experiment
from exparity.core.errors import InputError
from exparity.core.formats import aligned
from exparity.costs.planned import PlannedExamples
from exparity.stats.power import DETECTED, planned_typical_gaps, smallest_p
from exparity.stats.verdicts import SHARE_OF_CLAIM
from exparity.types import Example

log = logging.getLogger(__name__)
CORRELATION = 0.8
"""Correlation of the scores of a matched set where its texts differ in few words."""
_TRAININGS = (3, 5, 8, 13, 20, 32)


@dataclass(frozen=True)
class PlannedSample:
    """The sample of some tests, and the size of their family."""

    dataset: str
    n_a: int  # of the pair of groups that can show least
    n_b: int
    n_sets: int  # matched sets with both groups
    key: str  # the key of the config that sets the size
    tests: int  # of its family, over which p-values of one training are corrected
    cells: int  # of its family, over which p-values of the crossed test are corrected
    groups: tuple[str, str]  # the pair

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that a rank test can have."""
        return smallest_p(self.n_a, self.n_b, self.n_sets)

    @property
    def words(self) -> str:
        """Its size in words."""
        if self.n_sets:
            return f"{self.n_sets} set{'s' if self.n_sets > 1 else ''}"
        return f"{self.n_a} and {self.n_b} examples"


def planned_samples(experiment: Experiment, examples: PlannedExamples) -> list[PlannedSample]:
    """Return the different samples of the tests of an experiment."""
    cells = [cell for cell in experiment.tests() if cell.seed == experiment.seeds[0]]
    ids = experiment.config.statistics.family
    families = Counter(tuple(cell[name] for name in ids) for cell in cells)
    samples: dict[PlannedSample, None] = {}
    for cell in cells:
        dataset = cell.dataset
        key, sizes = _size(experiment, cell, len(examples.test(dataset)))
        worst, groups, pairs = _worst(examples.test(dataset, *sizes))
        in_family = families[tuple(cell[name] for name in ids)] * pairs
        tests = in_family * (1 if "seed" in ids else len(experiment.seeds))
        samples[PlannedSample(dataset, *worst, key, tests, in_family, groups)] = None
    return list(samples)


def _size(experiment: Experiment, cell: Ids, available: int) -> tuple[str, list[int | None]]:
    """Return the key that sets the size of a cell's sample, and the sizes asked for."""
    explained = cell.without("metric")
    stages = {"method": experiment.explain_options(**explained)}
    stages["metric"] = experiment.evaluate_options(**cell)
    sizes = {kind: options.get("max_examples") for kind, options in stages.items()}
    limits = {kind: size for kind, size in sizes.items() if size and size < available}
    key = f"datasets.{cell.dataset}"
    if limits:
        kind = min(limits, key=lambda kind: limits[kind])
        name = str(cell[kind])
        instances = experiment.methods if kind == "method" else experiment.metrics
        is_own = instances[name].max_examples == limits[kind]
        place = f"{kind}s.{name}" if is_own else f"overrides of {kind}s.{name}"
        key = f"{place}.max_examples"
    return key, list(sizes.values())


def _worst(
    examples: list[Example],
) -> tuple[tuple[int, int, int], tuple[str, str], int]:
    """Return sizes and names of the two groups that can show least, and the number of pairs."""
    sets: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        if example.match_id is not None:
            sets[example.match_id].add(example.group)
    n = Counter(example.group for example in examples)
    pairs = {
        (a, b): (n[a], n[b], sum({a, b} <= members for members in sets.values()))
        for a, b in combinations(sorted(n), 2)
    }
    worst = max(pairs, key=lambda pair: smallest_p(*pairs[pair]), default=("", ""))
    return pairs.get(worst, (0, 0, 0)), worst, len(pairs)


def check_samples(samples: list[PlannedSample], alpha: float) -> None:
    """Refuse samples on which no test can be significant, and warn of those too small for many."""
    small = [sample for sample in samples if sample.smallest_p > alpha / sample.tests]
    if not small:
        return
    worst = max(small, key=lambda sample: sample.smallest_p * sample.tests)
    hopeless = worst.smallest_p > alpha
    level = alpha if hopeless else alpha / worst.tests
    needed = (
        f"alpha is {level:g}" if hopeless else f"Holm over {worst.tests} tests needs {level:.2g}"
    )
    if worst.n_sets:
        enough = f"{next(n for n in count(2) if smallest_p(0, 0, n) <= level)} sets"
    else:
        n_enough = next(n for n in count(2) if smallest_p(n, n) <= level)
        enough = f"{n_enough} of each group, or merge groups"
        if all(group.isdecimal() for group in worst.groups):
            enough += " (numbers, such as ages, into bands)"
    line = (
        f"{worst.key}: too few texts, {worst.words} of {' and '.join(worst.groups)} in "
        f"{worst.dataset}: the smallest possible p is {worst.smallest_p:.2g}, and {needed}: take "
        f"{enough}"
    )
    if hopeless:
        raise InputError(line)
    n = len(small) - 1
    more = f"; {n} more sample{'s are' if n > 1 else ' is'} too small" if n else ""
    log.warning("%s%s", line, more)


def planned_numbers(experiment: Experiment) -> list[int]:
    """Return the numbers of trainings to plan with, the experiment's own among them."""
    return sorted({*_TRAININGS, len(experiment.seeds)})


def _gap_rows(
    experiment: Experiment, samples: Sequence[PlannedSample]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the rows of both tables for each kind of sample, by the number of trainings.

    The first has the typical gaps that are found to be above the threshold, at the level of a claim
    over all cells; the second those that are found to be below, at that level: none where not even
    the absence of any gap is found.
    """
    statistics = experiment.config.statistics
    trainings = planned_numbers(experiment)
    level = SHARE_OF_CLAIM * statistics.alpha
    alike: dict[tuple[int, ...], dict[str, PlannedSample]] = defaultdict(dict)
    for sample in samples if statistics.threshold > 0 else ():  # nothing is below a threshold of 0
        size = (sample.n_a, sample.n_b, sample.n_sets, sample.cells)
        alike[size].setdefault(sample.dataset, sample)
    for by_dataset in alike.values():
        sample, *others = by_dataset.values()
        place = f"{1 + len(others)} datasets" if others else sample.dataset
        # Scores of a matched set may correlate or not.
        for correlation in (0.0, CORRELATION) if sample.n_sets else (0.0,):
            sizes = [
                planned_typical_gaps(
                    trainings,
                    (sample.n_a, sample.n_b, sample.n_sets),
                    alpha=alpha,
                    threshold=statistics.threshold,
                    correlation=correlation,
                )
                for alpha in (level / sample.cells, level)
            ]
            name = f"{place}, {sample.words}" + (f", r = {correlation:g}" if correlation else "")
            yield [name, *map(_gap_or_none, sizes[0][0])], [name, *map(_gap_or_none, sizes[1][1])]


def _gap_or_none(gap: float) -> str:
    return f"{gap:.2f}" if gap == gap else "none"


def trainings_text(
    experiment: Experiment, samples: Sequence[PlannedSample], amounts: Sequence[tuple[int, str]]
) -> str:
    """Return tables, 80 columns wide at most, of what each number of trainings shows and takes."""
    threshold = experiment.config.statistics.threshold
    columns = [f"{n}" for n in planned_numbers(experiment)]
    heads = (
        "Typical gap R of one training, whichever group it favours, by the number of\n"
        f"trainings, with {DETECTED:.0%} power; r: how much scores of a matched set go together.\n"
        f"Found to be above {threshold:g}, at half of alpha over all cells:",
        f"Found to be below {threshold:g}, at half of alpha, where most cells are;\n"
        "none: not even the absence of any gap is found:",
    )
    rows = [*_gap_rows(experiment, samples)]
    parts = [
        f"{head}\n\n{aligned([['dataset, sample', *columns], *lines])}"
        for head, lines in zip(heads, zip(*rows, strict=True), strict=False)
    ]
    if len(experiment.seeds) < 2:
        parts = ["One seed: nothing is said of other trainings; name more in `seeds`.", *parts]
    if not rows:
        parts = ["No groups of texts are tested: nothing is explained, or no dataset has any."]
    jobs = [f"{n_jobs:,}" for n_jobs, _ in amounts]
    hours = [words for _, words in amounts]
    last = [["in all, trainings", *columns], ["jobs", *jobs], ["hours", *hours]]
    return "\n\n".join([*parts, aligned(last)])
