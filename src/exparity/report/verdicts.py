"""Verdicts in words: the sentence of a cell, and of a number of cells.

What a verdict is called, says and counts as is in :data:`exparity.stats.verdicts.VERDICTS` alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from exparity.core.formats import capitalised, percent
from exparity.core.grouping import grouped
from exparity.report.preference import (
    ceilings_of,
    favoured_group,
    levels_of,
    other_group,
    preference_of,
)
from exparity.report.rows import JudgedCell, VerdictRow
from exparity.stats import verdicts
from exparity.stats.among import CEILINGS_DIFFER
from exparity.stats.crossed import TRAINING
from exparity.stats.flags import FLAGS
from exparity.stats.seeds import SeedTest
from exparity.stats.skill import LITTLE_ROOM, SCALES, Scale
from exparity.stats.untested import Untested, main_reason
from exparity.stats.verdicts import RANKS, STANDING, Verdict

ROUNDING_NOISE = "rounding_noise"


class _Number(float):
    """A number that is formatted with a minus sign instead of a hyphen."""

    def __format__(self, spec: str) -> str:
        if not math.isfinite(self):
            return "∞" if self > 0 else "unknown"
        return super().__format__(spec).replace("-", "−")


QUANTITIES = {
    "headline": "explanations",
    "beside": "explanations by other metrics, whose gaps depend on more than them",
    "description": "their concentration, where neither group is better",
    "random_stands": "random explanations",
    "skill": "skill",
    "excess": "excess over random explanations",
    "score": "scores",
}
"""Display name of each judged quantity; a cell is judged by its skill, else its excess or score."""
CONTROLLED = ("skill", "excess")
"""Quantities in which random explanations have no gap."""
CARRIED = "driven_by_one_training"
"""Flag of a gap that rests on one training."""
_TOLD = (
    *("counting_units_differ", "depends_on_scale", CARRIED, "ideal_cannot_tell"),
    *("log_odds_cannot_tell", "no_room", "probability_cannot_tell", "reference_beaten"),
    *("removals_disagree", "room_differs", "stepless", "texts_left_out", "texts_not_comparable"),
)
"""Flags of a verdict that readers must know of before they believe it."""


@dataclass(frozen=True)
class Counts:
    """The cells of one quantity by their verdict."""

    quantity: str
    by_verdict: Mapping[str, int]  # in the order of the verdicts
    untested: int  # without a verdict
    strict: int  # decided by Holm's correction, too
    n_seeds: int

    @property
    def total(self) -> int:
        """All cells."""
        return sum(self.by_verdict.values()) + self.untested

    @property
    def decided(self) -> int:
        """Cells whose verdict is not an open one."""
        return sum(n for verdict, n in self.by_verdict.items() if is_decided(verdict))


def verdict_of(verdict_id: str) -> Verdict:
    """Return a verdict by its id."""
    return next(verdict for verdict in verdicts.VERDICTS if verdict.id == verdict_id)


def labels_of(tone: str) -> str:
    """Return the labels of the verdicts of a tone, as a sentence has them."""
    labels = [verdict.label.lower() for verdict in verdicts.VERDICTS if verdict.tone == tone]
    return " or ".join(labels)


def judgement_of(row: VerdictRow) -> Verdict | None:
    """Return the verdict of a row; None where nothing is tested."""
    return verdict_of(row.verdict) if row.verdict else None


def is_of(row: VerdictRow, quantity: str) -> bool:
    """Return whether a row is of one of :data:`QUANTITIES`."""
    if quantity == "random_stands":
        return row.stands and row.is_random
    if quantity in RANKS:
        return row.stands and not row.is_random and row.rank == quantity
    return row.quantity == quantity


def is_foreseen(rows: Iterable[VerdictRow]) -> bool:
    """Return whether forward simulation says what comes first."""
    return any(row.headline and row.foresees for row in rows)


def moved(cell: JudgedCell) -> str:
    """Return the gaps of a cell, from its score to its skill, and the verdict that counts.

    Empty if there are fewer than two.
    """
    rows = [cell.rows[name] for name in reversed(STANDING) if name in cell.rows]
    gaps = [f"{row.quantity} {_Number(row.d):.2f}" for row in rows]
    counting = cell.standing
    if len(gaps) < 2 or counting is None:
        return ""
    return f"{capitalised(', '.join(gaps))}: {counting.verdict or untested_text(counting)}"


def only_certainty(cell: JudgedCell) -> str:
    """Return why scores or their excess have a gap and skill has none; empty for other cells."""
    skill = cell.skill
    if skill is None or not skill.verdict or is_gap(skill):
        return ""
    if not any(row is not None and is_gap(row) for row in (cell.score, cell.excess)):
        return ""
    # Without a d of ranks, no falls are counted.
    if skill.surer_of and math.isfinite(skill.d_ranks):
        less = skill.other_than(skill.surer_of)
        return (
            f"The classifier is less sure of {less}; this shows no difference of the explanations."
        )
    return "By skill, no difference of the explanations is shown."


def skills_of(row: VerdictRow) -> str:
    """Return a sentence on the skill of both groups, without its full stop."""
    n_scales = len(_scales_of(row))
    ends = "random order (0 %) to the best order found (100 %)"
    if n_scales == 1:
        ends = "random explanations (0 %) to one that beats all of them (100 %)"
    elif row.metric_kind == "communication":
        ends = "random words (0 %) to the whole text (100 %)"
    elif not n_scales:
        ends = "random explanations (0 %) to ideal ones (100 %)"
    first = f"{row.group_a} reach {_Number(100 * row.skill_a):.0f} %"
    second = f"{row.group_b} reach {_Number(100 * row.skill_b):.0f} %"
    return f"From {ends}, explanations of {first}, and those of {second}"


def _scales_of(row: VerdictRow) -> list[Scale]:
    """Return the ways in which a skill counts falls; none of one of the scores themselves."""
    return [scale for scale in SCALES if math.isfinite(_gap_on(row, scale).d)]


class _ScaleGap(NamedTuple):
    """d of a skill on one scale, and its p-value."""

    d: float
    p: float


def _gap_on(row: VerdictRow, scale: Scale) -> _ScaleGap:
    gaps: Mapping[Scale, _ScaleGap] = {
        "ranks": _ScaleGap(row.d_ranks, row.p_ranks),
        "log_odds": _ScaleGap(row.d_log_odds, row.p_log_odds),
        "probability": _ScaleGap(row.d_probability, row.p_probability),
    }
    return gaps[scale]


def skill_line(row: VerdictRow | None) -> str:
    """Return a line on the skill of both groups, their room and d on each scale; else nothing."""
    if row is None or math.isnan(row.skill_a + row.skill_b):
        return ""
    line = (
        f"{skills_of(row)}. The way is {_Number(row.room_a):.2f} and {_Number(row.room_b):.2f} "
        f"long, and shorter than {LITTLE_ROOM} in {100 * row.little_room_a:.0f} and "
        f"{100 * row.little_room_b:.0f} % of texts."
    )
    gaps = []
    for scale in _scales_of(row):
        gap = _gap_on(row, scale)
        gaps.append(f"{scale.replace('_', ' ')} {_Number(gap.d):+.2f} (p = {gap.p:.2g})")
    if len(gaps) < 2:
        return line
    return f"{line} d by {', by '.join(gaps)}: a gap has to show in all of them."


def ceiling_line(row: VerdictRow | None) -> str:
    """Return a line on what an additive explanation could reach in each group; else nothing."""
    ceilings = {} if row is None else ceilings_of(row)
    if row is None or not ceilings:
        return ""
    numbers = " and ".join(f"{_Number(c):.2f} for {group}" for group, c in ceilings.items())
    line = f"The best additive explanation found would reach {numbers}."
    if CEILINGS_DIFFER not in row.flags:
        return line
    harder = min(ceilings, key=lambda group: ceilings[group])
    return f"{line} The classifier itself is harder to foresee on {harder} texts."


def right_line(row: VerdictRow | None) -> str:
    """Return a line on the verdict among texts that are predicted rightly; else nothing."""
    if row is None or not _shares_are_known(row):
        return ""
    line = (
        "Among the texts that are predicted rightly "
        f"({percent(row.share_right_a)} of {row.group_a} and "
        f"{percent(row.share_right_b)} of {row.group_b}): "
    )
    if not row.verdict_right:
        return f"{line}not tested."
    label = verdict_of(row.verdict_right).label.lower()
    return (
        f"{line}{label} ({row.group_a} {_Number(row.right_mean_a):.3g}, "
        f"{row.group_b} {_Number(row.right_mean_b):.3g}; d = {_Number(row.right_d):.2f})."
    )


def _shares_are_known(row: VerdictRow) -> bool:
    """Return whether it is known how often the classifiers are right for both groups."""
    return math.isfinite(row.share_right_a) and math.isfinite(row.share_right_b)


def notes_of(row: VerdictRow | None) -> list[str]:
    """Return the meanings of a verdict's flags that limit its conclusions."""
    flags = () if row is None else row.flags
    return [f"{capitalised(meaning_of(flag))}." for flag in _TOLD if flag in flags]


