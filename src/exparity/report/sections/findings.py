"""What was found, in words: what to be careful about first, then the largest consistent gaps.

A gap is named where it stands: over all trainings the verdict is *different*, or, of a single
training, its test is significant after Holm's correction. Where random explanations were scored,
that is said of the excess over them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.report.gather import Accuracy, Study
from exparity.report.tables import PREFIXES, Table
from exparity.stats.dependence import Dependence
from exparity.stats.informative import informative
from exparity.stats.power import minimal_detectable_effect

_INSEPARABLE, _DEPENDENT = 0.99, 0.3
"""Cramér's V of label and group from which readers are warned."""
_LARGE = 0.8
"""|d| that a sample must be able to show; a large effect (Cohen 1988, §2.2)."""
_MOST = 6
"""Gaps, and classifiers, that are put into words; the tables have all."""


@dataclass(frozen=True)
class Standing:
    """A gap that stands, of one method.

    Attributes:
        method: its name.
        d: Cohen's d of the scores, first group minus second.
        better: the group whose explanations are better.
        worse: the other one.
    """

    method: str
    d: float
    better: str
    worse: str


@dataclass(frozen=True)
class Finding:
    """The gaps of one metric between two groups, over all methods.

    Attributes:
        dataset: name of the dataset.
        model: the model.
        metric: name of the metric.
        kind: property of explanations that it measures.
        gaps: the gaps that stand, largest first.
        methods: methods whose gap was tested.
    """

    dataset: str
    model: str
    metric: str
    kind: str
    gaps: Sequence[Standing]
    methods: int

    @property
    def is_consistent(self) -> bool:
        """Whether all methods for which a gap stands serve the same group better."""
        return len({gap.better for gap in self.gaps}) == 1

    @property
    def size(self) -> float:
        """Mean d over the methods, 0 where no gap stands: large where many agree on a large one."""
        return abs(sum(gap.d for gap in self.gaps)) / self.methods


def compared_quantity(study: Study) -> str:
    """Return what is compared: the ``excess`` over random explanations, if there is, or scores."""
    return "excess" if any(row["excess_p"] == row["excess_p"] for row in study.rows) else "score"


def over_trainings(study: Study) -> bool:
    """Return whether any gap was tested over several trainings."""
    return any(row["n_seeds"] > 1 for cell in study.verdicts.values() for row in cell.values())


def findings_of(study: Study, tables: Sequence[Table]) -> list[Finding]:
    """Return the gaps that stand by dataset, pair of groups, model and metric, largest first.

    Args:
        study: the study.
        tables: its disparity tables.
    """
    quantity, crossed = compared_quantity(study), over_trainings(study)
    findings = []
    for table in tables:
        gaps: dict[tuple[str, str], list[Standing]] = defaultdict(list)
        methods = Counter[tuple[str, str]]()
        for (model, method, metric), tests in table.tests.items():
            rows = informative(tests)
            if crossed:
                stands, d = _judged(table.cells[model, method, metric].verdicts.get(quantity))
            else:
                stands, d = _tested(rows, PREFIXES[quantity], study.statistics["alpha"])
            if stands is None:
                continue
            methods[model, metric] += 1
            if stands and d:
                gaps[model, metric].append(_standing(study, table, method, metric, d))
        findings += [
            Finding(
                study.display("dataset", table.dataset),
                model,
                study.display("metric", metric),
                study.metric_facts(metric).kind,
                sorted(standing, key=lambda gap: -abs(gap.d)),
                methods[model, metric],
            )
            for (model, metric), standing in gaps.items()
        ]
    return sorted(findings, key=lambda finding: -finding.size)


def _judged(row: Mapping[str, Any] | None) -> tuple[bool | None, float]:
    """Return whether a cell's gap stands over trainings, None where it has no verdict, and d."""
    if row is None or not row["verdict"]:
        return None, math.nan
    return row["verdict"] == "different", row["d"]


def _tested(
    rows: Sequence[Mapping[str, Any]], prefix: str, alpha: float
) -> tuple[bool | None, float]:
    """Return whether the gap of a single training stands, None where it was not tested, and d."""
    if len(rows) != 1:
        return None, math.nan
    p = rows[0][f"{prefix}{'wilcoxon_p' if rows[0]['n_pairs'] else 'p'}_holm"]
    return None if p != p else p <= alpha, rows[0][f"{prefix}cohens_d"]


def _standing(study: Study, table: Table, method: str, metric: str, d: float) -> Standing:
    higher = study.metric_facts(metric).direction == "higher"
    groups = (table.group_a, table.group_b) if (d > 0) == higher else (table.group_b, table.group_a)
    return Standing(study.display("method", method), d, *groups)


def detectable(study: Study, table: Table) -> float:
    """Return the |d| that a single training's tests of unmatched texts find with a power of 80 %.

    By the t-test, to which the rank test is close, at α over the number of tests; NaN where sets
    are matched, and with several trainings, whose verdicts have such an effect of their own.
    """
    rows = [row for tests in table.tests.values() for row in informative(tests)]
    sizes = [(row["n_a"], row["n_b"]) for row in rows if min(row["n_a"], row["n_b"]) > 1]
    if over_trainings(study) or not sizes or any(row["n_pairs"] for row in rows):
        return math.nan
    n_a, n_b = min(sizes, key=min)
    error, alpha = math.sqrt(1 / n_a + 1 / n_b), study.statistics["alpha"] / len(rows)
    return float(minimal_detectable_effect(error, n_a + n_b - 2, alpha=alpha))


