"""Explanation performance over seeds, beside what was published of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
from exparity.published.gecobench import DATASETS, REFERENCE, accuracies, model_bias, schemes_of
from exparity.report.flags import ROUNDING_NOISE, meaning_of, noise_of
from exparity.report.reading import mean_and_sd

if TYPE_CHECKING:
    from exparity.report.gather import Study

_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_COLUMNS = pa.schema({
    "dataset": _TEXT, "model": _TEXT, "method": _TEXT, "metric": _TEXT, "subset": _TEXT,
    "group": _TEXT, "mean": _FLOAT, "sd": _FLOAT, "n": _INT, "undefined": _INT,
})  # fmt: skip
_MEASURES = {
    "tpr": "True positive rate",
    "tnr": "True negative rate",
    "apd": "Average prediction difference",
}
TOP = ("pattern_variant", "gradient_x_input")
RANDOM = "uniform_random"
TUNED, FIXED = ("bert_ce", "bert_cef"), ("bert_c", "bert_cefaf")


@dataclass(frozen=True)
class Level:
    """A metric's mean over some examples, over seeds.

    Attributes:
        mean: mean of the seeds' means; None where no seed has one.
        sd: their standard deviation; None for fewer than two.
        n: scores behind it, of all seeds.
        undefined: scores that are not defined, of all seeds.
    """

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
            found = [_of_correct(line.levels) for line in of[method].values()]
            return mean_and_sd([m for m in found if m is not None])[0] or 0.0

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
    found = {cell: {key: _level(part) for key, part in parts.items()}
             for cell, parts in cells.items()}  # fmt: skip
    lines = []
    for (model, method), summary in found.items():
        means = [_of_correct(other) for (m, _), other in found.items() if m == model]
        own = _of_correct(summary)
        rank = None if own is None else 1 + sum(x is not None and x > own for x in means)
        lines.append(Line(model, method, summary, rank))
    return lines


def _of_correct(levels: Mapping[tuple[str, str], Level]) -> float | None:
    level = levels.get(("correct", ""))
    return None if level is None else level.mean


def _level(rows: Sequence[Mapping[str, Any]]) -> Level:
    mean, sd = mean_and_sd([row["mean"] for row in rows])
    return Level(mean, sd, sum(r["n"] for r in rows), sum(r["n_undefined"] for r in rows))


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
            claims += _of_one_scheme(table.dataset, scheme, means)
        if datasets[table.dataset] == "geco_all":
            claims += _of_embeddings(table.dataset, of)
    return claims


def _of_one_scheme(dataset: str, scheme: str, means: Mapping[str, float]) -> list[Claim]:
    order = sorted(means, key=lambda method: -means[method])

    def claim(text: str, shown: Sequence[str], holds: bool) -> Claim:
        ours = " > ".join(f"{method} {means[method]:.3f}" for method in shown)
        return Claim(f"{scheme}: {text}", "3.1", dataset, ours, holds)

    found = []
    best, second = TOP
    if scheme == "ola_cea" and {best, second} < set(order):
        holds = set(order[:2]) == {best, second}
        last = 1 + max(order.index(best), order.index(second), 2)
        text = f"{best} and {second} are the two best methods"
        found.append(claim(text, order[:last], holds))
    elif best in order and len(order) > 1:
        last = 1 + max(order.index(best), 1)
        text = f"no method reaches {best}"
        found.append(claim(text, order[:last], order[0] == best))
    if RANDOM in order and len(order) > 1:
        first = min(order.index(RANDOM), len(order) - 2)
        text = f"no method is below {RANDOM}"
        found.append(claim(text, order[first:], order[-1] == RANDOM))
    return found


def _of_embeddings(dataset: str, of: Mapping[str, Mapping[str, float]]) -> list[Claim]:
    """Compare schemes by their mean over the methods that all of them have."""
    if not all(scheme in of for scheme in (*TUNED, *FIXED)):
        return []
    shared = set.intersection(*(set(of[scheme]) for scheme in (*TUNED, *FIXED)))
    shared -= {TOP[0], RANDOM}
    if not shared:
        return []
    means = {s: sum(of[s][m] for m in shared) / len(shared) for s in (*TUNED, *FIXED)}
    text = ", ".join(f"{scheme} {mean:.3f}" for scheme, mean in means.items())
    holds = min(means[s] for s in TUNED) > max(means[s] for s in FIXED)
    claim = "tuning the embeddings alone beats fixed embeddings and tuning all"
    return [Claim(f"{claim} (mean over methods)", "3.1", dataset, text, holds)]


def findings(
    rows: Sequence[Mapping[str, Any]], study: Study, options: Mapping[str, Any]
) -> Findings:
    """Return what the report says: the rows over seeds, beside what was published."""
    tables, schemes = correctness_tables(rows), schemes_of(options)
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
        [Export("correctness", "Correctness of explanations", _COLUMNS, _export(tables))],
    )


def _export(tables: Sequence[CorrectnessTable]) -> list[dict[str, Any]]:
    return [
        {
            "dataset": table.dataset, "model": line.model, "method": line.method,
            "metric": table.metric, "subset": subset, "group": group, **asdict(level),
        }
        for table in tables
        for line in table.lines
        for (subset, group), level in line.levels.items()
    ]  # fmt: skip


def _classifiers(study: Study, schemes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return accuracy and bias of our training schemes beside the published ones."""
    found = []
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
        found.append({"dataset": dataset, "model": model, "scheme": key[0], "lines": lines})
    return found


def _is_published(row: Mapping[str, Any], positive: str) -> bool:
    """Tell rates of the positive class over all groups, and distances of the true class."""
    if row["quantity"] == "apd":
        return bool(row["class_name"] == "")
    return bool(row["group"] == "" and row["class_name"] == positive)