def told_flags(rows: Iterable[VerdictRow]) -> list[tuple[str, int, str]]:
    """Return the flags that limit conclusions: how many of some verdicts have each, its meaning."""
    counts = Counter(flag for row in rows for flag in row.flags if flag in _TOLD)
    return [(flag, counts[flag], meaning_of(flag)) for flag in sorted(counts)]


def certainty(rows: Iterable[VerdictRow]) -> str:
    """Return which group the classifiers of a dataset are surer of; empty if unknown."""
    by_place = grouped(rows, attrgetter("model", "group_a", "group_b", "certainty_d", "surer_of"))
    several = len({(group_a, group_b) for _, group_a, group_b, *_ in by_place}) > 1
    words = []
    for (model, group_a, group_b, d, group), members in by_place.items():
        if math.isnan(d):
            continue
        sure = f"is surer of {group}" if group else "is not shown to be surer of either"
        pair = f", {group_a} − {group_b}" if several else ""
        facts = f"gap {_Number(d):+.2f}{pair}{_other_facts(members)}"
        words.append(f"{model} {sure} ({facts})")
    return "; ".join(words)


def _other_facts(rows: Sequence[VerdictRow]) -> str:
    """Return how often classifiers are right for each group, and d of length and of what counts."""
    first = rows[0]
    words = ""
    if _shares_are_known(first):
        words += (
            f"; right for {100 * first.share_right_a:.0f} and {100 * first.share_right_b:.0f} %"
        )
    if math.isfinite(first.length_d):
        words += f"; number of words: gap {_Number(first.length_d):+.2f}"
    # Rows of skill alone know it.
    counting = next((row.counting_d for row in rows if math.isfinite(row.counting_d)), math.nan)
    if math.isfinite(counting):
        words += f"; units that count: gap {_Number(counting):+.2f}"
    return words


