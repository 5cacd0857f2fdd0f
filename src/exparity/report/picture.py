"""The picture that the page begins with: the verdict of every cell, and whom it favours.

Page and figure draw the same panels. Random explanations have two rows of their own: judged as
methods are, so that readers see whether they are as equal as they should be, and by their raw
scores, whose gaps are the classifier's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from exparity.core.formats import signed
from exparity.report.gather import Study
from exparity.report.tables import MOST_PAIRS, Row, Table, by_dataset
from exparity.report.verdicts import certainty, is_higher_better, named, sentence_of
from exparity.stats.verdicts import Verdict

RANDOM, RANDOM_SCORES = RANDOM_LINES = ("Random explanations", "Random, raw scores")
SIGNS = {"a": "◀", "b": "▶", "both": "◆", "good": "=", "open": "·"}
"""How a tile without room for words says its look."""
CARRIED = "one_training_carries"
"""Flag of a gap that rests on one training."""


@dataclass(frozen=True)
class Tile:
    """One cell.

    Attributes:
        look: ``a`` or ``b`` where the first or the second group is favoured, ``both`` where that
            changes from training to training, else the verdict's tone.
        favoured: the group that is favoured; empty where that is not said.
        size: the interval of R in few characters, or d of a single training.
    """

    model: str
    verdict: Verdict | None
    look: str
    favoured: str
    size: str
    sentence: str


@dataclass(frozen=True)
class PictureRow:
    """One row: a method, or random explanations."""

    name: str
    cells: Sequence[Sequence[Tile]]

    @property
    def is_random(self) -> bool:
        """Whether it is of random explanations."""
        return self.name in RANDOM_LINES


@dataclass(frozen=True)
class PicturePanel:
    """The cells of one dataset and pair of groups.

    Attributes:
        name: the dataset, as readers know it.
        certainty: which group classifiers are surer of; empty where that is not known.
        models: those that each cell has a tile of.
        metrics: names of the columns, with an arrow towards better values.
    """

    group_a: str
    group_b: str
    models: Sequence[str]
    name: str
    metrics: Sequence[str]
    lines: Sequence[PictureRow]
    certainty: str = ""

    def tiles(self) -> Iterator[Tile]:
        """Yield every tile, row by row."""
        return (tile for line in self.lines for cell in line.cells for tile in cell)


def is_controlled(study: Study) -> bool:
    """Return whether random explanations were scored, so that more than scores is compared."""
    return any(row["p"] == row["p"] for row in study.others)


def look_of(row: Row, verdict: Verdict, *, higher_is_better: bool) -> str:
    """Return whom a verdict favours, as :attr:`Tile.look` says it."""
    if not verdict.is_gap:
        return verdict.tone
    if not verdict.favours:
        return "both"
    return "a" if (row["d"] > 0) == higher_is_better else "b"


def random_line(row: Row) -> str | None:
    """Return in which line a verdict of random explanations is; None if in neither."""
    if row["quantity"] == "random_score":
        return RANDOM_SCORES
    return RANDOM if row["stands"] else None


def panels_of(study: Study, tables: Sequence[Table]) -> list[PicturePanel]:
    """Return a panel for each table that has verdicts, of datasets with few pairs of groups."""
    panels = []
    few = [pairs for pairs in by_dataset(tables).values() if len(pairs) <= MOST_PAIRS]
    for table in chain.from_iterable(few):
        pair = table.dataset, table.group_a, table.group_b
        rows: dict[str, dict[tuple[str, str], Row]] = {
            study.display("method", method): {
                (model, metric): cell.standing
                for (model, of, metric), cell in table.cells.items()
                if of == method
            }
            for method in table.methods
        }
        random: dict[str, dict[tuple[str, str], Row]] = {RANDOM: {}, RANDOM_SCORES: {}}
        for row in study.random_verdicts:
            line = random_line(row)
            if line and (row["dataset"], row["group_a"], row["group_b"]) == pair:
                random[line][row["model"], row["metric"]] = row
        rows |= {name: of_line for name, of_line in random.items() if of_line}
        lines = [
            PictureRow(
                name,
                [
                    [
                        tile_of(
                            of[m, k],
                            m,
                            higher_is_better=study.metric_facts(k).direction == "higher",
                            threshold=study.statistics["threshold"],
                        )
                        for m in table.models
                        if (m, k) in of
                    ]
                    for k in table.metrics
                ],
            )
            for name, of in rows.items()
        ]
        if any(tile.verdict for line in lines for cell in line.cells for tile in cell):
            metrics = [f"{study.display('metric', k)} {study.arrow(k)}" for k in table.metrics]
            name = study.display("dataset", table.dataset)
            groups = table.group_a, table.group_b
            judged = [cell.standing for cell in table.cells.values() if cell.standing]
            sure = certainty(judged, study.statistics["threshold"])
            panels.append(PicturePanel(*groups, table.models, name, metrics, lines, sure))
    return panels


def tile_of(row: Row, model: str, *, higher_is_better: bool, threshold: float) -> Tile:
    """Return a row of the verdicts artefact as the picture shows it."""
    if not row.get("verdict"):
        return Tile(model, None, "open", "", "", "not tested")
    verdict = named(row["verdict"])
    higher_is_better = is_higher_better(row, "higher" if higher_is_better else "lower")
    look = look_of(row, verdict, higher_is_better=higher_is_better)
    favoured = {"a": row["group_a"], "b": row["group_b"]}.get(look, "")
    sentence = sentence_of(row, threshold=threshold, higher_is_better=higher_is_better)
    return Tile(model, verdict, look, favoured, _size(row), sentence)


def _size(row: Row) -> str:
    """Return the interval of R in few characters; d where there is but one training."""
    low, high = row["rms_low"], row["rms_high"]
    if row["n_seeds"] == 1 or math.isnan(high):
        return f"d {signed(row['d'])}"
    # A star: it would not be undecided, but for what a single training shows.
    carried = row["verdict"] == "undecided" and CARRIED in row["flags"]
    return f"R {low:.2f}–{high:.2f}{'*' * carried}".replace("inf", "∞")


def measured(study: Study) -> dict[str, Any]:
    """Return what was measured, for the sentence that the page begins with."""
    models = list(dict.fromkeys(model for _, model in study.pairs))
    datasets = [d for d in dict.fromkeys(d for d, _ in study.pairs) if study.declared(d).groups]
    groups = list(dict.fromkeys(tuple(study.declared(d).groups) for d in datasets))
    return {
        "models": _listed(models, "models"),
        "datasets": _listed([study.display("dataset", d) for d in datasets], "datasets"),
        "groups": " and ".join(groups[0]) if len(groups) == 1 and len(groups[0]) == 2 else "",
    }


def _listed(names: Sequence[str], kind: str) -> str:
    """Return up to three names, or how many there are."""
    if len(names) > 3:
        return f"{len(names)} {kind}"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
