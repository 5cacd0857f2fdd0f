"""Explanation performance over seeds, and published classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema
from exparity.core.grouping import grouped
from exparity.published.study import Key, load_study
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd
from exparity.report.verdicts import ROUNDING_NOISE, meaning_of, noise_of

_IDS = ("dataset", "model", "method", "metric", "subset", "group")
_COLUMNS = plain_schema(f"{' '.join(_IDS)}: string", "mean sd: float64", "n undefined: int64")
_STUDY = "gecobench2024"
_MEASURES = {
    "accuracy": "Accuracy",
    "tpr": "True positive rate",
    "tnr": "True negative rate",
    "apd": "Average prediction difference",
}


def correctness_tables(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Average the correctness artefact over seeds: a table per dataset and metric.

    Its methods are ``best_first``: the highest mean over models. Its ``levels`` are by (model,
    method, subset, group); the group "" is all.
    """
    return [_table(part) for part in grouped(rows, itemgetter("dataset", "metric")).values()]


def _table(rows: Sequence[Row]) -> dict[str, Any]:
    parts = grouped(rows, itemgetter("model", "method", "subset", "group"))
    levels = {key: _level(part) for key, part in parts.items()}
    means = {key[:2]: level["mean"] for key, level in levels.items() if key[2:] == ("correct", "")}

    def over_models(method: str) -> float:
        model_means = [m for (_, name), m in means.items() if name == method and m is not None]
        return mean_and_sd(model_means)[0] or 0.0

    methods = dict.fromkeys(method for _, method in means)
    return {
        **{name: rows[0][name] for name in ("dataset", "metric", "groups")},
        "models": list(dict.fromkeys(model for model, _ in means)),
        "best_first": sorted(methods, key=over_models, reverse=True),
        "levels": levels,
    }


def _level(rows: Sequence[Row]) -> dict[str, Any]:
    """Return mean and standard deviation of the seeds' means, and the numbers of all scores."""
    mean, sd = mean_and_sd([row["mean"] for row in rows])
    ids = {name: rows[0][name] for name in _IDS}
    return {
        **ids,
        "mean": mean,
        "sd": sd,
        "n": sum(row["n"] for row in rows),
        "undefined": sum(row["n_undefined"] for row in rows),
    }


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: explanation performance over seeds, and published classifiers."""
    tables = correctness_tables(rows)
    levels = [level for table in tables for level in table["levels"].values()]
    return Findings(
        {
            "correctness": tables,
            "noise": noise_of(study.rows),
            "meaning": meaning_of(ROUNDING_NOISE),
            "subsets": {"all": "all", "correct": "correct", "correct_sets": "sets all correct"},
            "classifiers": _classifiers(study),
            "reference": load_study(_STUDY).reference,
        },
        [Export("correctness", "Correctness of explanations", _COLUMNS, levels)],
    )


def _classifiers(study: Study) -> list[dict[str, Any]]:
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
            about = {"dataset": dataset, "model": model, "scheme": scheme}
            classifiers.append(about | {"lines": lines})
    return classifiers
