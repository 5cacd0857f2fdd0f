"""Does the classifier work for everybody? Accuracy and certainty by group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from statistics import NormalDist, fmean

from exparity.core.formats import joined
from exparity.core.grouping import grouped
from exparity.report.cautions import unreliable_sentences
from exparity.report.conclusions.answer import Answer
from exparity.report.context import Context
from exparity.report.gather import Study
from exparity.report.rows import ClassifierBias, VerdictRow

_CLEAR = 0.05
"""Smallest difference of two shares that is named, where most trainings show it."""
_NAMED = 3
"""Most groups that are all named; of more, only the two ends are."""


@dataclass(frozen=True)
class Service:
    """How well the classifiers of a model serve the groups of a dataset.

    Attributes:
        dataset, model: as they are called on the page.
        shares: share of the texts of each group that are predicted rightly, mean over trainings.
        differs: whether two of these differ clearly.
        surer_of: group whose true class the classifiers are surer of; empty if none.
    """

    dataset: str
    model: str
    shares: Mapping[str, float]
    differs: bool
    surer_of: str

    @property
    def is_unequal(self) -> bool:
        """Whether classifiers are right, or sure, more often for one group."""
        return self.differs or bool(self.surer_of)

    @property
    def gap(self) -> float:
        """Difference of the largest and the smallest share."""
        return max(self.shares.values()) - min(self.shares.values())

    @property
    def may_be_chance(self) -> bool:
        """Whether shares differ, by as much as would be named, and not clearly."""
        return self.gap >= _CLEAR and not self.differs

    @property
    def least_served(self) -> str:
        """Group of the smallest share."""
        return min(self.shares, key=lambda group: self.shares[group])

    @property
    def sentence(self) -> str:
        """The sentence on it."""
        ordered = sorted(self.shares, key=lambda group: -self.shares[group])
        percent = {group: f"{100 * self.shares[group]:.0f} of 100" for group in ordered}
        if len(ordered) <= _NAMED:
            numbers = f"{joined([f'{n} {group}' for group, n in percent.items()])} texts"
        elif len({*percent.values()}) == 1:
            numbers = f"{percent[ordered[0]]} texts of each of {len(ordered)} groups"
        else:
            most = f"{percent[ordered[0]]} {ordered[0]} texts (most of {len(ordered)} groups)"
            numbers = f"{most} and {percent[ordered[-1]]} {ordered[-1]} texts (fewest)"
        surer = f", and surer of {self.surer_of}" if self.surer_of else ""
        chance = " (a difference that may be chance)" if self.may_be_chance else ""
        return f"On {self.dataset}, {self.model} is right for {numbers}{chance}{surer}."


def services_of(study: Study) -> list[Service]:
    """Return how each model serves the groups of each dataset, the most unequal first."""
    gaps = grouped(
        (row for row in study.bias if row.quantity == "accuracy_gap"),
        attrgetter("dataset", "model"),
    )
    accuracies = grouped(study.accuracies, attrgetter("overall.dataset", "overall.model"))
    judged = grouped(study.judged, attrgetter("dataset", "model"))
    services = []
    for (dataset, model), trainings in accuracies.items():
        if not study.declared(dataset).groups:
            continue
        shares = {
            group: fmean(training.by_group[group].value for training in trainings)
            for group in study.declared(dataset).groups
        }
        pairs = [*combinations(shares, 2)]
        measured = gaps.get((dataset, model), [])
        widening = _widening(len(pairs), study.statistics.confidence)
        services.append(
            Service(
                study.display("dataset", dataset),
                model,
                shares,
                any(_is_clear(measured, pair, widening) for pair in pairs),
                _surer_of(judged.get((dataset, model), ())),
            )
        )
    return sorted(services, key=lambda service: -service.gap)


def about_classifiers(context: Context) -> Answer:
    """Answer whether classifiers are right, and sure, as often for every group."""
    study = context.study
    services = services_of(study)
    unequal = [service.sentence for service in services if service.is_unequal]
    if unequal:
        unequal[0] += " Deal with this first: it moves every number below."
    equal = [service.sentence for service in services if not service.is_unequal]
    unreliable = " ".join(unreliable_sentences(study))
    return Answer.of([*unequal, *equal], before=unreliable, evidence="bias")


def _widening(n_pairs: int, confidence: float) -> float:
    """Return how much wider intervals are that hold for all of some pairs (Bonferroni)."""
    quantile = NormalDist().inv_cdf
    all_pairs = quantile(1 - (1 - confidence) / (2 * max(1, n_pairs)))
    return all_pairs / quantile(1 - (1 - confidence) / 2)


def _is_clear(measured: Sequence[ClassifierBias], pair: tuple[str, str], widening: float) -> bool:
    """Return whether a classifier is right for clearly different shares of two groups.

    The mean difference is at least :data:`_CLEAR`, and most trainings show one by themselves:
    without 0 in its interval, which is ``widening`` times as wide.
    """
    gaps = [row for row in measured if {row.group, row.group_b} == {*pair}]
    defined = [row for row in gaps if not math.isnan(row.value)]
    if not defined or abs(fmean(row.value for row in defined)) < _CLEAR:
        return False
    shown = [row for row in defined if abs(row.value) > widening * _distance_to_zero_end(row)]
    return 2 * len(shown) > len(defined)


def _distance_to_zero_end(row: ClassifierBias) -> float:
    """Return how far a value is from the end of its interval that is nearer to 0."""
    return row.value - row.ci_low if row.value > 0 else row.ci_high - row.value


def _surer_of(rows: Sequence[VerdictRow]) -> str:
    """Return the group that classifiers are surer of than of another, by the largest difference."""
    sure = [row for row in rows if row.surer_of]
    return max(sure, key=lambda row: abs(row.certainty_d)).surer_of if sure else ""