def is_gap(row: VerdictRow) -> bool:
    """Return whether a row has a verdict that counts as a gap."""
    judgement = judgement_of(row)
    return judgement is not None and judgement.is_gap


def names_favoured(row: VerdictRow) -> bool:
    """Return whether a row has a verdict that names the favoured group."""
    judgement = judgement_of(row)
    return judgement is not None and judgement.favours


def is_alike(row: VerdictRow) -> bool:
    """Return whether a row has the verdict that groups are treated alike."""
    judgement = judgement_of(row)
    return judgement is not None and judgement.tone == "good"


def is_open(row: VerdictRow) -> bool:
    """Return whether a row was tested, and its verdict settles nothing."""
    judgement = judgement_of(row)
    return judgement is not None and judgement.tone == "open"


def is_decided(verdict_id: str | None) -> bool:
    """Return whether a verdict settles anything; None, of a cell without one, does not."""
    return verdict_id is not None and verdict_of(verdict_id).tone != "open"


def rests_on_one_training(row: VerdictRow) -> bool:
    """Return whether a row would be decided, but for what a single training shows."""
    return is_open(row) and CARRIED in row.flags


def counts_of(rows: Iterable[VerdictRow]) -> list[Counts]:
    """Count cells by quantity and verdict, in the order of :data:`QUANTITIES`."""
    cells = list(rows)
    counts = []
    for quantity in QUANTITIES:
        members = [row for row in cells if is_of(row, quantity)]
        if members:
            n_cells = Counter(row.verdict for row in members)
            by_verdict = {verdict.id: n_cells[verdict.id] for verdict in verdicts.VERDICTS}
            untested = len(members) - sum(by_verdict.values())
            strict = sum(is_decided(row.verdict_strict) for row in members if row.verdict)
            n_seeds = Counter(row.n_seeds for row in members).most_common(1)[0][0]
            counts.append(Counts(quantity, by_verdict, untested, strict, n_seeds))
    return counts


