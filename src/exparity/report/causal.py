"""Statistical beside causal bias over seeds: as Chen, Ji and Evans (2024) set them side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from exparity.core.grouping import grouped
from exparity.report.bias import RATES, BiasCell, BiasLine, BiasTable, ModelBias

KINDS = {"statistical": "", "causal": "causal_"}
"""What a gap compares: examples of two groups, or the same examples; and how its id starts."""
_LINE = ("dataset", "quantity", "model", "group", "group_b", "class_name")
_RATE_OF = {f"{start}{rate}_gap": (kind, rate) for kind, start in KINDS.items() for rate in RATES}


@dataclass(frozen=True)
class ClassGap:
    """The gap of a rate of one class and model, over seeds.

    Attributes:
        groups: the two groups, first minus second.
        rate: of :data:`~exparity.report.bias.RATES`.
        kind: of :data:`KINDS`.
        mean: mean over the seeds where it is defined.
        low, high: smallest and largest of them.
    """

    dataset: str
    model: str
    groups: tuple[str, str]
    class_name: str
    rate: str
    kind: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Overview:
    """One line about a model on a dataset.

    Attributes:
        rms: by kind of gap and rate, the RMS over classes and the same by chance.
        flips: share of the examples whose prediction changes with the group.
        apd: mean size of the change of the true class's probability.
    """

    model: str
    groups: tuple[str, str]
    rms: Mapping[tuple[str, str], tuple[BiasCell, BiasCell]]
    flips: BiasCell
    apd: BiasCell


def class_gaps(bias: ModelBias, datasets: Sequence[str]) -> list[ClassGap]:
    """Return the gaps of every class, in the order of datasets, rates and classes as declared."""
    defined = [r for r in bias.rows if r["quantity"] in _RATE_OF and r["value"] == r["value"]]
    gaps = []
    for (dataset, quantity, *ids), rows in grouped(defined, itemgetter(*_LINE)).items():
        kind, rate = _RATE_OF[quantity]
        model, a, b, name = ids
        of = [row["value"] for row in rows]
        mean = sum(of) / len(of)
        if dataset in datasets:
            gaps.append(ClassGap(dataset, model, (a, b), name, rate, kind, mean, min(of), max(of)))
    classes = {dataset: bias.declared[dataset].classes for dataset in datasets}
    return sorted(
        gaps,
        key=lambda gap: (
            datasets.index(gap.dataset),
            [*RATES].index(gap.rate),
            classes[gap.dataset].index(gap.class_name),
        ),
    )


def overviews(table: BiasTable) -> list[Overview]:
    """Return a line for each model and pair of groups."""
    pairs = dict.fromkeys((line.group, line.group_b) for line in table.lines)
    return [
        Overview(
            model=model,
            groups=groups,
            rms={
                (kind, rate): (
                    _cell(table, model, f"{start}{rate}_gap_rms", groups),
                    _cell(table, model, f"{start}{rate}_gap_rms_by_chance", groups),
                )
                for kind, start in KINDS.items()
                for rate in RATES
            },
            flips=_cell(table, model, "flip_rate", groups),
            apd=_cell(table, model, "causal_apd", groups),
        )
        for groups in pairs
        for model in table.models
    ]


def _cell(table: BiasTable, model: str, quantity: str, groups: tuple[str, str]) -> BiasCell:
    return table.cells[BiasLine(quantity, *groups, ""), model]
