"""Explanation performance over seeds, and published classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, records
from exparity.core.grouping import grouped
from exparity.published.study import Key, Value, load_study
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd
from exparity.report.verdicts import ROUNDING_NOISE, meaning_of, noise_of

_STUDY = "gecobench2024"
_MEASURES = {
    "accuracy": "Accuracy",
    "tpr": "True positive rate",
    "tnr": "True negative rate",
    "apd": "Average prediction difference",
}


@dataclass(frozen=True)
class _Described:
    """A row of the correctness artefact: scores of one trained classifier."""

    dataset: str
    model: str
    method: str
    metric: str
    subset: str
    group: str
    groups: tuple[str, ...]
    mean: float
    n: int
    n_undefined: int


@dataclass(frozen=True)
class Level:
    """Scores of the trainings of a model: mean and deviation of their means, and numbers of all."""

    dataset: str
    model: str
    method: str
    metric: str
    subset: str
    group: str
    mean: float | None
    sd: float | None
    n: int
    undefined: int


@dataclass(frozen=True)
class CorrectnessTable:
    """The correctness of explanations of one dataset by one metric, over its trainings.

    Attributes:
        dataset, metric: ids.
        groups: the groups.
        models: ids of the models.
        best_first: ids of the methods, that of the highest mean over models first.
        levels: by model, method, subset and group; the group "" is all.
    """

    dataset: str
    metric: str
    groups: tuple[str, ...]
    models: Sequence[str]
    best_first: Sequence[str]
    levels: Mapping[tuple[str, str, str, str], Level]


@dataclass(frozen=True)
class TrainedScheme:
    """Measures of a training scheme of a published study.

    Attributes:
        dataset, model: ids.
        scheme: its name in the study.
        lines: each measure by name, its mean and deviation over our trainings, and the published
            one.
    """

    dataset: str
    model: str
    scheme: str
    lines: Sequence[tuple[str, tuple[float | None, float | None], Value]]


def correctness_tables(rows: Sequence[Row]) -> list[CorrectnessTable]:
    """Average the correctness artefact over seeds: a table per dataset and metric."""
    described = records(_Described, rows)
    return [_table(part) for part in grouped(described, attrgetter("dataset", "metric")).values()]


def _table(rows: Sequence[_Described]) -> CorrectnessTable:
    parts = grouped(rows, attrgetter("model", "method", "subset", "group"))
    levels = {key: _level(part) for key, part in parts.items()}
    means = {key[:2]: level.mean for key, level in levels.items() if key[2:] == ("correct", "")}

    def over_models(method: str) -> float:
        model_means = [m for (_, name), m in means.items() if name == method and m is not None]
        return mean_and_sd(model_means)[0] or 0.0

    methods = dict.fromkeys(method for _, method in means)
    return CorrectnessTable(
        dataset=rows[0].dataset,
        metric=rows[0].metric,
        groups=rows[0].groups,
        models=list(dict.fromkeys(model for model, _ in means)),
        best_first=sorted(methods, key=over_models, reverse=True),
        levels=levels,
    )


def _level(rows: Sequence[_Described]) -> Level:
    mean, sd = mean_and_sd([row.mean for row in rows])
    first = rows[0]
    return Level(
        dataset=first.dataset,
        model=first.model,
        method=first.method,
        metric=first.metric,
        subset=first.subset,
        group=first.group,
        mean=mean,
        sd=sd,
        n=sum(row.n for row in rows),
        undefined=sum(row.n_undefined for row in rows),
    )


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: explanation performance over seeds, and published classifiers."""
    tables = correctness_tables(rows)
    levels = [level for table in tables for level in table.levels.values()]
    return Findings(
        {
            "correctness": tables,
            "noise": noise_of(study.rows),
            "meaning": meaning_of(ROUNDING_NOISE),
            "subsets": {"all": "all", "correct": "correct", "correct_sets": "sets all correct"},
            "classifiers": _classifiers(study),
            "reference": load_study(_STUDY).reference,
        },
        [Export.of("correctness", "Correctness of explanations", Level, levels)],
    )


def _classifiers(study: Study) -> list[TrainedScheme]:
    """Return accuracy and bias of our training schemes beside the published ones."""
    classifiers = []
    published = load_study(_STUDY).values
    for dataset, model in study.pairs:
        scheme = study.grid.models.get(model) or ""
        lines = []
        for measure, name in _MEASURES.items():
            theirs = published.get(Key(study.datasets[dataset], scheme, metric=measure))
            if theirs is None:
                continue
            is_of_class = measure in ("tpr", "tnr")  # of the positive class
            class_name = study.declared(dataset).classes[1] if is_of_class else ""
            ids = (dataset, model, measure, class_name)
            values = [
                row.value
                for row in study.bias
                if (row.dataset, row.model, row.quantity, row.class_name) == ids
                and (measure == "apd" or not row.group)  # others are over all groups
            ]
            lines.append((name, mean_and_sd(values), theirs))
        if lines:
            classifiers.append(TrainedScheme(dataset, model, scheme, lines))
    return classifiers