def untested_reason(row: VerdictRow) -> Untested:
    """Return the main reason why a row has no verdict."""
    flags = row.flags
    otherwise = "; ".join(map(meaning_of, flags)) or "no test applies to the scores"
    return main_reason(flags) or Untested(otherwise, "look at the scores")


def untested_text(row: VerdictRow) -> str:
    """Return what is written in place of a verdict."""
    return f"not tested: {untested_reason(row).why}"


def any_tested(rows: Iterable[VerdictRow]) -> bool:
    """Return whether any cell has a verdict."""
    return any(row.verdict for row in rows)


def _reasons(rows: Iterable[VerdictRow]) -> list[tuple[Untested, int]]:
    """Return why cells have no verdict, and of how many each is the reason, the commonest first."""
    return Counter(untested_reason(row) for row in rows if not row.verdict).most_common()


def untested_sentences(rows: Sequence[VerdictRow]) -> list[str]:
    """Return a sentence for each reason why cells have no verdict, with a remedy."""
    return [
        f"{n:,} of {len(rows):,} {'comparison' if len(rows) == 1 else 'comparisons'} "
        f"{'was' if n == 1 else 'were'} not tested, because "
        f"{reason.why}: {reason.change}."
        for reason, n in _reasons(rows)
    ]


def untested_changes(rows: Sequence[VerdictRow]) -> list[str]:
    """Return a sentence for each reason why cells have no verdict: what to change, and for what."""
    return [
        f"{capitalised(reason.change)}: {n:,} of {len(rows):,} comparisons "
        f"{'was' if n == 1 else 'were'} not tested."
        for reason, n in _reasons(rows)
    ]


def nothing_found(rows: Sequence[VerdictRow], *, one_training: bool) -> str:
    """Return how large a gap may still be if no verdict counts as one; empty otherwise."""
    tested = [row for row in rows if row.verdict]
    if not rows or any(map(is_gap, tested)):
        return ""
    if not tested:
        return "Nothing could be tested, so nothing is known about gaps."
    if all(is_decided(row.verdict) for row in tested):
        return f"Every comparison that was tested is {labels_of('good')}."
    controlled = all(row.quantity in CONTROLLED for row in rows)
    than = "larger than what random explanations show" if controlled else "shown"
    by = " by forward simulation" if all(row.foresees for row in rows) else ""
    sentence = (
        f"After correction for the number of comparisons, no gap between groups{by} is {than}"
    )
    sentence += ". That does not show that there is none"
    least = detectable(rows)
    if least == least:
        gap = "gap" if one_training else "mean gap"
        sentence += f": half of the comparisons would have shown a {gap} of {least:.2g}"
    return f"{sentence}."


_FEWER = 0.9
"""Share of another detectable |d| from which a smaller one is worth a word."""


def needed(row: VerdictRow) -> str:
    """Return whether more ``texts`` or more ``trainings`` help an open cell; empty if neither more.

    By what would be found with twice as many of either: trainings count by their variance and by
    their degrees of freedom.
    """
    judgement = judgement_of(row)
    if judgement is None or judgement.settles or row.n_seeds < 2:
        return ""
    if row.detectable_with_twice_the_texts < _FEWER * row.detectable_with_twice_the_trainings:
        return "texts"
    if row.detectable_with_twice_the_trainings < _FEWER * row.detectable_with_twice_the_texts:
        return "trainings"
    return ""


def detectable(rows: Iterable[VerdictRow]) -> float:
    """Return the mean |d| that half of some cells would find; NaN if none was tested."""
    effects = [row.minimal_detectable_effect_corrected for row in rows if row.verdict]
    defined = [effect for effect in effects if effect == effect]
    return median(defined) if defined else math.nan


