"""Which explanations the page shows: a sample of matched sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def matched_sets(examples: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return example ids by matched set; an example without one is a set of its own."""
    sets: dict[str, list[str]] = {}
    for id, row in examples.items():
        key = f"example {id}" if row["match_id"] is None else f"set {row['match_id']}"
        sets.setdefault(key, []).append(id)
    return sets


def choose_sets(
    sets: Mapping[str, Sequence[str]],
    explained: Mapping[str, set[str]],
    values: Mapping[tuple[str, str], Mapping[str, float]],
    limit: int,
) -> list[str]:
    """Choose the sets to show: half have the largest disparity, half are spread evenly.

    Sets that every method has explained come first, so that any two methods can be compared. The
    disparity of a set is the mean, over methods and metrics, of the largest difference between its
    members in standard deviations of that score. For a single example it is the distance from
    the mean.

    Args:
        sets: example ids by set.
        explained: ids that each method has explained.
        values: scores by method and metric, then by id.
        limit: how many at most.

    Returns:
        Names of sets, largest disparity first.
    """
    spread = {
        key: (float(np.mean(finite)), float(np.std(finite)))
        for key, of_cell in values.items()
        if (finite := [x for x in of_cell.values() if np.isfinite(x)])
    }

    def disparity(name: str) -> float:
        differences = []
        for key, (mean, sd) in spread.items():
            of_set = [values[key].get(id, np.nan) for id in sets[name]]
            of_set = [x for x in of_set if np.isfinite(x)]
            if not sd or not of_set or len(of_set) < len(sets[name]):
                continue
            low, high = min(of_set), max(of_set)
            differences.append((high - low if len(of_set) > 1 else abs(high - mean)) / sd)
        return float(np.mean(differences)) if differences else 0.0

    complete = {
        name: sum(all(id in ids for id in sets[name]) for ids in explained.values())
        for name in sets
    }
    most = max(complete.values(), default=0)
    candidates = [name for name in sets if complete[name] == most]
    if len(candidates) < limit:
        rest = sorted((n for n in sets if n not in set(candidates)), key=lambda n: -complete[n])
        candidates += rest[: limit - len(candidates)]
    of = {name: disparity(name) for name in candidates}
    ranked = sorted(candidates, key=lambda name: (-of[name], name))
    top, rest = ranked[: (limit + 1) // 2], ranked[(limit + 1) // 2 :]
    places = np.linspace(0, len(rest) - 1, min(limit // 2, len(rest))).round().astype(int)
    return top + [rest[place] for place in sorted(set(places.tolist()))]
