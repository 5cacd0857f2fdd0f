"""Published studies as data: one table of values, and how to read it.

A study is ``resources/published/{kind}/{id}.yaml`` and the tables ``{id}_*.csv`` above it, which
keep what is printed. Where printed labels contradict each other, one table says which label is
used; ``resources/published/README.md`` has the evidence. A table that a study does not have is
empty.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from exparity.core.errors import require_known
from exparity.core.strict import read_yaml
from exparity.resources import resource

KINDS = {path.stem: path.parent.name for path in sorted(resource("published").glob("*/*.yaml"))}
"""Ids of the studies, to what they publish: ``cells`` of a grid, ``gaps`` of classifiers, or
other ``values``."""
SCRATCH = "_scratch"
"""End of the id of a published model that was trained from scratch."""
_COLUMNS = {
    "dataset": "{dataset}",
    "model": "{model}",
    "method": "{method}",
    "metric": "{metric}",
    "class_name": "{occupation}",
    "mean": "{mean}",
    "sd": "{std}",
    "runs": "{runs}",
    "unit": "{unit}",
    "table": "Table {table}",
}
_UNITS = {"percent": 0.01, "1e-2": 0.01}


class Key(NamedTuple):
    """Ids of the cell of a value, as its study has them; empty where it is of all of a kind."""

    dataset: str
    model: str = ""
    method: str = ""
    metric: str = ""
    class_name: str = ""


@dataclass(frozen=True)
class Value:
    """A mean over runs, published or our own; of a cell, that of Cohen's d over significant runs.

    Attributes:
        key: what it is of.
        mean, sd: mean and standard deviation; None if not printed. Rates and gaps are shares.
        runs: how many.
        table: where it, or a cell's count, is printed.
        significant: significant runs of a cell.
        considerable: whether a cell's effect counts as considerable; None if not published.
        effect_table, effect_label: where a cell's mean is printed, and under which metric.
    """

    key: Key
    mean: float | None
    sd: float | None
    runs: int
    table: str = ""
    significant: int = 0
    considerable: bool | None = None
    effect_table: str | None = None
    effect_label: str | None = None


@dataclass(frozen=True)
class PublishedStudy:
    """A study's published numbers.

    Attributes:
        id, reference: its id, and authors, title and where to find it.
        groups: first and second group; effects and gaps are first minus second.
        cells: of a grid, by dataset, model, method and metric.
        values: all other numbers.
        facts: what else its file says, such as which of our ids stand for which published ones.
    """

    id: str
    reference: str
    groups: tuple[str, ...]
    cells: Mapping[Key, Value]
    values: Mapping[Key, Value]
    facts: Mapping[str, Any]

    def sign(self, group_a: str, group_b: str) -> int:
        """Return 1 for groups in the order of the study, −1 in the other; 0 for other groups."""
        return {self.groups: 1, self.groups[::-1]: -1}.get((group_a, group_b), 0)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the ids of its cells' ``dataset``, ``model``, ``method`` or ``metric``."""
        return tuple(dict.fromkeys(getattr(key, kind) for key in self.cells))


def published_table(study: str, name: str) -> list[dict[str, str]]:
    """Read one of a study's tables as text; no rows if it has no such table."""
    path = resource("published") / f"{study}_{name}.csv"
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def load_study(id: str) -> PublishedStudy:
    """Load a study from the shipped tables; an unknown one is an InputError."""
    require_known(id, KINDS, f"no published study '{id}' here")
    facts = read_yaml(resource("published") / KINDS[id] / f"{id}.yaml")
    values: dict[Key, Value] = {}
    for form in facts["tables"]:
        for value in _values(published_table(id, form["name"]), form):
            values.setdefault(value.key, value)
    return PublishedStudy(
        id=id,
        reference=facts["reference"],
        groups=tuple(facts.get("groups", ())),
        cells=_cells(id, facts) if "counts" in facts else {},
        values=values,
        facts=facts,
    )


def check_models(
    models: Mapping[str, str], published: Sequence[str], ours: Collection[str] | None = None
) -> None:
    """Refuse models that the study or results (where they are known) do not have."""
    for mine, theirs in models.items():
        for whose, id, known in (("results have", mine, ours), ("study has", theirs, published)):
            if known is not None:
                require_known(id, known, f"--map {mine}={theirs}: the {whose} no model '{id}'")


def _values(rows: Sequence[Mapping[str, str]], form: Mapping[str, Any]) -> Iterator[Value]:
    """Yield the numbers of a table; ``form`` names what its columns do not."""
    only = form.get("only", {})
    form = {name: form.get(name, _COLUMNS[name]) for name in _COLUMNS}
    for row in rows:
        if only.items() <= row.items():
            texts = defaultdict(str, row)
            texts_of_row = {name: text.format_map(texts) for name, text in form.items()}
            unit = _UNITS.get(texts_of_row["unit"], 1.0)
            sd = unit * float(texts_of_row["sd"]) if texts_of_row["sd"] else None
            key = Key(*(texts_of_row[kind] for kind in Key._fields))
            mean = unit * float(texts_of_row["mean"])
            yield Value(key, mean, sd, int(texts_of_row["runs"] or 1), texts_of_row["table"])


def _cells(id: str, facts: Mapping[str, Any]) -> dict[Key, Value]:
    """Join counts and effect sizes of all cells of a grid, by the labels that are used."""
    used = {(row["table"], row["printed"]): row["metric"] for row in published_table(id, "labels")}
    counts: dict[Key, Mapping[str, str]] = {}
    effects: dict[Key, Mapping[str, str]] = {}
    for row in published_table(id, "disparity"):
        table = row["table"]
        printed = row["metric"]
        model = row["model"] + (SCRATCH if row["training"] == "scratch" else "")
        if table in facts["counts"]:
            counts[Key(row["dataset"], model, row["method"], printed)] = row
        if table in facts["effects"]:
            metric = used.get((table, printed), printed)
            effects[Key(row["dataset"], model, row["method"], metric)] = row
    return {
        key: _cell(key, row, effects.get(key, {}), facts["threshold"])
        for key, row in counts.items()
    }


def _number(text: str | None) -> float | None:
    """Return the number in a cell of a table; None where the cell is empty."""
    return float(text) if text else None


def _cell(key: Key, counts: Mapping[str, str], effect: Mapping[str, str], least: float) -> Value:
    mean = _number(effect.get("effect_size_mean"))
    sd = _number(effect.get("effect_size_std"))
    significant = int(counts["significant_runs"])
    considerable = None if mean is None else abs(mean) >= least
    return Value(
        key,
        mean,
        sd,
        int(counts["total_runs"]),
        counts["table"],
        significant,
        considerable if significant else False,  # without a significant run nothing could count
        effect.get("table"),
        effect.get("metric"),
    )
