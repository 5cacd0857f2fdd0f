"""What the flags of tests mean, in words for readers of the report."""

from __future__ import annotations

MEANINGS = {
    "constant": "all scores are equal, so there is nothing to compare",
    "interval_none": "the effect size has no bootstrap interval",
    "interval_percentile": "the interval is by percentiles; its bias correction is undefined",
    "no_variance": "each group's scores are constant and differ, so that d is infinite",
    "rounding_noise": "the attributions are zero in exact arithmetic for this model, and what was "
    "scored are rounding errors; do not interpret these rows",
    "too_few": "a group has fewer than two defined scores",
    "undefined_values": "the metric is undefined for some examples, which were left out",
}


def meaning_of(flag: str) -> str:
    """Return what a flag means; flags of plug-ins speak for themselves."""
    return MEANINGS.get(flag, flag.replace("_", " "))
