"""Published gaps of classifiers, by dataset, model and way of debiasing, and what is said of them.

Such a study is ``resources/published/gaps/{id}.yaml`` and the tables ``{id}_*.csv`` that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from exparity.core.errors import InputError, did_you_mean
from exparity.core.strict import read_yaml
from exparity.published.expressions import parse_call
from exparity.published.study import published_table
from exparity.resources import resource

GAP_STUDIES = tuple(sorted(path.stem for path in (resource("published") / "gaps").glob("*.yaml")))
"""Ids of these studies."""


class GapKey(NamedTuple):
    """What a gap is of, by the ids of its study.

    Attributes:
        dataset, model, method: ids; the method is the way of debiasing.
        metric: id of the quantity.
        class_name: the class that it is of; empty for all.
    """

    dataset: str
    model: str
    method: str
    metric: str
    class_name: str = ""


class Gap(NamedTuple):
    """A mean over runs: a share, or a difference of shares, first minus second group.

    Attributes:
        mean, sd: over runs; the latter is NaN where it is not known.
        runs: their number.
        table: where it is printed.
    """

    mean: float
    sd: float
    runs: int
    table: str = ""


Gaps = Mapping[GapKey, Gap]


@dataclass(frozen=True)
class Part:
    """What a statement says of some numbers.

    Attributes:
        dataset, model: where.
        function: what is computed: see :mod:`exparity.published.gap_claims`.
        arguments: of what: a metric, then methods, or a method and another metric.
        least, greatest: bounds that the value keeps; without them it is negative.
        digits: decimals to which the value is rounded before.
    """

    dataset: str
    model: str
    function: str
    arguments: tuple[str, ...]
    least: float | None
    greatest: float | None
    digits: int


@dataclass(frozen=True)
class GapClaim:
    """A statement of the text.

    Attributes:
        id, section, description: its id, where it is and what it says.
        all_parts: whether it does not hold if one part does not; else it holds in part.
        parts: what it says, number by number.
    """

    id: str
    section: str
    description: str
    all_parts: bool
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class GapStudy:
    """A study that measured gaps of classifiers.

    Attributes:
        id, reference: its id, and authors, title and where to find it.
        groups: gaps are first minus second.
        gaps: what is printed.
        claims: statements of its text.
        facts: how our ids and quantities stand for published ones, as in its file.
    """

    id: str
    reference: str
    groups: tuple[str, str]
    gaps: Gaps
    claims: Sequence[GapClaim]
    facts: Mapping[str, Any]


@cache
def load_gap_study(id: str) -> GapStudy:
    """Load a study from the shipped tables."""
    if id not in GAP_STUDIES:
        raise InputError(f"no published study '{id}' here; {did_you_mean(id, GAP_STUDIES)}")
    facts = read_yaml(resource("published") / "gaps" / f"{id}.yaml")
    gaps: dict[GapKey, Gap] = {}
    for name in facts["tables"]:
        for row in published_table(id, name):
            for key, gap in _gaps(row):
                gaps.setdefault(key, gap)
    claims: dict[str, list[Mapping[str, str]]] = {}
    for row in published_table(id, "claims"):
        claims.setdefault(row["claim_id"], []).append(row)
    return GapStudy(
        id,
        facts["reference"],
        tuple(facts["groups"]),
        gaps,
        [_claim(rows) for rows in claims.values()],
        facts,
    )


def _gaps(row: Mapping[str, str]) -> Iterator[tuple[GapKey, Gap]]:
    """Yield the numbers of a row of any table, as shares."""
    where = f"Table {row['table']}" if "table" in row else f"Figure {row['figure']}"
    method = row.get("method") or f"weight_{row['weight']}"
    if "sg_tpr" in row:  # a figure of one run, beside another of the mean over three
        method = "normal_once"
    if row.get("scaled_terms", "both") != "both":
        return
    if row.get("strategy") == "resample_then_cda":
        method = method.replace("_", "_then_")
    names = [row["metric"]] if "metric" in row else ["sg_tpr", "cg_tpr"]
    unit = {"share": 1.0, "percent": 0.01, "1e-2": 0.01}[row["unit"]]
    for name in names:
        mean = row.get("mean") or row.get("value") or row[name]
        key = GapKey(
            row.get("dataset", "biasbios"), row["model"], method, name, row.get("occupation", "")
        )
        sd = float(row.get("std") or "nan")
        yield key, Gap(unit * float(mean), unit * sd, int(row["runs"]), where)


def _claim(rows: Sequence[Mapping[str, str]]) -> GapClaim:
    first = rows[0]
    parts = []
    for row in rows:
        function, arguments = parse_call(row["counted"])
        least, greatest = (float(row[end]) if row[end] else None for end in ("least", "greatest"))
        digits = max(len(row[end].partition(".")[2]) for end in ("least", "greatest"))
        parts.append(
            Part(row["dataset"], row["model"], function, arguments, least, greatest, digits)
        )
    return GapClaim(
        first["claim_id"],
        first["section"],
        first["description"],
        first["says"] == "all",
        tuple(parts),
    )
