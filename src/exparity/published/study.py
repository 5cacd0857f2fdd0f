"""A published study as data: how to read it, its cells, claims, model bias and model sizes.

A study is ``resources/published/{id}.yaml`` and the tables ``{id}_*.csv`` beside it, which keep
what is printed. Where printed labels contradict each other, one table says which label is used;
``resources/published/README.md`` has the evidence. A table that a study does not have is empty.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from exparity.core.errors import InputError, did_you_mean
from exparity.core.strict import read_yaml
from exparity.published.expressions import Counted, parse_counted
from exparity.resources import resource
from exparity.stats.seeds import majority

STUDIES = tuple(sorted(path.stem for path in resource("published").glob("*.yaml")))
"""Ids of the studies that results can be laid beside."""
SCRATCH = "_scratch"
"""End of the id of a published model that was trained from scratch."""

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class PublishedCell:
    """One published cell: all runs of a (dataset, model, method, metric).

    Attributes:
        dataset, method: ids.
        model: id of the model; ends in ``_scratch`` where it was trained from scratch.
        metric: id of the metric, with the labels that are used.
        table: table with the count.
        significant: significant runs.
        total: all runs.
        mean_d, sd_d: mean and standard deviation of Cohen's d over the significant runs; None if
            not printed.
        effect_table: table with the effect size; None if none has it.
        effect_label: metric under which it is printed there.
        considerable: whether the effect counts as considerable; None if that is not published.
    """

    dataset: str
    model: str
    method: str
    metric: str
    table: str
    significant: int
    total: int
    mean_d: float | None
    sd_d: float | None
    effect_table: str | None
    effect_label: str | None
    considerable: bool | None

    @property
    def key(self) -> Key:
        """Return dataset, model, method and metric."""
        return self.dataset, self.model, self.method, self.metric

    @property
    def in_most_seeds(self) -> bool:
        """Whether more than half of the runs are significant."""
        return majority(self.significant, self.total)

    @property
    def scratch(self) -> bool:
        """Return whether the model was trained from scratch."""
        return self.model.endswith(SCRATCH)

    @property
    def training(self) -> str:
        """Return ``scratch`` or ``pretrained``."""
        return "scratch" if self.scratch else "pretrained"


@dataclass(frozen=True)
class Claim:
    """One numeric statement of a study's text.

    Attributes:
        id: its id.
        description: what it says.
        printed: the number, as printed.
        unit: ``count``, ``percent`` or that of a setting.
        section: where it is printed.
        bound: whether the printed number ``is`` the value, or a strict bound ``above`` or ``below``
            which it lies.
        counted: what it counts.
    """

    id: str
    description: str
    printed: str
    unit: str
    section: str
    bound: str
    counted: Counted


@dataclass(frozen=True)
class PublishedStudy:
    """A study's published numbers.

    Attributes:
        id: id of the study.
        reference: authors, title and where to find it.
        groups: first and second group; effects are first minus second.
        alpha: largest p-value that counts as significant.
        threshold: |d| from which an effect counts as considerable.
        cells: by dataset, model, method and metric.
        claims: statements of its text.
        bias: (mean, standard deviation) by dataset, model and quantity.
        parameters: number of parameters by model.
    """

    id: str
    reference: str
    groups: tuple[str, str]
    alpha: float
    threshold: float
    cells: Mapping[Key, PublishedCell]
    claims: Sequence[Claim]
    bias: Mapping[tuple[str, str, str], tuple[float, float]]
    parameters: Mapping[str, int]

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the ids of its ``dataset``, ``model``, ``method`` or ``metric``, as printed."""
        return tuple(dict.fromkeys(getattr(cell, kind) for cell in self.cells.values()))


def published_table(study: str, name: str) -> list[dict[str, str]]:
    """Read one of a study's tables as text; no rows if it has no such table."""
    path = resource("published") / f"{study}_{name}.csv"
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def load_study(id: str) -> PublishedStudy:
    """Load a study from the shipped tables."""
    if id not in STUDIES:
        raise InputError(f"no published study '{id}' here; {did_you_mean(id, STUDIES)}")
    facts = read_yaml(resource("published") / f"{id}.yaml")
    return PublishedStudy(
        id=id,
        reference=facts["reference"],
        groups=tuple(facts["groups"]),
        alpha=facts["alpha"],
        threshold=facts["threshold"],
        cells=_cells(id, facts),
        claims=[
            Claim(
                row["claim_id"],
                row["description"],
                row["value"],
                row["unit"],
                row["section"],
                row["bound"],
                parse_counted(row["counted"], facts["sets"]),
            )
            for row in published_table(id, "claims")
        ],
        bias={
            (row["dataset"], row["model"], row["metric"]): (float(row["mean"]), float(row["std"]))
            for row in published_table(id, "bias")
        },
        parameters={row["model"]: int(row["num_params"]) for row in published_table(id, "models")},
    )


def _cells(id: str, facts: Mapping[str, Any]) -> dict[Key, PublishedCell]:
    labels = {
        (row["table"], row["printed"]): row["metric"] for row in published_table(id, "labels")
    }
    effects = {}
    for row in published_table(id, "disparity"):
        if row["table"] in facts["effects"]:
            metric = labels.get((row["table"], row["metric"]), row["metric"])
            effects[_key(row, metric)] = row
    return {
        (key := _key(row, row["metric"])): _cell(key, row, effects.get(key, {}), facts["threshold"])
        for row in published_table(id, "disparity")
        if row["table"] in facts["counts"]
    }


def _key(row: Mapping[str, str], metric: str) -> Key:
    model = row["model"] + (SCRATCH if row["training"] == "scratch" else "")
    return row["dataset"], model, row["method"], metric


def _cell(
    key: Key, counts: Mapping[str, str], effect: Mapping[str, str], threshold: float
) -> PublishedCell:
    mean_d, sd_d = (
        float(effect[name]) if effect.get("effect_size_mean") else None
        for name in ("effect_size_mean", "effect_size_std")
    )
    considerable = None if mean_d is None else abs(mean_d) >= threshold
    significant, total = int(counts["significant_runs"]), int(counts["total_runs"])
    # Without a significant run there is no effect that could count.
    considerable = considerable if significant else False
    printed = effect.get("table"), effect.get("metric")
    return PublishedCell(
        *key, counts["table"], significant, total, mean_d, sd_d, *printed, considerable
    )
