"""What the flags of tests mean, in words for readers of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

ROUNDING_NOISE = "rounding_noise"

MEANINGS = {
    "collapsed": "the classifier predicts one class for every test example, so that these rows say "
    "nothing about explanations of a working one",
    "constant": "all scores are equal, so there is nothing to compare",
    "interval_none": "the effect size has no bootstrap interval",
    "interval_percentile": "the interval is by percentiles; its bias correction is undefined",
    "no_differences": "the scores of every matched set are equal, so that the signed-rank test has "
    "nothing to compare",
    "no_examples": "there is no example to compute it from, such as no positive of a group",
    "no_pairs": "no matched set has members of both groups",
    "no_variance": "each group's scores are constant and differ, so that d is infinite",
    "not_drawn": "no permutations were asked for",
    ROUNDING_NOISE: "the attributions are zero in exact arithmetic for this model, and what was "
    "scored are rounding errors; do not interpret these rows",
    "too_few": "a group has fewer than two defined scores",
    "undefined_values": "the metric is undefined for some examples, which were left out",
}


def noise_of(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    """Return (dataset, model, method) of the tests whose attributions are rounding errors."""
    return {
        (row["dataset"], row["model"], row["method"])
        for row in rows
        if ROUNDING_NOISE in row["flags"]
    }


def meaning_of(flag: str) -> str:
    """Return what a flag means; flags of plug-ins speak for themselves."""
    return MEANINGS.get(flag, flag.replace("_", " "))
