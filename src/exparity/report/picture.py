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
from itertools import chain
from operator import attrgetter

from exparity.core.formats import joined, signed
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.names import Names
from exparity.report.preference import favoured_group
from exparity.report.rows import VerdictRow
from exparity.report.tables import MOST_PAIRS, by_pair
from exparity.report.verdicts import (
    CONTROLLED,
    certainty,
    judgement_of,
    rests_on_one_training,
    sentence_of,
    untested_text,
)
from exparity.stats.verdicts import Verdict

RANDOM = "Random explanations"
RANDOM_SCORES = "Random, raw scores"
RANDOM_LINES = (RANDOM, RANDOM_SCORES)
SIGNS = {"a": "◀", "b": "▶", "both": "◆", "good": "=", "open": "·", "untested": "–"}
"""Signs of the looks, for tiles without room for words."""
_RAW = "random_score"


@dataclass(frozen=True)
class Tile:
    """One cell."""

    model: str
    verdict: Verdict | None
    # The favoured group, a or b; both where that changes by training; untested without a verdict;
    # else the verdict's tone.
    look: str
    favoured: str
    size: str  # the gap: the interval of R, or d of a single training
    sentence: str

    @property
    def may_change(self) -> bool:
        """Whether it favours a group, and the next training may favour another."""
        return self.verdict is not None and self.verdict.favours and not self.verdict.settles


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
        for line in self.lines:
            yield from chain.from_iterable(line.cells)


def is_controlled(study: Study) -> bool:
    """Return whether random explanations were scored, so that more than scores is compared."""
    relative = (test for test in study.tests if test.quantity in CONTROLLED)
    return any(test.p == test.p for test in relative)


def look_of(row: VerdictRow) -> str:
    """Return the look of a verdict, as in :attr:`Tile.look`."""
    verdict = judgement_of(row)
    if verdict is None:
        return "untested"
    if not verdict.is_gap:
        return verdict.tone
    if not verdict.favours:
        return "both"
    return "a" if favoured_group(row) == row.group_a else "b"


def picture_of(study: Study) -> list[PicturePanel]:
    """Return the panels of a study, for datasets with few pairs of groups."""
    pairs = Counter(dataset for dataset, _, _ in by_pair(study.judged))
    few = [row for row in study.judged if pairs[row.dataset] <= MOST_PAIRS]
    return panels_of(few, study.name, study.statistics.threshold)


def panels_of(rows: Sequence[VerdictRow], names: Names, threshold: float) -> list[PicturePanel]:
    """Return a panel for each dataset and pair of groups that has a verdict.

    ``rows`` are of the verdicts artefact; those are shown that stand of their cells.
    """
    shown = [row for row in rows if row.stands or row.quantity == _RAW]
    panels = []
    for (dataset, group_a, group_b), members in by_pair(shown).items():
        if not any(row.verdict for row in members):
            continue
        metrics = list(dict.fromkeys(row.metric for row in members))
        panels.append(
            PicturePanel(
                group_a,
                group_b,
                models=list(dict.fromkeys(row.model for row in members)),
                name=names("dataset", dataset),
                metrics=[names("metric", metric) for metric in metrics],
                lines=_lines(members, metrics, names, threshold),
                certainty=certainty(members),
            )
        )
    return panels


def _lines(
    rows: Sequence[VerdictRow], metrics: Sequence[str], names: Names, threshold: float
) -> list[PictureRow]:
    """Return the rows of a panel: methods, then random explanations."""
    by_line = grouped(rows, lambda row: _line_of(row, names))
    methods = [name for name in by_line if name not in RANDOM_LINES]
    lines = []
    for name in (*methods, *RANDOM_LINES):
        if name not in by_line:
            continue
        by_metric = grouped(by_line[name], attrgetter("metric"))
        tiles = [[tile_of(row, threshold) for row in by_metric.get(m, ())] for m in metrics]
        lines.append(PictureRow(name, tiles))
    return lines


def _line_of(row: VerdictRow, names: Names) -> str:
    """Return the name of the row of a panel that shows a verdict."""
    if row.quantity == _RAW:
        return RANDOM_SCORES
    return RANDOM if row.is_random else names("method", row.method)


def tile_of(row: VerdictRow, threshold: float) -> Tile:
    """Return the tile of a row of the verdicts artefact."""
    look = look_of(row)
    verdict = judgement_of(row)
    if verdict is None:
        return Tile(row.model, None, look, "", "", untested_text(row))
    favoured = (favoured_group(row) or "") if look in ("a", "b") else ""
    sentence = sentence_of(row, threshold)
    return Tile(row.model, verdict, look, favoured, _size(row), sentence)


def _size(row: VerdictRow) -> str:
    """Return the gap in few characters: the interval of R, or d where there is one training."""
    if row.n_seeds == 1 or math.isnan(row.rms_high):
        return f"gap {signed(row.d)}"
    interval = f"{row.rms_low:.2f}–{row.rms_high:.2f}".replace("inf", "∞")
    return f"gap {interval}{'*' * rests_on_one_training(row)}"


@dataclass(frozen=True)
class Measured:
    """Names in the first sentence of the page.

    Attributes:
        models, datasets: their names, or how many there are.
        has_pairs: whether some dataset has more than two groups.
        groups: both groups, where all datasets have the same two; else empty.
    """

    models: str
    datasets: str
    has_pairs: bool
    groups: str


def measured(study: Study) -> Measured:
    """Return models, datasets and groups for the first sentence of the page."""
    models = list(dict.fromkeys(model for _, model in study.pairs))
    datasets = [d for d in study.models if study.declared(d).groups]
    groups = list(dict.fromkeys(tuple(study.declared(d).groups) for d in datasets))
    is_one_pair = len(groups) == 1 and len(groups[0]) == 2
    return Measured(
        models=listed(models, "models"),
        datasets=listed([study.display("dataset", d) for d in datasets], "datasets"),
        has_pairs=any(len(names) > 2 for names in groups),
        groups=" and ".join(groups[0]) if is_one_pair else "",
    )


def listed(names: Sequence[str], kind: str) -> str:
    """Return up to three names, or the number of names."""
    if len(names) > 3:
        return f"{len(names)} {kind}"
    return joined(names)
