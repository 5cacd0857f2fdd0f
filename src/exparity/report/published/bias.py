"""Our model bias beside the published one.

Rates are those of the class that the study calls positive, the second one of each dataset. The
prediction difference is the one that the study's code computes, which is defined without pairs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev

from exparity.artefacts.files import read_artefact
from exparity.report.published.matching import Names
from exparity.report.published.study import PublishedStudy

QUANTITIES = {"tpr": "tpr", "tnr": "tnr", "apd": "apd_by_label"}


@dataclass(frozen=True)
class BiasMatch:
    """One quantity of one of our models beside the published one.

    Attributes:
        dataset: published id of the dataset.
        model: our id of the model.
        published: published id of the model.
        quantity: ``tpr``, ``tnr`` or ``apd``.
        ours: mean over seeds.
        ours_sd: standard deviation over seeds, dividing by their number as the study does.
        seeds: seeds with a defined value.
        theirs: published mean.
        theirs_sd: published standard deviation.
        collapsed: seeds whose classifier predicts one class for every example.
    """

    dataset: str
    model: str
    published: str
    quantity: str
    ours: float
    ours_sd: float
    seeds: int
    theirs: float
    theirs_sd: float
    collapsed: int


@dataclass
class _Seeds:
    values: list[float]
    collapsed: int = 0


def match_bias(
    results: Path, trained: Sequence[tuple[str, str, int]], study: PublishedStudy, names: Names
) -> list[BiasMatch]:
    """Read our bias artefacts, where there are any, and put them beside the published numbers.

    Args:
        results: folder of all results.
        trained: dataset, model and seed of every training.
        study: the published study.
        names: our ids to published ones, by kind.

    Raises:
        InputError: an artefact is damaged.
    """
    found: dict[tuple[str, str, str], _Seeds] = defaultdict(lambda: _Seeds([]))
    for dataset, model, seed in sorted(set(trained)):
        path = results / "bias" / dataset / model / f"{seed}.parquet"
        if dataset not in names["dataset"] or model not in names["model"] or not path.is_file():
            continue
        for quantity, (value, collapsed) in _values(path).items():
            seeds = found[dataset, model, quantity]
            seeds.collapsed += collapsed
            if value == value:
                seeds.values.append(value)
    matches = []
    for (dataset, model, quantity), seeds in found.items():
        there, published = names["dataset"][dataset], names["model"][model]
        if seeds.values and (there, published, quantity) in study.bias:
            matches.append(
                BiasMatch(
                    there, model, published, quantity,
                    fmean(seeds.values), pstdev(seeds.values), len(seeds.values),
                    *study.bias[there, published, quantity], seeds.collapsed,
                )
            )  # fmt: skip
    order = {key: position for position, key in enumerate(study.bias)}
    return sorted(matches, key=lambda m: (order[m.dataset, m.published, m.quantity], m.model))


def _values(path: Path) -> Mapping[str, tuple[float, bool]]:
    """Return value, and whether the classifier collapsed, by the study's name of the quantity."""
    table, metadata = read_artefact(path, "bias")
    positive = {"tpr": metadata["labels"][1], "tnr": metadata["labels"][1], "apd_by_label": ""}
    wanted = {ours: theirs for theirs, ours in QUANTITIES.items()}
    return {
        wanted[row["quantity"]]: (row["value"], "collapsed" in row["flags"])
        for row in table.to_pylist()
        if row["quantity"] in wanted
        and row["group"] == ""
        and row["class_name"] == positive[row["quantity"]]
    }
