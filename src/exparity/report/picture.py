"""The first picture of the page: the verdict of every cell and the favoured group.

Page and figure draw the same panels. Random explanations have two rows of their own: judged as
methods are, so that readers see whether they are as equal as they should be, and by their raw
scores, whose gaps are the classifier's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.core.formats import joined, signed
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.names import Names
from exparity.report.preference import favoured_group
from exparity.report.tables import MOST_PAIRS, Row, by_table
from exparity.report.verdicts import (
    CONTROLLED,
    certainty,
    is_random,
    sentence_of,
    untested_text,
    verdict_of,
)
from exparity.stats.verdicts import Verdict

RANDOM, RANDOM_SCORES = RANDOM_LINES = ("Random explanations", "Random, raw scores")
SIGNS = {"a": "◀", "b": "▶", "both": "◆", "good": "=", "open": "·", "untested": "–"}
"""Signs of the looks, for tiles without room for words."""
CARRIED = "driven_by_one_training"
"""Flag of a gap that rests on one training."""


@dataclass(frozen=True)
class Tile:
    """One cell."""

    model: str
    verdict: Verdict | None
    # The favoured group, a or b; both where that changes by training; untested without a verdict;
    # else the verdict's tone.
    look: str
    favoured: str
    size: str  # the interval of R, or d of a single training
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
    """The cells of one dataset and pair of groups."""

    group_a: str
    group_b: str
    models: Sequence[str]  # those that each cell has a tile of
    name: str
    metrics: Sequence[str]
    lines: Sequence[PictureRow]
    certainty: str = ""  # sentence on the group that classifiers are surer of

    def tiles(self) -> Iterator[Tile]:
        """Yield every tile, row by row."""
        return (tile for line in self.lines for cell in line.cells for tile in cell)


def is_controlled(study: Study) -> bool:
    """Return whether random explanations were scored, so that more than scores is compared."""
    relative = (row for row in study.tests if row["quantity"] in CONTROLLED)
    return any(row["p"] == row["p"] for row in relative)


def look_of(row: Row) -> str:
    """Return the look of a verdict, as in :attr:`Tile.look`."""
    verdict = verdict_of(row["verdict"])
    if not verdict.is_gap:
        return verdict.tone
    if not verdict.favours:
        return "both"
    return "a" if favoured_group(row) == row["group_a"] else "b"


def picture_of(study: Study) -> list[PicturePanel]:
    """Return the panels of a study, for datasets with few pairs of groups."""
    pairs = Counter(dataset for dataset, _, _ in by_table(study.judged))
    few = [row for row in study.judged if pairs[row["dataset"]] <= MOST_PAIRS]
    return panels_of(few, study.name, study.statistics.threshold)


def panels_of(rows: Sequence[Row], names: Names, threshold: float) -> list[PicturePanel]:
    """Return a panel for each dataset and pair of groups that has a verdict.

    ``rows`` are of the verdicts artefact; those are shown that stand of their cells.
    """

    def line_of(row: Row) -> str:
        if row["quantity"] == "random_score":
            return RANDOM_SCORES
        if not row["stands"]:
            return ""
        return RANDOM if is_random(row) else names("method", row["method"])

    panels = []
    for (dataset, a, b), of_pair in by_table([row for row in rows if line_of(row)]).items():
        if not any(row["verdict"] for row in of_pair):
            continue
        metrics = dict.fromkeys(row["metric"] for row in of_pair)
        cells = grouped(of_pair, lambda row: (line_of(row), row["metric"]))
        of_methods = [line for line, _ in cells if line not in RANDOM_LINES]
        of_random = [line for line in RANDOM_LINES if any(line == of for of, _ in cells)]
        lines = []
        for name in dict.fromkeys([*of_methods, *of_random]):
            rows_of = (cells.get((name, metric), ()) for metric in metrics)
            lines.append(
                PictureRow(name, [[tile_of(row, threshold) for row in of] for of in rows_of])
            )
        panels.append(
            PicturePanel(
                *(a, b),
                models=list(dict.fromkeys(row["model"] for row in of_pair)),
                name=names("dataset", dataset),
                metrics=[names("metric", metric) for metric in metrics],
                lines=lines,
                certainty=certainty(of_pair, threshold),
            )
        )
    return panels


def tile_of(row: Row, threshold: float) -> Tile:
    """Return the tile of a row of the verdicts artefact."""
    if not row["verdict"]:
        return Tile(row["model"], None, "untested", "", "", untested_text(row))
    look = look_of(row)
    favoured = (favoured_group(row) or "") if look in ("a", "b") else ""
    sentence = sentence_of(row, threshold)
    return Tile(row["model"], verdict_of(row["verdict"]), look, favoured, _size(row), sentence)


def _size(row: Row) -> str:
    """Return the interval of R in few characters; d where there is but one training."""
    low, high = row["rms_low"], row["rms_high"]
    if row["n_seeds"] == 1 or math.isnan(high):
        return f"d {signed(row['d'])}"
    # A star: it would not be undecided, but for what a single training shows.
    carried = row["verdict"] == "undecided" and CARRIED in row["flags"]
    return f"R {low:.2f}–{high:.2f}{'*' * carried}".replace("inf", "∞")


def measured(study: Study) -> dict[str, Any]:
    """Return models, datasets and groups for the first sentence of the page."""
    models = list(dict.fromkeys(model for _, model in study.pairs))
    datasets = [d for d in study.models if study.declared(d).groups]
    groups = list(dict.fromkeys(tuple(study.declared(d).groups) for d in datasets))
    return {
        "models": listed(models, "models"),
        "datasets": listed([study.display("dataset", d) for d in datasets], "datasets"),
        "pairs": any(len(of) > 2 for of in groups),
        "groups": " and ".join(groups[0]) if len(groups) == 1 and len(groups[0]) == 2 else "",
    }


def listed(names: Sequence[str], kind: str) -> str:
    """Return up to three names, or the number of names."""
    if len(names) > 3:
        return f"{len(names)} {kind}"
    return joined(names)
