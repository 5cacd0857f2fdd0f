"""Why do scores differ? Gaps in scores, divided into chance, room and explanations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from exparity.core.formats import capitalised
from exparity.report.conclusions.answer import Answer
from exparity.report.context import Context
from exparity.report.gather import Study
from exparity.report.row_plots import GapParts, RowPlot, source_plot
from exparity.report.rows import VerdictRow
from exparity.report.verdicts import any_tested, is_gap

_DRAWN = 12
"""Gaps that are drawn."""
_FEW = 6
"""Most gaps that are named beside the largest."""


@dataclass(frozen=True)
class DividedGap:
    """A gap in scores and its sources, towards the group of the higher scores.

    Attributes:
        study: the study.
        row: of the scores, in the verdicts artefact.
        is_of_explanations: whether the skill of explanations is shown to differ, too.
    """

    study: Study
    row: VerdictRow
    is_of_explanations: bool

    @property
    def size(self) -> float:
        """Size of the gap, in the metric's unit."""
        return abs(self.row.estimate)

    @property
    def chance(self) -> float:
        """Part that random explanations have, too."""
        return self._towards_higher(self.row.gap_chance)

    @property
    def room(self) -> float:
        """Part that arises because texts leave more to find."""
        return self._towards_higher(self.row.gap_room)

    @property
    def explanations(self) -> float:
        """Part of the explanations; NaN where it is unknown."""
        return self._towards_higher(self.row.gap_explanations)

    @property
    def share(self) -> float:
        """Share of the explanations in the gap; NaN where it is unknown."""
        return self.explanations / self.size if self.size else math.nan

    @property
    def parts(self) -> dict[str, float]:
        """The parts by their names beside a plot."""
        return {
            "there with random explanations": self.chance,
            "texts leave more to find": self.room,
            "explanations": self.explanations,
        }

    @property
    def _decimals(self) -> int:
        """Decimals of the gap and its parts: two digits of the gap, and two decimals at least."""
        return max(2, 1 - math.floor(math.log10(self.size))) if self.size else 2

    @property
    def _shown(self) -> float:
        """Smallest part that is not written as zero."""
        return 0.5 * 10.0**-self._decimals

    def _written(self, part: float) -> str:
        return f"{round(part, self._decimals) + 0.0:.{self._decimals}f}".replace("-", "−")

    def _towards_higher(self, part: float) -> float:
        """Return a part of the gap, positive if it raises the group of the higher scores."""
        return math.copysign(1.0, self.row.estimate) * part

    def sentence(self, *, is_explained: bool = False) -> str:
        """Return the sentence on the gap, without the metric's meaning where it is explained."""
        row = self.row
        higher = row.group_a if row.estimate > 0 else row.group_b
        study = self.study
        name = study.display("metric", row.metric)
        metric = name if is_explained else capitalised(study.measure(row.metric))
        method = study.display("method", row.method)
        dataset = study.display("dataset", row.dataset)
        model = f" and {row.model}" if study.has_several_models else ""
        size = self._written(self.size)
        texts = f"for {higher} texts"
        if len(study.declared(row.dataset).groups) > 2:
            texts = f"for {higher} than for {row.other_than(higher)} texts"
        gap = f"{metric} is {size} higher {texts} with {method} on {dataset}"
        return f"{gap}{model}. {self._of_chance}{self._of_the_rest(higher)}."

    @property
    def _of_chance(self) -> str:
        """What random explanations show: a part of the gap, more than all of it, or the reverse."""
        if self.chance <= -self._shown:
            return f"Random explanations differ the other way, by {self._written(-self.chance)}"
        if self.chance < self._shown:
            return "Hardly any of it is there with random explanations"
        if self.chance >= self.size + self._shown:
            return f"Random explanations differ more, by {self._written(self.chance)}"
        if self.chance > self.size:
            return "All of it is there with random explanations"
        return f"{self._written(self.chance)} of it is there with random explanations"

    def _of_the_rest(self, higher: str) -> str:
        """Return what the rest comes from, each part in the words of its sign."""
        if math.isnan(self.explanations):
            if self.chance > self.size:
                return ", and what the real ones change was not measured"
            return "; how much of the rest belongs to the explanations was not measured"
        more = "more" if self.room > -self._shown else "less"
        room = f"{self._written(self.room)} because {higher} texts leave {more} to find"
        if self.explanations <= -self._shown:
            by = self._written(-self.explanations)
            return f", {room}; explanations make it smaller, by {by}"
        if self.explanations < self._shown:
            return f", {room}; hardly any of it belongs to the explanations"
        most = "" if self.is_of_explanations else "at most "
        percent = f" ({100 * self.share:.0f} %)" if 0 <= self.share <= 1 else ""
        part = f"{most}{self._written(self.explanations)}{percent}"
        return f", {room}; {part} belongs to the explanations"


def divided_gaps(study: Study) -> list[DividedGap]:
    """Return the gaps in scores whose sources are known, the largest d first."""
    gaps = []
    for cell in study.verdicts.values():
        row = cell.score
        if row is None or row.is_description or row.foresees or not is_gap(row):
            continue
        if math.isnan(row.gap_chance):
            continue
        gaps.append(DividedGap(study, row, cell.skill is not None and is_gap(cell.skill)))
    return sorted(gaps, key=lambda gap: -abs(gap.row.d))


def sources_plot(study: Study) -> RowPlot | None:
    """Return the largest gaps in scores as bars of their sources; None without any."""
    bars = []
    for gap in divided_gaps(study)[:_DRAWN]:
        method = study.display("method", gap.row.method)
        metric = study.display("metric", gap.row.metric)
        dataset = study.display("dataset", gap.row.dataset)
        word = f"{100 * gap.share:.0f} % explanations" if 0 <= gap.share <= 1 else ""
        bars.append(GapParts(f"{metric}, {method}, {dataset}", gap.parts, word))
    return source_plot(bars)


def about_sources(context: Context) -> Answer:
    """Answer what gaps in scores come from."""
    gaps = divided_gaps(context.study)
    if not gaps:
        return Answer(_nothing_divided(context.study))
    first, *others = gaps
    text = first.sentence()
    shares = [gap.share for gap in gaps if gap.share == gap.share]
    if len(shares) > 1:
        share = median(shares)
        part = f"{100 * share:.0f} %" if share > 0 else "nothing"
        text += (
            f" In the median of {len(shares)} such differences, explanations account for {part}."
        )
    return Answer(text, [*_more_gaps(first, others[:_FEW])], "disparity")


def _more_gaps(first: DividedGap, others: Sequence[DividedGap]) -> Iterator[str]:
    """Yield the sentences on further gaps, each metric explained once."""
    explained = {first.row.metric}
    for gap in others:
        yield gap.sentence(is_explained=gap.row.metric in explained)
        explained.add(gap.row.metric)


def _nothing_divided(study: Study) -> str:
    """Return why no gap is divided."""
    cells = [cell for cell in study.verdicts.values() if cell.score is not None]
    scores = [cell.score for cell in cells if cell.score is not None]
    compared = [row for row in scores if not row.is_description and not row.foresees]
    standing = [cell.standing for cell in cells]
    if not compared:
        return "No metric was measured whose scores depend on more than the explanations."
    if not any_tested(row for row in standing if row is not None):
        return "Unknown: nothing could be tested."
    if not _are_controlled(compared):
        return "Unknown: no random explanations were scored beside the real ones."
    return "No difference in scores is shown, and so there is nothing to divide."


def _are_controlled(rows: Sequence[VerdictRow]) -> bool:
    return any(row.gap_chance == row.gap_chance for row in rows)