def run_of(rows: Iterable[VerdictRow]) -> str:
    """Return the name of a run behind some rows: training or prompt, or run if there are both."""
    runs = {row.run or TRAINING for row in rows}
    return runs.pop() if len(runs) == 1 else "run" if runs else TRAINING


def missed_line(n_seeds: int, run: str = TRAINING) -> str:
    """Return how rare a bad run must be to be missed; empty for a single run."""
    if n_seeds < 2:
        return ""
    missed = 1 - 0.05 ** (1 / n_seeds)  # so frequent, and none among them in 5 % of studies
    kind = "bad training" if run == TRAINING else f"{run} with another gap"
    return (
        f"With {n_seeds} {run}s, a kind of {kind} that occurs in fewer than {100 * missed:.0f} % "
        "of cases can be missed."
    )


def sentence_of(row: VerdictRow | None, threshold: float) -> str:
    """Return the sentence of a cell's verdict; empty without a verdict."""
    verdict = None if row is None else judgement_of(row)
    if row is None or verdict is None:
        return ""
    n_favoured = row.seeds_below if row.d < 0 else row.seeds_above
    n_other = row.seeds_above if row.d < 0 else row.seeds_below
    favoured = favoured_group(row)
    other = other_group(row)
    preference = preference_of(row)
    template = verdict.sentence_of_one if row.n_seeds == 1 else verdict.sentence
    if verdict.is_gap and "not_relative" in row.flags:
        template += " No random explanations are scored by this metric: the gap may come from the "
        template += "classifier or the texts."
    template += _more(row)
    least = row.minimal_detectable_effect_corrected
    mean = "mean " * (row.n_seeds > 1)
    return template.format(
        d=_Number(row.d),
        rms_gap=_Number(row.rms_gap),
        rms_low=_Number(row.rms_low),
        rms_high=_Number(row.rms_high),
        n_seeds=row.n_seeds,
        run=run_of([row]),
        threshold=threshold,
        better=preference.texts,
        favour=preference.runs,
        levels=_levels(row, favoured, other) if favoured else "",
        detectable=f" A {mean}gap of {least:.2g} would have been found." * (least == least),
        favoured=favoured,
        other=other,
        n_favoured=n_favoured,
        n_other=n_other,
    )


def _levels(row: VerdictRow, first: str, second: str) -> str:
    """Return the levels of two groups, to stand before a d; empty where they are unknown."""
    levels = levels_of(row)
    if not levels:
        return ""
    return f"{_Number(levels[first]):.3g}, {second} {_Number(levels[second]):.3g}; "


def _more(row: VerdictRow) -> str:
    """Return a template on what an open cell lacks; empty if nothing is clear."""
    what = needed(row)
    if not what:
        return ""
    by_texts = row.detectable_with_twice_the_texts
    by_runs = row.detectable_with_twice_the_trainings
    if what == "texts":
        return (
            f" Twice the texts would show a mean gap of {by_texts:.2g}, and twice the "
            f"{{run}}s one of {by_runs:.2g}."
        )
    return (
        f" Twice the {{run}}s would show a mean gap of {by_runs:.2g}, and twice the texts "
        f"one of {by_texts:.2g}."
    )


def legend(*, threshold: float, single: bool, run: str = TRAINING) -> dict[str, str]:
    """Return the general meaning of each verdict by its label; ``single``: for one classifier."""
    run = "classifier" if single else run
    return {
        verdict.label: verdict.meaning.format(threshold=threshold, run=run)
        for verdict in verdicts.VERDICTS
        if verdict.sentence_of_one or not single
    }


def effect_size(row: VerdictRow) -> float:
    """Return the size of a gap: |d| if its verdict names a favoured group, else R."""
    is_named = names_favoured(row) or not math.isfinite(row.rms_gap)
    return abs(row.d) if is_named else row.rms_gap


def meaning_of(flag: str) -> str:
    """Return the meaning of a flag; a plug-in's flag is its own meaning."""
    return FLAGS[flag].meaning if flag in FLAGS else flag.replace("_", " ")


def noise_of(tests: Iterable[SeedTest]) -> set[tuple[str, str, str]]:
    """Return (dataset, model, method) of the tests whose attributions are rounding errors."""
    return {
        (test.dataset, test.model, test.method) for test in tests if ROUNDING_NOISE in test.flags
    }
