"""What a study would have found, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, records
from exparity.artefacts.schemas import schema_of
from exparity.core.formats import joined
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.stats.planted import DRAWS, SHARES
from exparity.stats.verdicts import SHARE_OF_CLAIM

FORESIGHT = "forward_simulation"
"""Witness of a gap in what explanations foresee; the others are directions of removal."""


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where nothing was planted."""
    pairs = {tuple(pair) for pair in study.pairs}
    shown = [
        row
        for row, gap in zip(rows, records(_Planted, rows), strict=True)
        if (gap.dataset, gap.model) in pairs
    ]
    if not shown:
        return None
    schema = schema_of("positive_control")
    export = Export("positive_control", "Worsenings and their tests", schema, shown)
    witnesses = {gap.witness for gap in records(_Planted, shown)}
    values = {
        "sentences": sentences_of(shown, study),
        "draws": DRAWS,
        "is_foreseen": FORESIGHT in witnesses,
        "is_removed": bool(witnesses - {FORESIGHT}),
    }
    return Findings(values, [export])


@dataclass(frozen=True)
class _Planted:
    """A worsening that was planted, and the p-value of its gap."""

    witness: str
    dataset: str
    model: str
    worse_group: str
    share: float
    p: float


def sentences_of(rows: Sequence[Row], study: Study) -> list[str]:
    """Return what would have been found, one sentence for places that are alike.

    Those of forward simulation come first.
    """
    planted = records(_Planted, rows)
    foreseen = [gap for gap in planted if gap.witness == FORESIGHT]
    removed = [gap for gap in planted if gap.witness != FORESIGHT]
    by_removal = [f"By removal, {_continued(text)}" for text in _by_place(removed, study)]
    return [*_by_place(foreseen, study), *by_removal]


def _by_place(planted: Sequence[_Planted], study: Study) -> list[str]:
    """Return the sentences of one witness, or of all directions of removal together."""
    by_place = grouped(planted, attrgetter("dataset", "model"))
    least = {place: _least(gaps, _level(study, gaps[0])) for place, gaps in by_place.items()}
    alike = grouped(least, lambda place: _sentence(least[place]))
    if len(alike) == 1:
        return list(alike)
    sentences = []
    for sentence, places in alike.items():
        names = joined([study.place(*place) for place in places])
        sentences.append(f"On {names}, {_continued(sentence)}")
    return sentences


def _continued(sentence: str) -> str:
    """Return a sentence as it goes on after a comma."""
    return f"{sentence[0].lower()}{sentence[1:]}"


def _level(study: Study, planted: _Planted) -> float:
    """Return the level of a claim over the cells that are judged together with the witness."""
    is_foreseen = planted.witness == FORESIGHT
    cells = [
        row
        for row in study.standing
        if row.dataset == planted.dataset
        and row.verdict
        and row.foresees == is_foreseen
        and not row.is_description
    ]
    alpha = float(study.statistics.alpha)
    return SHARE_OF_CLAIM * alpha / max(1, len(cells))


def _least(planted: Sequence[_Planted], level: float) -> list[tuple[str, float | None]]:
    """Return the smallest share that is found, by group: None where not even the largest is."""
    least = []
    for group, worsenings in grouped(planted, attrgetter("worse_group")).items():
        by_share = grouped(worsenings, attrgetter("share"))
        detected = [share for share in SHARES if _is_found(by_share.get(share, worsenings), level)]
        least.append((group, min(detected, default=None)))
    return least


def _is_found(planted: Sequence[_Planted], level: float) -> bool:
    """Return whether a worsening is found against every group that can be compared with it."""
    tested = [gap for gap in planted if not math.isnan(gap.p)]
    return bool(tested) and all(gap.p <= level for gap in tested)


def _sentence(least: Sequence[tuple[str, float | None]]) -> str:
    """Say what is found in each group alike, or what is not."""
    shares = [share for _, share in least if share is not None]
    largest = "" if not shares else f"{100 * max(shares):.0f} %"
    if len(shares) == len(least):
        return (
            f"A worsening of {largest} planted in one group's explanations would have been found."
        )
    blind = joined([group for group, share in least if share is None])
    sentence = (
        f"Not even a worsening of {100 * max(SHARES):.0f} % planted in the explanations of {blind} "
        "texts would have been found"
    )
    if shares:
        seen = joined([f"{group} texts" for group, share in least if share is not None])
        return f"{sentence}; one of {largest} in those of {seen} would have been."
    return f"{sentence}."
