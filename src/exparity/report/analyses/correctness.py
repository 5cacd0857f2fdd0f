"""Explanation performance over seeds, beside what was published of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.report.analyses.gecobench import DATASETS
from exparity.report.analyses.reading import mean_and_sd

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
    text = " > ".join(f"{method} {means[method]:.3f}" for method in order)
    found = []
    if scheme == "ola_cea" and set(TOP) < set(order):
        found.append(
            Claim(f"{scheme}: {TOP[0]} and {TOP[1]} are the two best methods", "3.1", dataset,
                  text, set(order[:2]) == set(TOP))
        )  # fmt: skip
    elif TOP[0] in order and len(order) > 1:
        found.append(
            Claim(f"{scheme}: no method reaches {TOP[0]}", "3.1", dataset, text,
                  order[0] == TOP[0])
        )  # fmt: skip
    if RANDOM in order and len(order) > 1:
        found.append(
            Claim(f"{scheme}: no method is below {RANDOM}", "3.1", dataset, text,
                  order[-1] == RANDOM)
        )  # fmt: skip
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