def cautions(study: Study, tables: Sequence[Table]) -> list[str]:
    """Return what a reader must know before any gap: of data, classifiers and sizes of samples."""
    return [
        *dependence_sentences(study),
        *collapsed_sentences(study),
        *_guessing(study),
        *_small(study, tables),
    ]


def collapsed_sentences(study: Study) -> list[str]:
    """Return a sentence a dataset about its classifiers that predict one class."""
    seeds: dict[str, dict[str, list[int]]] = {}
    for a in study.accuracies:
        if a.collapsed:
            seeds.setdefault(a.dataset, {}).setdefault(a.model, []).append(a.seed)
    return [
        f"On {dataset}, one class is predicted for every test example by "
        + ", ".join(
            f"{model} (seed{'s' if len(of) > 1 else ''} {', '.join(map(str, sorted(of)))})"
            for model, of in models.items()
        )
        + "; their rows say nothing about explanations of a working classifier."
        for dataset, models in seeds.items()
    ]


def dependence_sentences(study: Study) -> list[str]:
    """Return a sentence a dataset whose label and group go together, worst first."""
    sentences = []
    for dataset, by_split in study.dependence.items():
        largest = max((d.v for d in by_split.values() if d.v == d.v), default=0.0)
        if largest < _DEPENDENT:
            continue
        numbers = numbers_of(by_split)
        apart = "cannot be told apart" if largest >= _INSEPARABLE else "go together"
        name = study.display("dataset", dataset)
        sentences.append(
            (
                -largest,
                f"On {name}, label and group {apart}: Cramér's V is {numbers}. A gap between "
                f"{' and '.join(study.declared(dataset).groups)} may be one between classes.",
            )
        )
    return [sentence for _, sentence in sorted(sentences)]


def numbers_of(by_split: Mapping[str, Dependence]) -> str:
    """Return Cramér's V of each split in words."""
    values = {split: f"{d.v:.2f}" for split, d in by_split.items()}
    if len(values) == 1:
        return next(iter(values.values()))
    if len(set(values.values())) == 1:
        return f"{next(iter(values.values()))} in {' and '.join(values)}"
    return ", ".join(f"{value} in {split}" for split, value in values.items())


def _guessing(study: Study) -> Iterator[str]:
    """Yield a sentence for each classifier that is right no more often than a guess."""
    for a in study.accuracies:
        chance = 1 / len(study.declared(a.dataset).classes)
        if a.overall <= chance and not a.collapsed:
            yield (
                f"On {study.display('dataset', a.dataset)}, {a.model} (seed {a.seed}) is right for "
                f"{100 * a.overall:.0f} % of the texts, no more than a guess would be: is it for "
                "these classes, and are they in its order?"
            )


def _small(study: Study, tables: Sequence[Table]) -> Iterator[str]:
    """Yield a sentence for each comparison of too few texts."""
    for table in tables:
        where = f"{table.group_a} and {table.group_b} of {study.display('dataset', table.dataset)}"
        rows = [row for tests in table.tests.values() for row in tests]
        hopeless = sum(bool({"cannot_pass", "too_few"} & set(row["flags"])) for row in rows)
        least = detectable(study, table)
        if hopeless:
            yield (
                f"{where}: {hopeless} of {len(rows)} comparisons are of so few texts that no gap "
                "could be significant."
            )
        elif least > _LARGE:
            yield (
                f"{where}: so few texts that only very large gaps would be seen, of |d| = "
                f"{least:.1f} or more."
            )


def _audited(study: Study) -> Iterator[str]:
    """Yield how many texts of each group there are, and how often the classifier is right."""
    for a in study.accuracies:
        sizes = {row["group"]: row["n"] for row in study.bias.rows if _is_accuracy_of(row, a)}
        groups = (
            f"{group}: {100 * share:.0f} % of {sizes[group]:,}"
            for group, share in a.by_group.items()
        )
        yield (
            f"{a.model} is right for {100 * a.overall:.0f} % of the {a.n:,} texts of "
            f"{study.display('dataset', a.dataset)} ({'; '.join(groups)})."
        )


def _is_accuracy_of(row: Mapping[str, Any], a: Accuracy) -> bool:
    place = ("dataset", "model", "seed")
    return row["quantity"] == "accuracy" and all(row[id] == getattr(a, id) for id in place)


def words_of(study: Study, tables: Sequence[Table]) -> dict[str, Any]:
    """Return what the template of the findings shows."""
    every = findings_of(study, tables)
    one_training = bool(study.rows) and not over_trainings(study) and len(study.seeds) == 1
    least = [value for table in tables if (value := detectable(study, table)) == value]
    return {
        "most": _MOST,
        "findings": every[:_MOST],
        "more_findings": len(every) - _MOST,
        "cautions": cautions(study, tables),
        "one_training": one_training,
        "audited": list(_audited(study)) if one_training else [],
        "detectable": max(least, default=None),
        "excess": compared_quantity(study) == "excess",
    }
