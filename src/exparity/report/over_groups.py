"""What is said of all groups of a cell, before any pair of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.core.formats import joined
from exparity.core.grouping import grouped
from exparity.report.rows import VerdictRow
from exparity.report.verdicts import is_alike, is_gap
from exparity.stats.verdicts import SHARE_OF_CLAIM

_CELL = ("dataset", "model", "method", "metric")


@dataclass(frozen=True)
class OverAllGroups:
    """The standing rows of a method and metric, one for each pair of three groups or more.

    Attributes:
        rows: the rows.
        p: corrected p-value of "no group differs"; infinite where not all are tested at once.
        alpha: of the study.
    """

    rows: Sequence[VerdictRow]
    p: float
    alpha: float

    @property
    def is_tested(self) -> bool:
        """Whether any pair is."""
        return any(row.verdict for row in self.rows)

    @property
    def differs(self) -> bool:
        """Whether some group is shown to differ: by the test of all, or by the verdict of a pair.

        Groups that are all alike do not, though their means may.
        """
        if all(map(is_alike, self.rows)):
            return False
        return self.p <= SHARE_OF_CLAIM * self.alpha or any(map(is_gap, self.rows))

    @property
    def word(self) -> str:
        """What is said of the groups of this cell."""
        if not self.is_tested:
            return "not tested"
        if self.differs:
            return (
                "groups differ" if any(map(is_gap, self.rows)) else "groups differ, no pair shown"
            )
        return "all alike" if all(map(is_alike, self.rows)) else "no group shown to differ"


def over_all_groups(rows: Sequence[VerdictRow], alpha: float) -> list[OverAllGroups]:
    """Return what is known of all groups, for each method and metric with three groups or more.

    ``rows`` are standing rows of methods.
    """
    cells = grouped((row for row in rows if not row.is_random), attrgetter(*_CELL))
    return [
        OverAllGroups(pairs, min(map(_corrected, pairs)), alpha)
        for pairs in cells.values()
        if len(pairs) > 1
    ]


def _corrected(row: VerdictRow) -> float:
    """Return the corrected p-value of all groups; infinity of a pair without."""
    return math.inf if math.isnan(row.omnibus_p_bh) else row.omnibus_p_bh


def lines_over_all_groups(
    rows: Sequence[VerdictRow],
    alpha: float,
    display: Callable[[str, str], str] = lambda _kind, name: name,
) -> Iterator[str]:
    """Yield a line for each dataset, model and metric of three groups or more.

    ``display`` returns the name of an id, given its kind.
    """
    metric_of = attrgetter("dataset", "model", "metric")
    by_metric = grouped(over_all_groups(rows, alpha), lambda cell: metric_of(cell.rows[0]))
    for (dataset, model, metric), cells in by_metric.items():
        words = []
        for word, alike in grouped(cells, lambda cell: cell.word).items():
            methods = [display("method", cell.rows[0].method) for cell in alike]
            words.append(f"{word} with {joined(methods)}")
        place = f"{display('dataset', dataset)}, {model}, {display('metric', metric)}"
        yield f"{place}, all groups: {'; '.join(words)}"
