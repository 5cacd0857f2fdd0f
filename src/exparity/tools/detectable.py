"""Gaps that the samples of an experiment can show, before it runs."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, count
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError
from exparity.core.formats import aligned
from exparity.costs.planned import PlannedExamples
from exparity.stats.power import DETECTED, planned_typical_gaps, smallest_p
from exparity.types import Example, FloatArray

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

log = logging.getLogger(__name__)
LARGE = 0.8
"""Gap that an experiment must be able to show; a large effect (Cohen 1988, §2.2)."""
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
    cells = [cell for cell in experiment.tests() if cell["seed"] == experiment.seeds[0]]
    ids = experiment.config.statistics.family
    families = Counter(tuple(cell[id] for id in ids) for cell in cells)
    samples: dict[PlannedSample, None] = {}
    for cell in cells:
        dataset = str(cell["dataset"])
        key, sizes = _size(experiment, cell)
        worst, pairs = _worst(examples.test(dataset, *sizes))
        in_family = families[tuple(cell[id] for id in ids)] * pairs
        tests = in_family * (1 if "seed" in ids else len(experiment.seeds))
        samples[PlannedSample(dataset, *worst, key, tests, in_family)] = None
    return list(samples)


def _size(experiment: Experiment, cell: Mapping[str, Any]) -> tuple[str, list[int | None]]:
    """Return the key that sets the size of a cell's sample, and the sizes asked for."""
    explained = {name: id for name, id in cell.items() if name != "metric"}
    stages = {"method": experiment.explain_options(**explained)}
    stages["metric"] = experiment.evaluate_options(**cell)
    sizes = {kind: options.get("max_examples") for kind, options in stages.items()}
    asked = {kind: size for kind, size in sizes.items() if size is not None}
    key = f"datasets.{cell['dataset']}"
    if asked:
        kind = min(asked, key=lambda kind: asked[kind])
        id = str(cell[kind])
        own = (experiment.methods if kind == "method" else experiment.metrics)[id].max_examples
        place = f"{kind}s.{id}" if own == asked[kind] else f"overrides of {kind}s.{id}"
        key = f"{place}.max_examples"
    return key, list(sizes.values())


def _worst(examples: list[Example]) -> tuple[tuple[int, int, int], int]:
    """Return the sizes of the two groups that can show least, and the number of pairs."""
    sets: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        if example.match_id is not None:
            sets[example.match_id].add(example.group)
    groups = Counter(example.group for example in examples)
    pairs = [
        (groups[a], groups[b], sum({a, b} <= members for members in sets.values()))
        for a, b in combinations(sorted(groups), 2)
    ]
    return max(pairs, key=lambda sizes: smallest_p(*sizes), default=(0, 0, 0)), len(pairs)


def check_samples(samples: list[PlannedSample], alpha: float) -> None:
    """Refuse samples on which no test can be significant, and warn of those too small for many."""
    small = [sample for sample in samples if sample.smallest_p > alpha / sample.tests]
    if not small:
        return
    worst = max(small, key=lambda sample: sample.smallest_p * sample.tests)
    few = (
        f"{worst.key}: too few texts, {worst.words} of {worst.dataset}: the smallest possible p is "
        f"{worst.smallest_p:.2g}"
    )
    if worst.smallest_p > alpha:
        raise InputError(f"{few}, and alpha is {alpha:g}; take {_enough(worst, alpha)}")
    level = alpha / worst.tests
    more = f"; {len(small) - 1} more samples are too small" if len(small) > 1 else ""
    log.warning(
        f"{few}, and Holm over {worst.tests} tests needs {level:.2g}: take "
        f"{_enough(worst, level)}{more}"
    )


def _enough(sample: PlannedSample, level: float) -> str:
    """Return the number of texts from which a p-value can be as small as a level."""
    if sample.n_sets:
        return f"{next(n for n in count(2) if smallest_p(0, 0, n) <= level)} sets"
    return f"{next(n for n in count(2) if smallest_p(n, n) <= level)} of each group"


@dataclass(frozen=True)
class PlannedGaps:
    """Typical gaps of a training that some texts can show, by number of trainings."""

    name: str
    sample: PlannedSample  # one of those with as many texts and cells
    correlation: float  # of the scores of a matched set
    # R that is found to be above the threshold, at α over all cells.
    smallest_detectable: FloatArray
    # R that is found to be below, at α; NaN where not even the absence of any gap is found.
    largest_equivalent: FloatArray


