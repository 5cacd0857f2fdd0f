"""Which method to use, in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import itemgetter

from exparity.artefacts.columns import Row
from exparity.core.formats import capitalised, joined
from exparity.core.grouping import grouped
from exparity.explanations.markup import number_text
from exparity.methods.facts import RANDOM
from exparity.report import picture
from exparity.report.gather import Study
from exparity.stats.ranking import EVERYBODY, MethodTest, best_in_words, best_methods
from exparity.stats.verdicts import HEADLINE

_TEST = [field.name for field in fields(MethodTest)]
_NAMED = 2
"""Groups of which each is named."""


@dataclass(frozen=True)
class Level:
    """Mean score of a method on the texts of a group."""

    text: str
    is_best: bool


@dataclass(frozen=True)
class MethodLine:
    """A method, and its level in each group."""

    name: str
    is_random: bool
    levels: Mapping[str, Level]


@dataclass(frozen=True)
class Ranking:
    """The methods by one metric.

    Attributes:
        dataset, model, metric: what is compared, as it is called on the page.
        measure: what the metric measures, in a sentence.
        sentences: which method is best, and for whom.
        groups: the groups.
        lines: the methods; the one whose worst group has the best level comes first.
    """

    dataset: str
    model: str
    metric: str
    measure: str
    sentences: Sequence[str]
    groups: Sequence[str]
    lines: Sequence[MethodLine]


def rankings_of(rows: Sequence[Row], study: Study) -> list[Ranking]:
    """Return a ranking for each dataset, model and metric, those by forward simulation first."""
    in_order = sorted(rows, key=lambda row: study.metric_facts(row["metric"]).kind != HEADLINE)
    cells = grouped(in_order, itemgetter("dataset", "model", "metric"))
    return [
        _ranking((dataset, model, metric), cell, study)
        for (dataset, model, metric), cell in cells.items()
    ]


def _ranking(ids: tuple[str, str, str], rows: Sequence[Row], study: Study) -> Ranking:
    """Return the ranking of a dataset, model and metric."""
    dataset, model, metric = ids
    tests = [MethodTest(**{name: row[name] for name in _TEST}) for row in rows]
    names = {m: _name(study, m) for test in tests for m in (test.method_a, test.method_b)}
    groups = [g for g in study.declared(dataset).groups if any(t.group == g for t in tests)]
    means = _means(tests, names, groups)
    is_higher_better = bool(rows[0]["higher_is_better"])
    best = {group: best_methods(tests, group) for group in groups}

    def of_worst_group(method: str) -> float:
        """Return the level of the group that a method serves worst, the larger the better."""
        if len(means[method]) < len(groups):
            return -math.inf
        sign = 1 if is_higher_better else -1
        return min((sign * mean for mean in means[method].values()), default=-math.inf)

    ordered = sorted(names, key=of_worst_group, reverse=True)
    ranked = [m for m in ordered if m != RANDOM and of_worst_group(m) > -math.inf]
    first = ranked[0] if ranked else None
    lines = [
        MethodLine(
            names[method],
            method == RANDOM,
            {g: Level(_text(means[method].get(g)), method in best[g]) for g in groups},
        )
        for method in ordered
    ]
    return Ranking(
        study.display("dataset", dataset),
        model,
        study.name("metric", metric),
        study.measure(metric),
        [*_about_best(tests, best, names, first), *_about_random(tests, names)],
        groups,
        lines,
    )


def _name(study: Study, method: str) -> str:
    return picture.RANDOM if method == RANDOM else study.display("method", method)


def _means(
    tests: Sequence[MethodTest], methods: Mapping[str, str], groups: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the mean score of each method by group, in the texts of its first comparison."""
    means: dict[str, dict[str, float]] = {method: {} for method in methods}
    for test in tests:
        if test.group in groups and test.n_texts:
            means[test.method_a].setdefault(test.group, test.mean_a)
            means[test.method_b].setdefault(test.group, test.mean_b)
    return means


def _text(mean: float | None) -> str:
    return "–" if mean is None else number_text(mean, signed=False, like=mean)


def _about_best(
    tests: Sequence[MethodTest],
    best: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
    first: str | None,
) -> list[str]:
    """Say which methods are best for every group; else for which group which one is.

    Args:
        tests: of every two methods, in each group and over all texts.
        best: the best methods of each group.
        names: of all methods.
        first: the method of the best level of its worst group.
    """
    methods = [method for method in names if method != RANDOM]
    if len(methods) == 1:
        return [f"{names[methods[0]]} was compared with random explanations alone."]
    if not any(_tells_methods_apart(test) for test in tests):
        return [f"{capitalised(best_in_words(methods, len(methods)))}."]
    for_all = [m for m in methods if all(m in chosen for chosen in best.values())]
    among_these = [test for test in tests if {test.method_a, test.method_b} <= {*for_all}]
    unbeaten = best_methods(among_these) or for_all
    if unbeaten:
        return [_about_unbeaten(unbeaten, best, names)]
    sentences = [_about_group(group, chosen, names) for group, chosen in best.items()]
    if first is None or not all({*chosen} - {RANDOM} for chosen in best.values()):
        return sentences
    return [*sentences, f"{names[first]} serves the worst-off group best."]


def _about_unbeaten(
    unbeaten: Sequence[str], best: Mapping[str, Sequence[str]], names: Mapping[str, str]
) -> str:
    """Say for which groups some methods are best, and for which others may be as good."""
    alone = [group for group, chosen in best.items() if {*chosen} - {RANDOM} <= {*unbeaten}]
    shared = [group for group in best if group not in alone]
    texts = f"for {_texts_of(alone, best)}" if alone else "over all texts"
    sentence = best_in_words([names[method] for method in unbeaten], _count(names), texts)
    if not shared:
        return f"{sentence}."
    others = f"for {_texts_of(shared, best)}" if alone else "within a group"
    return f"{sentence}; {others}, no method is shown to be better."


def _texts_of(chosen: Sequence[str], groups: Collection[str]) -> str:
    """Name the texts of some groups, or of all, which may be many."""
    if len(chosen) == len(groups) > _NAMED:
        return "every group"
    return f"{joined([*chosen])} texts"


def _tells_methods_apart(test: MethodTest) -> bool:
    """Return whether one of two methods is better, and neither is random."""
    return bool(test.better) and RANDOM not in (test.method_a, test.method_b)


def _about_group(group: str, best: Sequence[str], names: Mapping[str, str]) -> str:
    """Say which methods are best for a group."""
    chosen = [names[method] for method in best if method != RANDOM]
    return f"For {group} texts, {best_in_words(chosen, _count(names))}."


def _count(methods: Collection[str]) -> int:
    """Count methods; random explanations are none."""
    return sum(method != RANDOM for method in methods)


def _about_random(tests: Sequence[MethodTest], names: Mapping[str, str]) -> list[str]:
    """Name the methods that are not shown to be better than random explanations."""
    against = [
        (test, test.method_a if test.method_b == RANDOM else test.method_b)
        for test in tests
        if test.group == EVERYBODY and RANDOM in (test.method_a, test.method_b)
    ]
    no_better = [names[method] for test, method in against if test.better != method]
    if not no_better:
        return []
    verb = "is" if len(no_better) == 1 else "are"
    return [f"{joined(no_better)} {verb} not shown to be better than random explanations."]
