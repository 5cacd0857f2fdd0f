"""Model bias over seeds: the table of the published study (Dhaini et al. 2025, Table 7), extended.

It also says which runs collapsed to one class, so that other tables can mark them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.core.escaping import file_name

Run = tuple[str, str, int]
"""Dataset, model and seed of one trained classifier."""


@dataclass(frozen=True)
class Quantity:
    """How tables show a quantity.

    Attributes:
        display: its name.
        signed: True if it is first group minus second, False if it has no direction.
    """

    display: str
    signed: bool = False


QUANTITIES = {
    "accuracy": Quantity("Accuracy"),
    "accuracy_gap": Quantity("Accuracy, difference", signed=True),
    "tpr": Quantity("True positive rate"),
    "tpr_gap": Quantity("True positive rate, difference", signed=True),
    "tnr": Quantity("True negative rate"),
    "tnr_gap": Quantity("True negative rate, difference", signed=True),
    "equalised_odds_gap": Quantity("Equalised odds, larger difference"),
    "selection_rate": Quantity("Share predicted positive"),
    "selection_rate_gap": Quantity("Share predicted positive, difference", signed=True),
    "apd": Quantity("Average prediction difference, matched"),
    "apd_unpaired": Quantity("Average prediction difference, unmatched"),
    "apd_unpaired_by_chance": Quantity("Average prediction difference, unmatched, by chance"),
    "probability_gap": Quantity("Mean probability, difference", signed=True),
    "apd_by_label": Quantity("Average prediction difference, by label"),
}
"""The quantities in the order of the tables."""

# Of these the tables show the probability of the true class only; the CSV has every class.
_BY_PROBABILITY = ("apd", "apd_unpaired", "apd_unpaired_by_chance", "probability_gap")


@dataclass(frozen=True)
class Declared:
    """What a dataset declares, in its order: protected attribute, groups and classes."""

    attribute: str
    groups: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class ModelBias:
    """The bias artefacts of a grid.

    Attributes:
        rows: one mapping per row, with the ids of its cell.
        declared: what each dataset declares.
    """

    rows: Sequence[Mapping[str, Any]]
    declared: Mapping[str, Declared]


@dataclass(frozen=True)
class BiasLine:
    """What one line of a table measures; see :class:`~exparity.stats.model_bias.BiasRow`."""

    quantity: str
    group: str
    group_b: str
    class_name: str

    @property
    def signed(self) -> bool:
        """Whether the values are first group minus second."""
        return QUANTITIES[self.quantity].signed

    @property
    def display(self) -> str:
        """The quantity's name."""
        return QUANTITIES[self.quantity].display

    @property
    def class_text(self) -> str:
        """The class in words."""
        return self.class_name or ("all" if self.quantity.startswith("accuracy") else "true")


@dataclass(frozen=True)
class BiasCell:
    """One quantity of one model over its seeds.

    Attributes:
        mean: mean over the seeds where it is defined; None if there is none.
        sd: standard deviation over them, dividing by n − 1; None for fewer than two.
        runs: seeds where it is defined.
        undefined: seeds where it is not.
        collapsed: seeds whose model predicts one class; they are in the mean.
    """

    mean: float | None
    sd: float | None
    runs: int
    undefined: int
    collapsed: int


@dataclass(frozen=True)
class BiasTable:
    """The table of one dataset.

    Attributes:
        dataset: the dataset's instance.
        attribute: its protected attribute.
        models: columns.
        lines: rows of the CSV, in the order of the tables.
        shown: rows of page and LaTeX: of two classes only the second, since the first follows from
            it, and no line that is undefined for every model.
        left_out: how many lines of page and LaTeX are left out as undefined for every model.
        cells: by (line, model).
        collapsed: seeds by model that predict one class; only models with such a seed.
    """

    dataset: str
    attribute: str
    models: Sequence[str]
    lines: Sequence[BiasLine]
    shown: Sequence[BiasLine]
    left_out: int
    cells: Mapping[tuple[BiasLine, str], BiasCell]
    collapsed: Mapping[str, Sequence[int]]

    @property
    def name(self) -> str:
        """File name without suffix."""
        return file_name("bias", self.dataset)

    def blocks(self) -> list[list[BiasLine]]:
        """Return the shown lines by quantity."""
        by_quantity: dict[str, list[BiasLine]] = {}
        for line in self.shown:
            by_quantity.setdefault(line.quantity, []).append(line)
        return list(by_quantity.values())


