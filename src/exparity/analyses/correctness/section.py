"""Explanation performance over seeds, beside what was published of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
from exparity.core.grouping import grouped
from exparity.published.expressions import parse_ordering
from exparity.published.study import Key, load_study, published_table
from exparity.report.flags import ROUNDING_NOISE, meaning_of, noise_of
from exparity.report.reading import mean_and_sd

if TYPE_CHECKING:
    from exparity.report.gather import Study

_IDS = ("dataset", "model", "method", "metric", "subset", "group")
_STUDY, _DATASETS = "gecobench2024", ("geco_all", "geco_subj")
_MEASURES = {
    "accuracy": "Accuracy",
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
class CorrectnessTable:
    """One metric on one dataset.

    Attributes:
        best_first: its methods; the highest mean over models comes first.
        levels: by (model, method, subset, group); group "" is all.
        ranks: by (model, method), the method's place among those of the model by the mean on
            correct examples; None where it has none.
    """

    dataset: str
    metric: str
    groups: tuple[str, ...]
    models: Sequence[str]
    best_first: Sequence[str]
    levels: Mapping[tuple[str, str, str, str], Level]
    ranks: Mapping[tuple[str, str], int | None]


@dataclass(frozen=True)
class CheckedClaim:
    """A published statement beside our results."""

    text: str
    section: str
    dataset: str
    ours: str
    holds: bool


def correctness_tables(rows: Sequence[Mapping[str, Any]]) -> list[CorrectnessTable]:
    """Average the correctness artefact over seeds: a table per dataset and metric."""
    parts = grouped(rows, itemgetter("dataset", "metric"))
    return [_table(dataset, metric, part) for (dataset, metric), part in parts.items()]


def _table(dataset: str, metric: str, rows: Sequence[Mapping[str, Any]]) -> CorrectnessTable:
    parts = grouped(rows, itemgetter("model", "method", "subset", "group"))
    levels = {key: _level(part) for key, part in parts.items()}
    means = {key[:2]: level.mean for key, level in levels.items() if key[2:] == ("correct", "")}

    def over_models(method: str) -> float:
        of_method = [m for (_, name), m in means.items() if name == method and m is not None]
        return mean_and_sd(of_method)[0] or 0.0

    def rank(model: str, own: float | None) -> int | None:
        others = [m for (name, _), m in means.items() if name == model and m is not None]
        return None if own is None else 1 + sum(other > own for other in others)

    return CorrectnessTable(
        dataset,
        metric,
        groups=rows[0]["groups"],
        models=list(dict.fromkeys(model for model, _ in means)),
        best_first=sorted(
            dict.fromkeys(method for _, method in means), key=over_models, reverse=True
        ),
        levels=levels,
        ranks={cell: rank(cell[0], own) for cell, own in means.items()},
    )


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
) -> list[CheckedClaim]:
    """Look at what GECOBench says of mass accuracy, where our grid has what it speaks of."""
    claims: list[CheckedClaim] = []
    for table in tables:
        if metrics[table.metric] != "mass_accuracy" or datasets[table.dataset] not in _DATASETS:
            continue
        of: dict[str, dict[str, float]] = defaultdict(dict)
        for model, method in table.ranks:
            mean = table.levels[model, method, "correct", ""].mean
            if model in schemes and mean is not None:
                of[schemes[model]].setdefault(methods[method], mean)
        for scheme, means in of.items():
            claims += _of_methods(table.dataset, scheme, means)
        claims += _of_schemes(table.dataset, datasets[table.dataset], of)
    return claims


def _of_methods(dataset: str, scheme: str, means: Mapping[str, float]) -> Iterator[CheckedClaim]:
    """Yield the statements on the methods of a scheme; of those on the best one, the first."""
    best_named = False
    for statement in _statements("methods"):
        ordering = parse_ordering(statement["ordering"])
        applies = statement["scheme"] in ("", scheme) and set(ordering.named) < means.keys()
        if not applies or (best_named and ordering.above):
            continue
        best_named = best_named or bool(ordering.above)
        order = sorted(means, key=lambda method: -means[method])
        places = [order.index(method) for method in ordering.named]
        if ordering.above:
            order = order[: 1 + max(*places, len(places))]
        else:
            order = order[min(*places, len(order) - 1 - len(places)) :]
        ours = " > ".join(f"{method} {means[method]:.3f}" for method in order)
        text = f"{scheme}: {statement['description']}"
        yield CheckedClaim(text, statement["section"], dataset, ours, ordering.holds(means))


def _of_schemes(
    dataset: str, registered: str, of: Mapping[str, Mapping[str, float]]
) -> Iterator[CheckedClaim]:
    """Yield the statements on schemes: on their mean over the methods that all of them have."""
    for statement in _statements("schemes"):
        ordering = parse_ordering(statement["ordering"])
        if registered != statement["dataset"] or not of.keys() >= set(ordering.named):
            continue
        shared = set.intersection(*(set(of[scheme]) for scheme in ordering.named))
        if shared := shared - set(statement["without"].split()):
            means = {s: sum(of[s][m] for m in shared) / len(shared) for s in ordering.named}
            ours = ", ".join(f"{scheme} {mean:.3f}" for scheme, mean in means.items())
            text, section = statement["description"], statement["section"]
            yield CheckedClaim(text, section, dataset, ours, ordering.holds(means))


def findings(
    rows: Sequence[Mapping[str, Any]], study: Study, options: Mapping[str, Any]
) -> Findings:
    """Return what the report says: the rows over seeds, beside what was published."""
    tables, schemes = correctness_tables(rows), schemes_of(options)
    levels = [level for table in tables for level in table.levels.values()]
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
            "reference": load_study(_STUDY).reference,
        },
        [Export.of("correctness", "Correctness of explanations", Level, levels)],
    )


def _statements(ranked: str) -> list[dict[str, str]]:
    """Return what is said of mass accuracy of ``methods`` or ``schemes``, printed in figures."""
    return [row for row in published_table(_STUDY, "claims") if row["ranked"] == ranked]


def schemes_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return our models that are a published training scheme, by id."""
    schemes = {key.model for key in load_study(_STUDY).values if key.model}
    return {model: known for model, known in options.get("models", ()) if known in schemes}


def _classifiers(study: Study, schemes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return accuracy and bias of our training schemes beside the published ones."""
    classifiers, printed = [], load_study(_STUDY).values
    for dataset, model in study.pairs:
        scheme, lines = schemes.get(model, ""), []
        for measure, name in _MEASURES.items():
            theirs = printed.get(Key(study.datasets[dataset], scheme, metric=measure))
            if theirs is None:
                continue
            of = {"dataset": dataset, "model": model, "quantity": measure, "class_name": ""}
            if measure != "apd":  # a rate over all groups, of the positive class
                of |= {"group": "", "class_name": study.declared(dataset).classes[1]}
            values = [row["value"] for row in study.bias.rows if of.items() <= row.items()]
            if measure == "accuracy":
                own = [a for a in study.accuracies if (a.dataset, a.model) == (dataset, model)]
                values = [a.overall for a in own]
            lines.append((name, mean_and_sd(values), theirs))
        if lines:
            about = {"dataset": dataset, "model": model, "scheme": scheme}
            classifiers.append(about | {"lines": lines})
    return classifiers
