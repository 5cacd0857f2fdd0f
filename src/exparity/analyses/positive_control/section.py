"""What a study would have found, in one sentence."""

from __future__ import annotations

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


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where nothing was planted."""
    pairs = {tuple(pair) for pair in study.pairs}
    shown = [row for row in rows if (row["dataset"], row["model"]) in pairs]
    if not shown:
        return None
    schema = schema_of("positive_control")
    export = Export("positive_control", "Worsenings and their tests", schema, shown)
    return Findings({"sentences": sentences_of(shown, study), "draws": DRAWS}, [export])


@dataclass(frozen=True)
class _Planted:
    """A worsening that was planted, and the p-value of its gap."""

    dataset: str
    model: str
    worse_group: str
    share: float
    p: float


def sentences_of(rows: Sequence[Row], study: Study) -> list[str]:
    """Return what would have been found, one sentence for places that are alike."""
    by_place = grouped(records(_Planted, rows), attrgetter("dataset", "model"))
    least = {place: _least(members, _level(study, place[0])) for place, members in by_place.items()}
    alike = grouped(least, lambda place: _sentence(least[place]))
    if len(alike) == 1:
        return list(alike)
    sentences = []
    for sentence, places in alike.items():
        names = joined([study.place(*place) for place in places])
        sentences.append(f"On {names}, {sentence[0].lower()}{sentence[1:]}")
    return sentences


def _level(study: Study, dataset: str) -> float:
    """Return the level of a claim over the cells that are judged by what explanations foresee."""
    cells = [
        row for row in study.standing if row.dataset == dataset and row.verdict and row.foresees
    ]
    alpha = float(study.statistics.alpha)
    return SHARE_OF_CLAIM * alpha / max(1, len(cells))


def _least(planted: Sequence[_Planted], level: float) -> list[tuple[str, float | None]]:
    """Return the smallest share that is found, by group: None where not even the largest is."""
    least = []
    for group, worsenings in grouped(planted, attrgetter("worse_group")).items():
        by_share = grouped(worsenings, attrgetter("share"))
        detected = [
            share
            for share in SHARES
            if all(gap.p <= level for gap in by_share.get(share, worsenings))
        ]
        least.append((group, min(detected, default=None)))
    return least


def _sentence(least: Sequence[tuple[str, float | None]]) -> str:
    """Say what is found in each group alike, or what is not."""
    known = [share for _, share in least if share is not None]
    largest = "" if not known else f"{100 * max(known):.0f} %"
    if len(known) == len(least):
        return (
            f"A worsening of {largest} planted in one group's explanations would have been found."
        )
    blind = joined([group for group, share in least if share is None])
    sentence = (
        f"Not even a worsening of {100 * max(SHARES):.0f} % planted in the explanations of {blind} "
        "texts would have been found"
    )
    if known:
        seen = joined([f"{group} texts" for group, share in least if share is not None])
        return f"{sentence}; one of {largest} in those of {seen} would have been."
    return f"{sentence}."