def read_bias(results: Path, grid: Mapping[str, Any]) -> ModelBias:
    """Read the bias artefacts of a grid.

    Args:
        results: folder of all results.
        grid: ids of each kind, as :func:`~exparity.artefacts.layout.cells` takes them.

    Raises:
        InputError: an artefact is missing or damaged, is of another cell than its path names, or
            files of one dataset declare different groups or classes.
    """
    rows: list[Mapping[str, Any]] = []
    declared: dict[str, Declared] = {}
    for ids in layout.cells(grid, "bias"):
        path = results / layout.path_of("bias", ids)
        table, metadata = read_artefact(path, "bias")
        of_cell = table.to_pylist()
        if any({id: row[id] for id in ids} != ids for row in of_cell):
            raise InputError(
                f"{path}: is not of the cell that its path names; delete it and run again"
            )
        facts = Declared(
            metadata["attribute"], tuple(metadata["groups"]), tuple(metadata["labels"])
        )
        if declared.setdefault(ids["dataset"], facts) != facts:
            raise InputError(
                f"{path}: declares other groups or classes than the dataset's other files; "
                "delete it and run again"
            )
        rows += of_cell
    return ModelBias(rows, declared)


def collapsed_cells(bias: ModelBias) -> set[Run]:
    """Return the trained classifiers that predict one class for every test example."""
    return {
        (row["dataset"], row["model"], row["seed"])
        for row in bias.rows
        if "collapsed" in row["flags"]
    }


def bias_tables(bias: ModelBias, pairs: Sequence[tuple[str, str]]) -> list[BiasTable]:
    """Make one table per dataset, in the order of the config.

    Args:
        bias: what :func:`read_bias` returned.
        pairs: every (dataset, model), in the order of the config.
    """
    rows: dict[tuple[str, BiasLine, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in bias.rows:
        line = BiasLine(row["quantity"], row["group"], row["group_b"], row["class_name"])
        rows[row["dataset"], line, row["model"]].append(row)
    collapsed = sorted(collapsed_cells(bias))
    tables = []
    for dataset in dict.fromkeys(dataset for dataset, _ in pairs):
        declared = bias.declared[dataset]
        lines = _lines(declared)
        models = [m for d, m in pairs if d == dataset]
        cells = {(line, m): _cell(rows[dataset, line, m]) for line in lines for m in models}
        wanted = [line for line in lines if _wanted(line, declared)]
        shown = [x for x in wanted if any(cells[x, m].mean is not None for m in models)]
        tables.append(
            BiasTable(
                dataset=dataset,
                attribute=declared.attribute,
                models=models,
                lines=lines,
                shown=shown,
                left_out=len(wanted) - len(shown),
                cells=cells,
                collapsed={
                    model: [s for d, m, s in collapsed if (d, m) == (dataset, model)]
                    for model in models
                    if any((d, m) == (dataset, model) for d, m, _ in collapsed)
                },
            )
        )
    return tables


def _lines(declared: Declared) -> list[BiasLine]:
    """Return all lines of a dataset; those that exist do not depend on the predictions."""
    single = [("", ""), *((group, "") for group in declared.groups)]
    double = list(combinations(declared.groups, 2))
    lines = []
    for quantity in QUANTITIES:
        classes: Sequence[str] = declared.classes
        groups: Sequence[tuple[str, str]] = double
        if quantity in ("accuracy", "tpr", "tnr", "selection_rate"):
            groups = single
        if quantity in ("accuracy", "accuracy_gap"):
            classes = ("",)
        elif quantity in _BY_PROBABILITY:
            classes = ("", *declared.classes)
        elif quantity == "apd_by_label":
            groups, classes = [("", "")], ("",) if len(declared.classes) == 2 else ()
        lines += [BiasLine(quantity, a, b, name) for name in classes for a, b in groups]
    return lines


def _wanted(line: BiasLine, declared: Declared) -> bool:
    if line.quantity in _BY_PROBABILITY:
        return not line.class_name
    return len(declared.classes) > 2 or line.class_name != declared.classes[0]


def _cell(rows: Sequence[Mapping[str, Any]]) -> BiasCell:
    values = [row["value"] for row in rows if row["value"] == row["value"]]
    return BiasCell(
        mean=float(np.mean(values)) if values else None,
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
        runs=len(values),
        undefined=len(rows) - len(values),
        collapsed=sum("collapsed" in row["flags"] for row in rows),
    )
