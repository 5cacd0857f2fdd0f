"""Matching of our cells with published ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.errors import InputError, did_you_mean
from exparity.published.study import Key, PublishedStudy, Value
from exparity.stats.seeds import SeedCounts, count_seeds

IDS = ("dataset", "model", "method", "metric")
# By kind: our id to the published one.
Names = Mapping[str, Mapping[str, str]]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class MatchedCell:
    """One of our cells, counted as the study counts, beside the published one.

    ``ids`` are ours of dataset, model, method and metric; ``n_examples`` the fewest of a test.
    """

    ids: tuple[str, str, str, str]
    ours: SeedCounts
    n_examples: int
    theirs: Value


def match_names(
    rows: Sequence[Row],
    study: PublishedStudy,
    options: Mapping[str, Any],
    models: Mapping[str, str],
) -> Names:
    """Return which of our ids stand for a published one, by kind.

    An id does if its instance uses the published id and is called so, or is the only one that uses
    it. Models can be named one by one; an unknown name is an InputError.
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
    check_map(models, {row["model"] for row in rows}, study.names("model"))
    names["model"].update(models)
    return names


def check_map(models: Mapping[str, str], ours: set[str] | None, published: Sequence[str]) -> None:
    """Refuse models that results (where they are known) or the study do not have."""
    for mine, theirs in models.items():
        for whose, id, known in (("results have", mine, ours), ("study has", theirs, published)):
            if known is not None and id not in known:
                raise InputError(
                    f"--map {mine}={theirs}: the {whose} no model '{id}'; {did_you_mean(id, known)}"
                )


def match_cells(
    rows: Sequence[Row], study: PublishedStudy, names: Names
) -> tuple[list[MatchedCell], list[tuple[str, str]]]:
    """Put our cells beside the published ones.

    Significance is decided with the study's α and considerable effects with its threshold,
    whatever our config says.

    Returns:
        All matches, in the order of the published tables; and (kind, our id) of what has no
        published counterpart: for groups, both with "and".
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
        significant = row["p"] <= study.facts["alpha"]  # False where p is NaN
        grouped[tuple(row[kind] for kind in IDS)].append(
            {**row, "cohens_d": sign * row["cohens_d"], "significant": significant}
        )
    matches = []
    for (dataset, model, method, metric), tests in grouped.items():
        ids = dataset, model, method, metric
        key = Key(*(names[kind][id] for kind, id in zip(IDS, ids, strict=True)))
        if key not in study.cells:
            left_out.add(("model", f"{model} on {dataset}"))
            continue
        ours = count_seeds(tests, study.facts["threshold"])
        fewest = min(test["n_examples"] for test in tests)
        matches.append(MatchedCell(ids, ours, fewest, study.cells[key]))
    order = {key: position for position, key in enumerate(study.cells)}
    matches.sort(key=lambda match: (order[match.theirs.key], match.ids))
    return matches, sorted(left_out)
