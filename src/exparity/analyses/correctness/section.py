"""Explanation performance over seeds, beside what was published of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
from exparity.artefacts.schemas import record_columns
from exparity.published.expressions import parse_ordering
from exparity.published.gecobench import (
    DATASETS,
    REFERENCE,
    accuracies,
    model_bias,
    schemes_of,
    statements,
)
from exparity.report.flags import ROUNDING_NOISE, meaning_of, noise_of
from exparity.report.reading import mean_and_sd

if TYPE_CHECKING:
    from exparity.report.gather import Study

_IDS = ("dataset", "model", "method", "metric", "subset", "group")
_MEASURES = {
    "tpr": "True positive rate",
    "tnr": "True negative rate",
    "apd": "Average prediction difference",
}


@dataclass(frozen=True)
class Level:
    """A metric's mean over some examples of a cell, over seeds.

    Attributes:
        mean: mean of the seeds' means; None where no seed has one.
        sd: their standard deviation; None for fewer than two.
        n: scores behind it, of all seeds.
        undefined: scores that are not defined, of all seeds.
    """

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
class Line:
    """One method of one model.

    Attributes:
        model: the model.
        method: the method.
        levels: by (subset, group); group "" is all.
        rank: place of the method among those of its model, by the mean on correct examples; None
            where it has none.
    """

    model: str
    method: str
    levels: Mapping[tuple[str, str], Level]
    rank: int | None


@dataclass(frozen=True)
class CorrectnessTable:
    """One metric on one dataset."""

    dataset: str
    metric: str
    groups: tuple[str, ...]
    lines: Sequence[Line]

    @property
    def models(self) -> list[str]:
        """The models, in the order of the config."""
        return list(dict.fromkeys(line.model for line in self.lines))

    @property
    def best_first(self) -> list[tuple[str, dict[str, Line]]]:
        """Methods and their line of each model; the highest mean over models comes first."""
        of: dict[str, dict[str, Line]] = defaultdict(dict)
        for line in self.lines:
            of[line.method][line.model] = line

        def mean(method: str) -> float:
            means = [_of_correct(line.levels) for line in of[method].values()]
            return mean_and_sd([m for m in means if m is not None])[0] or 0.0

        return [(method, of[method]) for method in sorted(of, key=mean, reverse=True)]


@dataclass(frozen=True)
class Claim:
    """A published statement beside our results.

    Attributes:
        text: the statement.
        section: where it is printed.
        dataset: where it is looked at.
        ours: what we find, in words.
        holds: whether that agrees.
    """

    text: str
    section: str
    dataset: str
    ours: str
    holds: bool


def correctness_tables(rows: Sequence[Mapping[str, Any]]) -> list[CorrectnessTable]:
    """Average the correctness artefact over seeds: a table per dataset and metric."""
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["dataset"], row["metric"]].append(row)
    return [
        CorrectnessTable(dataset, metric, part[0]["groups"], _lines(part))
        for (dataset, metric), part in grouped.items()
    ]


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    cells: dict[tuple[str, str], dict[tuple[str, str], list[Mapping[str, Any]]]] = {}
    for row in rows:
        levels = cells.setdefault((row["model"], row["method"]), {})
        levels.setdefault((row["subset"], row["group"]), []).append(row)
    summaries = {
        cell: {key: _level(part) for key, part in parts.items()} for cell, parts in cells.items()
    }
    lines = []
    for (model, method), summary in summaries.items():
        means = [_of_correct(other) for (m, _), other in summaries.items() if m == model]
        own = _of_correct(summary)
        rank = None if own is None else 1 + sum(x is not None and x > own for x in means)
        lines.append(Line(model, method, summary, rank))
    return lines


def _of_correct(levels: Mapping[tuple[str, str], Level]) -> float | None:
    level = levels.get(("correct", ""))
    return None if level is None else level.mean


def _level(rows: Sequence[Mapping[str, Any]]) -> Level:
    mean, sd = mean_and_sd([row["mean"] for row in rows])
    n, undefined = (sum(row[name] for row in rows) for name in ("n", "n_undefined"))
    ids = {name: rows[0][name] for name in _IDS}
    return Level(**ids, mean=mean, sd=sd, n=n, undefined=undefined)


def published_claims(
    tables: Sequence[CorrectnessTable],
    schemes: Mapping[str, str],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    metrics: Mapping[str, str],
) -> list[Claim]:
    """Look at what GECOBench says of mass accuracy, where our grid has what it speaks of.

    Args:
        tables: our tables.
        schemes: our models that are a published training scheme.
        datasets: instance id to registered id.
        methods: instance id to registered id.
        metrics: instance id to registered id.
    """
    claims: list[Claim] = []
    for table in tables:
        if metrics[table.metric] != "mass_accuracy" or datasets[table.dataset] not in DATASETS:
            continue
        of: dict[str, dict[str, float]] = defaultdict(dict)
        for line in table.lines:
            mean = _of_correct(line.levels)
            if line.model in schemes and mean is not None:
                of[schemes[line.model]].setdefault(methods[line.method], mean)
        for scheme, means in of.items():
            claims += _of_methods(table.dataset, scheme, means)
        claims += _of_schemes(table.dataset, datasets[table.dataset], of)
    return claims


def _of_methods(dataset: str, scheme: str, means: Mapping[str, float]) -> Iterator[Claim]:
    """Yield the statements on the methods of a scheme; of those on the best one, the first."""
    said = False
    for statement in statements("methods"):
        ordering = parse_ordering(statement["ordering"])
        applies = statement["scheme"] in ("", scheme) and set(ordering.named) < means.keys()
        if not applies or (said and ordering.above):
            continue
        said = said or bool(ordering.above)
        order = sorted(means, key=lambda method: -means[method])
        places = [order.index(method) for method in ordering.named]
        if ordering.above:
            order = order[: 1 + max(*places, len(places))]
        else:
            order = order[min(*places, len(order) - 1 - len(places)) :]
        ours = " > ".join(f"{method} {means[method]:.3f}" for method in order)
        text = f"{scheme}: {statement['description']}"
        yield Claim(text, statement["section"], dataset, ours, ordering.holds(means))


def _of_schemes(
    dataset: str, registered: str, of: Mapping[str, Mapping[str, float]]
) -> Iterator[Claim]:
    """Yield the statements on schemes: on their mean over the methods that all of them have."""
    for statement in statements("schemes"):
        ordering = parse_ordering(statement["ordering"])
        if registered != statement["dataset"] or not of.keys() >= set(ordering.named):
            continue
        shared = set.intersection(*(set(of[scheme]) for scheme in ordering.named))
        if shared := shared - set(statement["without"].split()):
            means = {s: sum(of[s][m] for m in shared) / len(shared) for s in ordering.named}
            ours = ", ".join(f"{scheme} {mean:.3f}" for scheme, mean in means.items())
            text, section = statement["description"], statement["section"]
            yield Claim(text, section, dataset, ours, ordering.holds(means))


def findings(
    rows: Sequence[Mapping[str, Any]], study: Study, options: Mapping[str, Any]
) -> Findings:
    """Return what the report says: the rows over seeds, beside what was published."""
    tables, schemes = correctness_tables(rows), schemes_of(options)
    columns = pa.schema(record_columns(Level).items())
    levels = [
        asdict(level) for table in tables for line in table.lines for level in line.levels.values()
    ]
    return Findings(
        {
            "correctness": tables,
            "noise": noise_of(study.rows),
            "meaning": meaning_of(ROUNDING_NOISE),
            "subsets": {"all": "all", "correct": "correct", "correct_sets": "sets all correct"},
            "claims": published_claims(
                tables, schemes, study.datasets, study.methods, study.metrics
            ),
            "classifiers": _classifiers(study, schemes),
            "reference": REFERENCE,
        },
        [Export("correctness", "Correctness of explanations", columns, levels)],
    )


def _classifiers(study: Study, schemes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return accuracy and bias of our training schemes beside the published ones."""
    classifiers = []
    for dataset, model in study.pairs:
        key = schemes.get(model, ""), study.datasets[dataset]
        if key not in accuracies():
            continue
        ours = [a.overall for a in study.accuracies if (a.dataset, a.model) == (dataset, model)]
        lines = [("Accuracy", mean_and_sd(ours), accuracies()[key])]
        for measure, name in _MEASURES.items():
            values = [
                row["value"]
                for row in study.bias.rows
                if (row["dataset"], row["model"], row["quantity"]) == (dataset, model, measure)
                and _is_published(row, study.declared(dataset).classes[1])
            ]
            lines.append((name, mean_and_sd(values), model_bias()[(*key, measure)]))
        classifiers.append({"dataset": dataset, "model": model, "scheme": key[0], "lines": lines})
    return classifiers


def _is_published(row: Mapping[str, Any], positive: str) -> bool:
    """Tell rates of the positive class over all groups, and distances of the true class."""
    if row["quantity"] == "apd":
        return bool(row["class_name"] == "")
    return bool(row["group"] == "" and row["class_name"] == positive)
