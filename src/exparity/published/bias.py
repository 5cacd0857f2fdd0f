"""Our model bias beside the published one.

Rates are those of the class that the study calls positive, the second one of each dataset. The
prediction difference is the one that the study's code computes, which is defined without pairs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.published.matching import Names
from exparity.published.study import PublishedStudy


@dataclass(frozen=True)
class BiasMatch:
    """One quantity of one of our models beside the published one.

    Attributes:
        dataset: published id of the dataset.
        model, published: our id and the published id of the model.
        quantity: ``tpr``, ``tnr`` or ``apd``.
        ours, ours_sd: mean and standard deviation over seeds, dividing by their number as the study
            does.
        seeds: seeds with a defined value.
        theirs, theirs_sd: published mean and standard deviation.
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


def match_bias(
    results: Path, trained: Sequence[layout.Ids], study: PublishedStudy, names: Names
) -> list[BiasMatch]:
    """Read our bias artefacts, where there are any, and put them beside the published numbers.

    Args:
        results: folder of all results.
        trained: ids of every training, of published datasets and models.
        study: the published study.
        names: our ids to published ones, by kind.

    Raises:
        InputError: an artefact is damaged.
    """
    measured: dict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
    for ids in trained:
        path = results / layout.path_of("bias", ids)
        for quantity, value, collapsed in _values(path) if path.is_file() else ():
            cell = str(ids["dataset"]), str(ids["model"]), quantity
            measured[cell].append((value, collapsed))
    matches = []
    for (dataset, model, quantity), seeds in measured.items():
        key = names["dataset"][dataset], names["model"][model], quantity
        values = [value for value, _ in seeds if value == value]
        if values and key in study.bias:
            ours = fmean(values), pstdev(values), len(values)
            n_collapsed = sum(collapsed for _, collapsed in seeds)
            theirs = study.bias[key]
            matches.append(BiasMatch(key[0], model, key[1], quantity, *ours, *theirs, n_collapsed))
    order = {key: position for position, key in enumerate(study.bias)}
    return sorted(matches, key=lambda m: (order[m.dataset, m.published, m.quantity], m.model))


def _values(path: Path) -> list[tuple[str, float, bool]]:
    """Return the study's name of each quantity, its value, and whether the classifier collapsed."""
    table, metadata = read_artefact(path, "bias")
    positive = metadata["labels"][1]
    wanted = {("tpr", positive): "tpr", ("tnr", positive): "tnr", ("apd_by_label", ""): "apd"}
    return [
        (wanted[key], row["value"], "collapsed" in row["flags"])
        for row in table.to_pylist()
        if row["group"] == "" and (key := (row["quantity"], row["class_name"])) in wanted
    ]
