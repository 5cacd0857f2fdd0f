"""What the samples of an experiment can show, before anything is run."""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError
from exparity.costs.forecast import aligned
from exparity.costs.planned import ExampleCounts
from exparity.stats.power import DETECTED, planned_effect, planned_typical_gaps, smallest_p
from exparity.types import Example

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

log = logging.getLogger(__name__)
SEED_SDS = (0.3, 1.0)
"""Standard deviations of d between trainings that a plan reckons with: small, and as on GECO."""


@dataclass(frozen=True)
class PlannedSample:
    """The texts of some tests, and what these can find.

    Attributes:
        dataset: id of the dataset.
        n_a, n_b: examples of the two groups; of several pairs of groups, those that find least.
        n_sets: matched sets with both; 0 without matched sets.
        key: what of the config sets the size.
        tests: tests of its family, over which the p-values of one training are corrected.
        cells: cells of its family, over which those of the crossed test are.
    """

    dataset: str
    n_a: int
    n_b: int
    n_sets: int
    key: str
    tests: int
    cells: int

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that a rank test can have."""
        return smallest_p(self.n_a, self.n_b, self.n_sets)

    @property
    def words(self) -> str:
        """Its size in words."""
        return f"{self.n_sets} sets" if self.n_sets else f"{self.n_a} and {self.n_b} examples"


def planned_samples(experiment: Experiment, counts: ExampleCounts) -> list[PlannedSample]:
    """Return the different samples that the tests of an experiment are made on.

    Args:
        experiment: the experiment.
        counts: the sizes of its datasets.
    """
    cells = [cell for cell in experiment.cells() if cell["seed"] == experiment.seeds[0]]
    ids = [id for id in experiment.config["statistics"]["family"] if not id.startswith("group_")]
    families = Counter(tuple(cell[id] for id in ids) for cell in cells)
    samples: dict[PlannedSample, None] = {}
    for cell in cells:
        dataset = str(cell["dataset"])
        key, sizes = _size(experiment, cell)
        worst, pairs = _worst(counts.examples(dataset, *sizes))
        in_family = families[tuple(cell[id] for id in ids)] * pairs
        tests = in_family * (1 if "seed" in ids else len(experiment.seeds))
        samples[PlannedSample(dataset, *worst, key, tests, in_family)] = None
    return list(samples)


def _size(experiment: Experiment, cell: Mapping[str, Any]) -> tuple[str, list[int | None]]:
    """Return the key that sets the size of a cell's sample, and the sizes asked for."""
    explained = {name: id for name, id in cell.items() if name != "metric"}
    stages = {"method": experiment.explain_options(**explained)}
    stages["metric"] = experiment.evaluate_options(**cell)
    sizes = {kind: json.loads(options).get("max_examples") for kind, options in stages.items()}
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
    """Return the sizes of the two groups that can find least, and how many pairs there are."""
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
    """Refuse samples on which no test can be significant, and warn of those too small for many.

    Raises:
        InputError: the smallest p-value of a sample's rank test is above α.
    """
    for sample in samples:
        least = (
            f"leaves {sample.words} of {sample.dataset}, for a p of {sample.smallest_p:.2g} or more"
        )
        if sample.smallest_p > alpha:
            raise InputError(
                f"{sample.key}: {least}: above alpha, so that no test can be significant; take more"
            )
        if sample.smallest_p > alpha / sample.tests:
            log.warning(
                "%s: %s: above alpha/%d, so that by Holm's correction it is significant only "
                "after others are; take more",
                sample.key,
                least,
                sample.tests,
            )


def effects(samples: list[PlannedSample], seeds: int, alpha: float) -> Iterator[dict[str, Any]]:
    """Yield the minimal detectable |d| of each sample by the crossed test, at α and corrected."""
    for sample in samples:
        sizes = sample.n_a, sample.n_b, sample.n_sets
        for seed_sd in SEED_SDS:
            at, corrected = (
                planned_effect(seeds, sizes, seed_sd=seed_sd, alpha=level)
                for level in (alpha, alpha / sample.cells)
            )
            yield {
                **vars(sample),
                "seed_sd": seed_sd,
                "minimal_detectable_effect": at,
                "minimal_detectable_effect_corrected": corrected,
            }


def effects_text(
    samples: list[PlannedSample], seeds: int, alpha: float, threshold: float = 0.2
) -> str:
    """Return the minimal detectable |d| of each sample as a table of at most 80 columns."""
    if not samples:
        return "Nothing is tested: nothing is explained, or no dataset has groups."
    if seeds < 2:
        return "One seed: nothing is said of other trainings; name more in `seeds`."
    head = ["dataset, sample", *(f"sd {sd:g}" for sd in SEED_SDS)]
    head += [f"{name}, /m" for name in head[1:]]
    rows: dict[tuple[str, ...], None] = {}
    for sample in samples:
        own = list(effects([sample], seeds, alpha))
        cells = [
            f"{row[name]:.2f}"
            for name in ("minimal_detectable_effect", "minimal_detectable_effect_corrected")
            for row in own
        ]
        rows[(f"{sample.dataset}, {sample.words}", *cells)] = None
    small, large = SEED_SDS
    found, equivalent = planned_typical_gaps(seeds, threshold=threshold, alpha=alpha)
    m = max(sample.cells for sample in samples)
    strictly, _ = planned_typical_gaps(seeds, threshold=threshold, alpha=alpha / m)
    return (
        f"Typical gap R of one training, whichever group it favours, with enough texts: R of\n"
        f"{found:.2f} is found to be above {threshold:g} ({strictly:.2f} at alpha/{m}), R of "
        f"{equivalent:.3f} to be below,\nwith {DETECTED:.0%} power each.\n\n"
        f"Smallest |d| of the mean over {seeds} seeds that is found with {DETECTED:.0%} power, if\n"
        f"d varies between seeds by an sd of {small:g} or {large:g}; at alpha, and at alpha over\n"
        f"m tests:\n\n{aligned([head, *rows])}"
    )
