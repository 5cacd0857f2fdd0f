"""Which of our cells stands beside which published one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.errors import InputError, did_you_mean
from exparity.published.study import PublishedCell, PublishedStudy
from exparity.stats.seeds import SeedCounts, count_seeds

IDS = ("dataset", "model", "method", "metric")
# By kind: our id to the published one.
Names = Mapping[str, Mapping[str, str]]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Match:
    """One of our cells beside the published one.

    Attributes:
        ids: our ids of dataset, model, method and metric; ``theirs`` has the published ones.
        ours: our seeds, counted as the study counts.
        n_examples: fewest examples that a test of the cell used.
        theirs: the published cell.
    """

    ids: tuple[str, str, str, str]
    ours: SeedCounts
    n_examples: int
    theirs: PublishedCell


def match_names(
    rows: Sequence[Row],
    study: PublishedStudy,
    options: Mapping[str, Any],
    models: Mapping[str, str],
) -> Names:
    """Say which of our ids stand for a published one.

    An id does if its instance uses the published id and is called so, or is the only one that uses
    it. Models can be named one by one.
    """
    names: dict[str, dict[str, str]] = {kind: {} for kind in IDS}
    for kind in IDS:
        known = dict(options.get(f"{kind}s") or {})
        used = {row[kind]: str(known.get(row[kind]) or row[kind]) for row in rows}
        for published in study.names(kind):
            candidates = [ours for ours, registered in used.items() if registered == published]
            if published in candidates:
                names[kind][published] = published
            elif len(candidates) == 1:
                names[kind][candidates[0]] = published
    sides = ("results have", {row["model"] for row in rows}), ("study has", study.names("model"))
    for mine, published in models.items():
        for id, (whose, models_there) in zip((mine, published), sides, strict=True):
            if id not in models_there:
                raise InputError(
                    f"--map {mine}={published}: the {whose} no model '{id}'; "
                    f"{did_you_mean(id, models_there)}"
                )
    names["model"].update(models)
    return names


def match_cells(
    rows: Sequence[Row], study: PublishedStudy, names: Names
) -> tuple[list[Match], list[tuple[str, str]]]:
    """Put our cells beside the published ones.

    Significance is decided with the study's α and considerable effects with its threshold,
    whatever our config says.
    """
    grouped: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    left_out: set[tuple[str, str]] = set()
    for row in rows:
        pair = row["group_a"], row["group_b"]
        sign = {study.groups: 1, study.groups[::-1]: -1}.get(pair)
        unknown = {(kind, row[kind]) for kind in IDS if row[kind] not in names[kind]}
        if sign is None:
            unknown.add(("groups", " and ".join(pair)))
        if unknown or sign is None:
            left_out |= unknown
            continue
        significant = row["p"] <= study.alpha  # False where p is NaN
        grouped[tuple(row[kind] for kind in IDS)].append(
            {**row, "cohens_d": sign * row["cohens_d"], "significant": significant}
        )
    matches = []
    for (dataset, model, method, metric), tests in grouped.items():
        key = (names["dataset"][dataset], names["model"][model])
        theirs = study.cells.get((*key, names["method"][method], names["metric"][metric]))
        if theirs is None:
            left_out.add(("model", f"{model} on {dataset}"))
            continue
        ours = count_seeds(tests, study.threshold)
        fewest = min(test["n_examples"] for test in tests)
        matches.append(Match((dataset, model, method, metric), ours, fewest, theirs))
    order = {key: position for position, key in enumerate(study.cells)}
    matches.sort(key=lambda match: (order[match.theirs.key], match.ids))
    return matches, sorted(left_out)
