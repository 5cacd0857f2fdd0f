"""Published studies as data: one table of values, and how to read it.

A study is ``resources/published/{kind}/{id}.yaml`` and the tables ``{id}_*.csv`` above it, which
keep what is printed. Where printed labels contradict each other, one table names the label that is
used; ``resources/published/README.md`` has the evidence. A table that a study does not have is
empty.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from exparity.artefacts.columns import records
from exparity.core.errors import require_known
from exparity.core.strict import read_yaml
from exparity.resources import resource

KINDS = {path.stem: path.parent.name for path in sorted(resource("published").glob("*/*.yaml"))}
"""Ids of the studies, to what they publish: ``cells`` of a grid, ``gaps`` of classifiers, or
other ``values``."""
SCRATCH = "_scratch"
"""End of the id of a published model that was trained from scratch."""


class _Form(NamedTuple):
    """Where a table has the parts of a value: patterns with the names of its columns."""

    dataset: str = "{dataset}"
    model: str = "{model}"
    method: str = "{method}"
    metric: str = "{metric}"
    class_name: str = "{occupation}"
    mean: str = "{mean}"
    sd: str = "{std}"
    runs: str = "{runs}"
    unit: str = "{unit}"
    table: str = "Table {table}"


@dataclass(frozen=True)
class _Label:
    """The metric that a printed label of a table means."""

    table: str
    printed: str
    metric: str


@dataclass(frozen=True)
class _Printed:
    """A row of the tables of counts and effects, as text."""

    table: str
    dataset: str
    model: str
    training: str
    method: str
    metric: str
    significant_runs: str
    total_runs: str
    effect_size_mean: str
    effect_size_std: str

    def key(self, metric: str) -> Key:
        """Return the ids of its cell under a metric."""
        model = self.model + (SCRATCH if self.training == "scratch" else "")
        return Key(self.dataset, model, self.method, metric)


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
    """A mean over runs, published or our own; a cell's is of Cohen's d over significant runs.

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
class StudyFacts:
    """Facts of a study's file, beside its tables of values.

    Attributes:
        reference: authors, title and where to find it.
        tables: how to read each table of values.
        groups: first and second group.
        alpha, threshold: level of a test, and |d| from which an effect is considerable.
        counts, effects: printed tables of a grid's counts and effect sizes.
        datasets, checkpoints: published ids by our registered datasets and by checkpoints.
        recipes: published ways of debiasing by published dataset and our recipe.
        metrics: by published metric, our ``quantity``, its ``class``, and whether it is ``mixed``.
        mixed: note on metrics that are.
    """

    reference: str
    tables: Sequence[Mapping[str, Any]]
    groups: Sequence[str] = ()
    alpha: float = 0.0
    threshold: float = 0.0
    counts: Sequence[str] = ()
    effects: Sequence[str] = ()
    datasets: Mapping[str, str] = field(default_factory=dict)
    checkpoints: Mapping[str, str] = field(default_factory=dict)
    recipes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    mixed: str = ""


@dataclass(frozen=True)
class PublishedStudy:
    """A study's published numbers.

    Attributes:
        id, reference: its id, and authors, title and where to find it.
        groups: first and second group; effects and gaps are first minus second.
        cells: of a grid, by dataset, model, method and metric.
        values: all other numbers.
        facts: what else its file says.
    """

    id: str
    reference: str
    groups: tuple[str, ...]
    cells: Mapping[Key, Value]
    values: Mapping[Key, Value]
    facts: StudyFacts

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
def load_study(name: str) -> PublishedStudy:
    """Load a study from the shipped tables; an unknown one is an InputError."""
    require_known(name, KINDS, f"no published study '{name}' here")
    facts = StudyFacts(**read_yaml(resource("published") / KINDS[name] / f"{name}.yaml"))
    values: dict[Key, Value] = {}
    for table in facts.tables:
        form = {key: pattern for key, pattern in table.items() if key not in ("name", "only")}
        rows = published_table(name, table["name"])
        for value in _values(rows, _Form(**form), table.get("only", {})):
            values.setdefault(value.key, value)
    return PublishedStudy(
        id=name,
        reference=facts.reference,
        groups=tuple(facts.groups),
        cells=_cells(name, facts) if facts.counts else {},
        values=values,
        facts=facts,
    )


def check_models(
    models: Mapping[str, str], published: Sequence[str], ours: Collection[str] | None = None
) -> None:
    """Refuse models that the study or results (where they are known) do not have."""
    for mine, theirs in models.items():
        for whose, model, model_names in (
            ("results have", mine, ours),
            ("study has", theirs, published),
        ):
            if model_names is not None:
                problem = f"--map {mine}={theirs}: the {whose} no model '{model}'"
                require_known(model, model_names, problem)


def _values(
    rows: Sequence[Mapping[str, str]], form: _Form, only: Mapping[str, str]
) -> Iterator[Value]:
    """Yield the numbers of a table, of rows that have what ``only`` says."""
    for row in rows:
        if only.items() <= row.items():
            texts = defaultdict(str, row)
            printed = _Form(*(pattern.format_map(texts) for pattern in form))
            unit = _UNITS.get(printed.unit, 1.0)
            sd = unit * float(printed.sd) if printed.sd else None
            key = Key(*(getattr(printed, kind) for kind in Key._fields))
            mean = unit * float(printed.mean)
            yield Value(key, mean, sd, int(printed.runs or 1), printed.table)


def _cells(study: str, facts: StudyFacts) -> dict[Key, Value]:
    """Join counts and effect sizes of all cells of a grid, by the labels that are used."""
    labels = records(_Label, published_table(study, "labels"))
    used = {(label.table, label.printed): label.metric for label in labels}
    counts: dict[Key, _Printed] = {}
    effects: dict[Key, _Printed] = {}
    for row in records(_Printed, published_table(study, "disparity")):
        if row.table in facts.counts:
            counts[row.key(row.metric)] = row
        if row.table in facts.effects:
            effects[row.key(used.get((row.table, row.metric), row.metric))] = row
    return {key: _cell(key, row, effects.get(key), facts.threshold) for key, row in counts.items()}


def _number(text: str) -> float | None:
    """Return the number in a cell of a table; None where the cell is empty."""
    return float(text) if text else None


def _cell(key: Key, counts: _Printed, effect: _Printed | None, least: float) -> Value:
    mean = None if effect is None else _number(effect.effect_size_mean)
    sd = None if effect is None else _number(effect.effect_size_std)
    significant = int(counts.significant_runs)
    considerable = None if mean is None else abs(mean) >= least
    return Value(
        key,
        mean,
        sd,
        int(counts.total_runs),
        counts.table,
        significant,
        considerable if significant else False,  # without a significant run nothing could count
        None if effect is None else effect.table,
        None if effect is None else effect.metric,
    )