def planned_numbers(experiment: Experiment) -> list[int]:
    """Return the numbers of trainings to plan with, the experiment's own among them."""
    return sorted({*_TRAININGS, len(experiment.seeds)})


def planned_gaps(experiment: Experiment, samples: list[PlannedSample]) -> list[PlannedGaps]:
    """Return the gaps that the samples of an experiment can show, by :func:`planned_numbers`."""
    # Scores of a matched set may correlate or not.
    statistics = experiment.config.statistics
    trainings, threshold = planned_numbers(experiment), statistics.threshold
    alpha = statistics.alpha
    alike: dict[tuple[int, ...], dict[str, PlannedSample]] = defaultdict(dict)
    for sample in samples if threshold > 0 else ():  # nothing is below a threshold of 0
        alike[sample.n_a, sample.n_b, sample.n_sets, sample.cells].setdefault(
            sample.dataset, sample
        )
    planned = []
    for (*counts, cells), of_dataset in alike.items():
        sample, *others = of_dataset.values()
        place = f"{1 + len(others)} datasets" if others else sample.dataset
        for correlation in (0.0, CORRELATION) if sample.n_sets else (0.0,):
            gaps = partial(
                planned_typical_gaps,
                *(trainings, (counts[0], counts[1], counts[2])),
                threshold=threshold,
                correlation=correlation,
            )
            words = f", r = {correlation:g}" if correlation else ""
            name = f"{place}, {sample.words}{words}"
            smallest, largest = gaps(alpha=alpha / cells)[0], gaps(alpha=alpha)[1]
            planned.append(PlannedGaps(name, sample, correlation, smallest, largest))
    return planned


def undecidable(experiment: Experiment, planned: list[PlannedGaps]) -> Iterator[str]:
    """Yield a line for samples that show neither large gaps nor that there is none."""
    # A single training tells nothing about others in any case.
    trainings = planned_numbers(experiment)
    now = len(experiment.seeds)
    at = trainings.index(now)
    for gaps in planned:
        sample, smallest = gaps.sample, gaps.smallest_detectable
        is_best = gaps.correlation > 0 or not sample.n_sets
        if is_best and now > 1 and not (smallest[at] <= LARGE or gaps.largest_equivalent[at] >= 0):
            more = "trainings" if smallest[-1] <= LARGE else "texts"
            yield (
                f"{sample.key}: leaves {sample.words} of {sample.dataset}, on which {now} "
                f"trainings decide next to nothing: only gaps of R = {smallest[at]:.2g} or more "
                f"are found, and never that there is none; take more {more}"
            )


def trainings_text(
    experiment: Experiment, planned: list[PlannedGaps], taken: Sequence[tuple[int, str]]
) -> str:
    """Return tables, 80 columns wide at most, of what each number of trainings shows and takes."""
    threshold = experiment.config.statistics.threshold
    columns = [f"{n}" for n in planned_numbers(experiment)]
    tables = {
        "Typical gap R of one training, whichever group it favours, by the number of\n"
        f"trainings, with {DETECTED:.0%} power; r: how much scores of a matched set go together.\n"
        f"Found to be above {threshold:g}, at alpha over all cells:": "smallest_detectable",
        f"Found to be below {threshold:g}, at alpha, where most cells are;\n"
        "none: not even the absence of any gap is found:": "largest_equivalent",
    }
    parts = []
    for head, name in tables.items():
        rows = [["dataset, sample", *columns]]
        for one in planned:
            cells = [f"{gap:.2f}" if gap == gap else "none" for gap in getattr(one, name)]
            rows.append([one.name, *cells])
        parts.append(f"{head}\n\n{aligned(rows)}")
    rows = [["in all, trainings", *columns], ["jobs"], ["hours"]]
    for jobs, words in taken:
        rows[1].append(f"{jobs:,}")
        rows[2].append(words)
    if len(experiment.seeds) < 2:
        parts = ["One seed: nothing is said of other trainings; name more in `seeds`.", *parts]
    if not planned:
        parts = ["Nothing is tested: nothing is explained, or no dataset has groups."]
    return "\n\n".join([*parts, aligned(rows)])
