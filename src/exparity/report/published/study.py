"""A published study as data: its cells, claims, model bias and model sizes.

The shipped tables keep what is printed. Where printed labels contradict each other, a second file
says which label is used; ``resources/published/README.md`` has the evidence.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from exparity.core.errors import InputError, did_you_mean
from exparity.resources import resource

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class StudyFacts:
    """What is to be known of a study beside its tables.

    Attributes:
        reference: authors, title and where to find it.
        groups: first and second group; effects are first minus second.
        alpha: largest p-value that counts as significant.
        threshold: |d| from which an effect counts as considerable.
        counts: tables with counts of significant runs, labels as used.
        effects: tables with the effect sizes of the same runs.
    """

    reference: str
    groups: tuple[str, str]
    alpha: float
    threshold: float
    counts: tuple[str, ...]
    effects: tuple[str, ...]


STUDIES = {
    "dhaini2025": StudyFacts(
        reference="Dhaini et al. 2025, Gender Bias in Explainability, arXiv:2505.01198",
        groups=("male", "female"),
        alpha=0.05,
        threshold=0.2,
        counts=("3", "4", "5"),
        effects=("8", "9", "10", "11"),
    ),
}


@dataclass(frozen=True)
class PublishedCell:
    """One published cell: all runs of a (dataset, model, method, metric).

    Attributes:
        dataset: id of the dataset.
        model: id of the model; ends in ``_scratch`` where it was trained from scratch.
        method: id of the explanation method.
        metric: id of the metric, with the labels that are used.
        table: table with the count.
        significant: significant runs.
        total: all runs.
        mean_d: mean Cohen's d over the significant runs; None if not printed.
        sd_d: its standard deviation over them; None if not printed.
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
    def scratch(self) -> bool:
        """Return whether the model was trained from scratch."""
        return self.model.endswith(SCRATCH)


@dataclass(frozen=True)
class Claim:
    """One numeric statement of a study's text."""

    id: str
    description: str
    printed: str
    unit: str
    section: str


@dataclass(frozen=True)
class PublishedStudy:
    """A study's published numbers.

    Attributes:
        id: id of the study.
        facts: how to read it.
        cells: by dataset, model, method and metric.
        claims: statements of its text.
        bias: (mean, standard deviation) by dataset, model and quantity.
        parameters: number of parameters by model.
    """

    id: str
    facts: StudyFacts
    cells: Mapping[Key, PublishedCell]
    claims: Sequence[Claim]
    bias: Mapping[tuple[str, str, str], tuple[float, float]]
    parameters: Mapping[str, int]

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the ids of its ``dataset``, ``model``, ``method`` or ``metric``, as printed."""
        return tuple(dict.fromkeys(getattr(cell, kind) for cell in self.cells.values()))


SCRATCH = "_scratch"


def read_rows(name: str) -> list[dict[str, str]]:
    """Read one of the shipped tables as text."""
    path: Path = resource("published") / name
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def load_study(id: str) -> PublishedStudy:
    """Load a study from the shipped tables.

    Raises:
        InputError: no such study.
    """
    if id not in STUDIES:
        raise InputError(f"no published study '{id}' here; {did_you_mean(id, STUDIES)}")
    facts = STUDIES[id]
    return PublishedStudy(
        id=id,
        facts=facts,
        cells=_cells(id, facts),
        claims=[
            Claim(row["claim_id"], row["description"], row["value"], row["unit"], row["section"])
            for row in read_rows(f"{id}_claims.csv")
        ],
        bias={
            (row["dataset"], row["model"], row["metric"]): (float(row["mean"]), float(row["std"]))
            for row in read_rows(f"{id}_bias.csv")
        },
        parameters={row["model"]: int(row["num_params"]) for row in read_rows(f"{id}_models.csv")},
    )


def _cells(id: str, facts: StudyFacts) -> dict[Key, PublishedCell]:
    used = {(row["table"], row["printed"]): row["metric"] for row in read_rows(f"{id}_labels.csv")}
    rows = read_rows(f"{id}_disparity.csv")
    effects = {}
    for row in rows:
        if row["table"] in facts.effects:
            metric = used.get((row["table"], row["metric"]), row["metric"])
            effects[_key(row, metric)] = row
    cells = {}
    for row in rows:
        if row["table"] in facts.counts:
            key = _key(row, row["metric"])
            cells[key] = _cell(key, row, effects.get(key), facts.threshold)
    return cells


def _key(row: Mapping[str, str], metric: str) -> Key:
    model = row["model"] + (SCRATCH if row["training"] == "scratch" else "")
    return row["dataset"], model, row["method"], metric


def _cell(
    key: Key, counts: Mapping[str, str], effect: Mapping[str, str] | None, threshold: float
) -> PublishedCell:
    significant = int(counts["significant_runs"])
    printed = effect["effect_size_mean"] if effect else ""
    mean_d = float(printed) if printed else None
    considerable = None if mean_d is None else abs(mean_d) >= threshold
    return PublishedCell(
        *key,
        table=counts["table"],
        significant=significant,
        total=int(counts["total_runs"]),
        mean_d=mean_d,
        sd_d=float(effect["effect_size_std"]) if effect and printed else None,
        effect_table=effect["table"] if effect else None,
        effect_label=effect["metric"] if effect else None,
        # Without a significant run there is no effect that could count.
        considerable=considerable if significant else False,
    )
