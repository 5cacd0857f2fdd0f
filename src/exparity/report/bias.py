"""Model bias over seeds: the published table (Dhaini et al. 2025, Table 7), extended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import yaml

from exparity.core.grouping import grouped
from exparity.report.gather import Declared, Study
from exparity.report.reading import mean_and_sd
from exparity.report.rows import ClassifierBias
from exparity.report.templating import asset

RATES = {
    "tpr": "True positive rate",
    "fpr": "False positive rate",
    "selection_rate": "Share predicted positive",
}
"""The rates whose gaps are statistical and causal, and their names."""
_OF_TABLES = yaml.safe_load(asset("bias.yaml"))
QUANTITIES: Mapping[str, str] = _OF_TABLES["bias"]
"""The quantities in the order of the tables, and their names."""
OVER_CLASSES: Mapping[str, str] = _OF_TABLES["over_classes"]
"""Those that are there where classes are more than two or counterfactuals are."""
CAUSAL_QUANTITIES: Mapping[str, str] = _OF_TABLES["causal_bias"]
"""Those that are there where counterfactuals are, in the order of their tables."""
Kind = Literal["bias", "causal_bias"]
_NAMES = {**QUANTITIES, **CAUSAL_QUANTITIES}


class BiasLine(NamedTuple):
    """Quantity in one line of a table; see :class:`~exparity.stats.predictions.BiasRow`."""

    quantity: str
    group: str
    group_b: str
    class_name: str

    @classmethod
    def of(cls, row: ClassifierBias) -> BiasLine:
        """Return the line that shows a row."""
        return cls(row.quantity, row.group, row.group_b, row.class_name)

    @property
    def signed(self) -> bool:
        """Whether the values are first group minus second; the others have no direction."""
        is_size = "_rms" in self.quantity or self.quantity == "equalised_odds_gap"
        return "_gap" in self.quantity and not is_size

    @property
    def display(self) -> str:
        """The quantity's name."""
        return _NAMES[self.quantity]

    @property
    def class_text(self) -> str:
        """The class in words."""
        if self.class_name:
            return self.class_name
        if self.quantity.startswith(("auc", "f1")):
            return "mean of classes"
        over_all = self.quantity.startswith(("accuracy", "flip_rate")) or "_rms" in self.quantity
        return "all" if over_all else "true"


@dataclass(frozen=True)
class BiasCell:
    """One quantity of one model over the seeds where it is defined."""

    mean: float | None  # None where it is nowhere defined
    sd: float | None  # dividing by n − 1; None for fewer than two
    runs: int
    undefined_runs: int
    collapsed_runs: int  # whose model predicts one class; they are in the mean


@dataclass(frozen=True)
class BiasTable:
    """The table of one dataset."""

    kind: Kind  # causal_bias: what needs counterfactuals
    dataset: str
    attribute: str
    models: Sequence[str]
    lines: Sequence[BiasLine]  # rows of the CSV
    # By quantity; of two classes only the second, and no line that is undefined for every model.
    shown: Mapping[str, Sequence[BiasLine]]
    cells: Mapping[tuple[BiasLine, str], BiasCell]

    @property
    def has_collapsed(self) -> bool:
        """Whether a seed of some model predicts one class."""
        return any(cell.collapsed_runs for cell in self.cells.values())

    @property
    def blocks(self) -> Iterator[list[list[BiasLine]]]:
        """The lines that are shown of each quantity, those of a class together."""
        for lines in self.shown.values():
            yield list(grouped(lines, lambda line: line.class_text).values())

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of groups that causal quantities compare."""
        return list(dict.fromkeys((line.group, line.group_b) for line in self.lines))

    def total(self, model: str, quantity: str, groups: tuple[str, str]) -> BiasCell:
        """Return a quantity of a model and two groups over all classes."""
        return self.cells[BiasLine(quantity, *groups, ""), model]


def bias_tables(study: Study, kind: Kind = "bias") -> list[BiasTable]:
    """Return a table per dataset, in the order of the config; causal ones need counterfactuals."""
    # Causal gaps are compared with statistical ones in a table of their own.
    quantities_if_causal = {True: QUANTITIES, False: {**QUANTITIES, **OVER_CLASSES}}
    if kind == "causal_bias":
        quantities_if_causal = {True: CAUSAL_QUANTITIES, False: {}}
    tables = []
    for dataset, models in study.models.items():
        declared = study.declared(dataset)
        rows = [row for row in study.bias if row.dataset == dataset]
        names = quantities_if_causal[any(row.quantity == "flip_rate" for row in rows)]
        measured = grouped(
            (row for row in rows if row.quantity in names),
            lambda row: (BiasLine.of(row), row.model),
        )
        if not (declared.groups and measured):
            continue
        lines = sorted({line for line, _ in measured}, key=partial(_place, declared))
        cells = {(x, m): _cell(measured.get((x, m), ())) for x in lines for m in models}
        defined = {line for (line, _), cell in cells.items() if cell.mean is not None}
        shown = (line for line in lines if line in defined and _wanted(line, declared))
        by_quantity = grouped(shown, lambda line: line.quantity)
        tables.append(
            BiasTable(kind, dataset, declared.attribute, models, lines, by_quantity, cells)
        )
    return tables


def _place(declared: Declared, line: BiasLine) -> list[int]:
    """Return the place of a line of a dataset: by quantity, class and groups, the whole first."""
    groups = ("", *declared.groups)
    return [
        list(_NAMES).index(line.quantity),
        ("", *declared.classes).index(line.class_name),
        groups.index(line.group),
        groups.index(line.group_b),
    ]


def _wanted(line: BiasLine, declared: Declared) -> bool:
    """Return whether tables show a line: of two classes the second, of probabilities the true."""
    if "apd" in line.quantity or "probability" in line.quantity:
        return not line.class_name
    return len(declared.classes) > 2 or line.class_name != declared.classes[0]


def _cell(rows: Sequence[ClassifierBias]) -> BiasCell:
    values = [row.value for row in rows if not math.isnan(row.value)]
    mean, sd = mean_and_sd(values)
    return BiasCell(
        mean=mean,
        sd=sd,
        runs=len(values),
        undefined_runs=len(rows) - len(values),
        collapsed_runs=sum("collapsed" in row.flags for row in rows),
    )
