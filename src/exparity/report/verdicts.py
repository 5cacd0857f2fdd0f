"""Verdicts in words: the sentence of a cell, and of a number of cells.

What a verdict is called, says and counts as is in :data:`exparity.stats.verdicts.VERDICTS` alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from exparity.core.formats import capitalised, percent
from exparity.report.preference import (
    favoured_group,
    levels_of,
    other_group,
    preference_of,
)
from exparity.stats import verdicts
from exparity.stats.among import CEILINGS_DIFFER
from exparity.stats.crossed import TRAINING
from exparity.stats.flags import FLAGS
from exparity.stats.skill import LITTLE_ROOM, SCALES, Scale
from exparity.stats.untested import Untested, main_reason
from exparity.stats.verdicts import RANKS, STANDING, Verdict, foresees, rank_of

ROUNDING_NOISE = "rounding_noise"
Row = Mapping[str, Any]


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
_TOLD = (
    *("counting_units_differ", "depends_on_scale", "driven_by_one_training", "ideal_cannot_tell"),
    *("log_odds_cannot_tell", "no_room", "probability_cannot_tell", "reference_beaten"),
    *("room_differs", "stepless", "texts_left_out", "texts_not_comparable"),
)
"""Flags of a verdict that readers must know of before they believe it."""
_COUNTING = "counting_d"


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
        return sum(n for id, n in self.by_verdict.items() if is_decided(id))


def verdict_of(id: str) -> Verdict:
    """Return a verdict by its id."""
    return next(verdict for verdict in verdicts.VERDICTS if verdict.id == id)


def is_of(row: Row, quantity: str) -> bool:
    """Return whether a row is of one of :data:`QUANTITIES`."""
    if quantity == "random_stands":
        return bool(row["stands"]) and is_random(row)
    if quantity in RANKS:
        return bool(row["stands"]) and not is_random(row) and rank_of(row) == quantity
    return bool(row["quantity"] == quantity)


def is_foreseen(rows: Iterable[Row]) -> bool:
    """Return whether forward simulation says what comes first."""
    return any(row["headline"] and foresees(row) for row in rows)


def standing_of(rows: Iterable[Row]) -> Row:
    """Return the row whose verdict counts for a cell; empty if there is none."""
    return next((row for row in rows if row["stands"]), {})


def moved(cell: Mapping[str, Row]) -> str:
    """Return the gaps of a cell, from its score to its skill, and the verdict that counts.

    ``cell`` has rows by quantity. Empty if there are fewer than two.
    """
    gaps = [f"{q} {_Number(cell[q]['d']):.2f}" for q in reversed(STANDING) if q in cell]
    row = standing_of(cell.values())
    if len(gaps) < 2 or not row:
        return ""
    return f"{capitalised(', '.join(gaps))}: {row['verdict'] or untested_text(row)}"


def only_certainty(cell: Mapping[str, Row], threshold: float) -> str:
    """Return why scores or their excess have a gap and skill has none; empty for other cells."""
    skill = cell.get("skill", {})
    others = [cell[name]["verdict"] for name in ("score", "excess") if name in cell]
    if not skill.get("verdict") or verdict_of(skill["verdict"]).is_gap:
        return ""
    if not any(verdict and verdict_of(verdict).is_gap for verdict in others):
        return ""
    d = skill["certainty_d"]
    less = skill["group_b"] if d > 0 else skill["group_a"]
    if abs(d) >= threshold and math.isfinite(skill["d_ranks"]):  # else no falls are counted
        return (
            f"The classifier is less sure of {less}; this shows no difference of the explanations."
        )
    return "By skill, no difference of the explanations is shown."


def skills_of(row: Row) -> str:
    """Return a sentence on the skill of both groups, without its full stop."""
    n_scales = len(_scales_of(row))
    ends = "random order (0 %) to the best order found (100 %)"
    if n_scales == 1:
        ends = "random explanations (0 %) to one that beats all of them (100 %)"
    elif row.get("metric_kind") == "communication":
        ends = "random words (0 %) to the whole text (100 %)"
    elif not n_scales:
        ends = "random explanations (0 %) to ideal ones (100 %)"
    a, b = (f"{row[f'group_{s}']} reach {_Number(100 * row[f'skill_{s}']):.0f} %" for s in "ab")
    return f"From {ends}, explanations of {a}, and those of {b}"


def _scales_of(row: Row) -> list[Scale]:
    """Return the ways in which a skill counts falls; none of one of the scores themselves."""
    return [scale for scale in SCALES if math.isfinite(row[f"d_{scale}"])]


def skill_line(cell: Mapping[str, Row]) -> str:
    """Return a line on the skill of both groups, their room and d on each scale; else nothing."""
    row = cell.get("skill", {})
    if not row or math.isnan(row["skill_a"] + row["skill_b"]):
        return ""
    rooms = [f"{_Number(row[f'room_{side}']):.2f}" for side in "ab"]
    little = [f"{100 * row[f'little_room_{side}']:.0f}" for side in "ab"]
    line = (
        f"{skills_of(row)}. The way is {rooms[0]} and {rooms[1]} long, and shorter than "
        f"{LITTLE_ROOM} in {little[0]} and {little[1]} % of texts."
    )
    gaps = [
        f"{scale.replace('_', ' ')} {_Number(row[f'd_{scale}']):+.2f} (p = {row[f'p_{scale}']:.2g})"
        for scale in _scales_of(row)
    ]
    if len(gaps) < 2:
        return line
    return f"{line} d by {', by '.join(gaps)}: a gap has to show in all of them."


def ceiling_line(row: Row) -> str:
    """Return a line on what an additive explanation could reach in each group; else nothing."""
    ceilings = {row.get(f"group_{side}"): row.get(f"ceiling_{side}", math.nan) for side in "ab"}
    if not all(map(math.isfinite, ceilings.values())):
        return ""
    each = " and ".join(f"{_Number(c):.2f} for {group}" for group, c in ceilings.items())
    line = f"The best additive explanation found would reach {each}."
    if CEILINGS_DIFFER not in row.get("flags", ()):
        return line
    harder = min(ceilings, key=lambda group: ceilings[group])
    return f"{line} The classifier itself is harder to foresee on {harder} texts."


def right_line(row: Row) -> str:
    """Return a line on the verdict among texts that are predicted rightly; else nothing."""
    shares = [row.get(f"share_right_{side}", math.nan) for side in "ab"]
    if not all(map(math.isfinite, shares)):
        return ""
    of_groups = " and ".join(
        f"{percent(share)} of {row[f'group_{side}']}"
        for side, share in zip("ab", shares, strict=True)
    )
    line = f"Among the texts that are predicted rightly ({of_groups}): "
    if not row["verdict_right"]:
        return f"{line}not tested."
    levels = ", ".join(
        f"{row[f'group_{side}']} {_Number(row[f'right_mean_{side}']):.3g}" for side in "ab"
    )
    d = f"d = {_Number(row['right_d']):.2f}"
    return f"{line}{verdict_of(row['verdict_right']).label.lower()} ({levels}; {d})."


def notes_of(row: Row) -> list[str]:
    """Return the meanings of a verdict's flags that limit its conclusions."""
    return [f"{capitalised(meaning_of(flag))}." for flag in _TOLD if flag in row.get("flags", ())]


def certainty(rows: Iterable[Row], threshold: float) -> str:
    """Return which group the classifiers of a dataset are surer of; empty if unknown."""
    gaps: dict[tuple[str, str, str, float], dict[str, Any]] = {}
    for row in rows:
        place = row["model"], row["group_a"], row["group_b"], row["certainty_d"]
        first = gaps.setdefault(place, {**row})
        if not math.isfinite(first.get(_COUNTING, math.nan)):  # rows of skill alone know it
            first[_COUNTING] = row.get(_COUNTING, math.nan)
    several = len({(a, b) for _, a, b, _ in gaps}) > 1
    words = []
    for (model, a, b, d), row in gaps.items():
        surer = f"surer of {a if d > 0 else b}"
        sure = f"is {surer if abs(d) >= threshold else 'about as sure of both'}"
        pair = f", {a} − {b}" if several else ""
        facts = f"d = {_Number(d):+.2f}{pair}{_other_facts(row)}"
        words += [f"{model} {sure} ({facts})"] if d == d else []
    return "; ".join(words)


def _other_facts(row: Row) -> str:
    """Return how often classifiers are right for each group, and d of length and of what counts."""
    shares = [row.get(f"share_right_{side}", math.nan) for side in "ab"]
    length = row.get("length_d", math.nan)
    words = ""
    if all(map(math.isfinite, shares)):
        words += f"; right for {100 * shares[0]:.0f} and {100 * shares[1]:.0f} %"
    if math.isfinite(length):
        words += f"; number of words d = {_Number(length):+.2f}"
    counting = row.get(_COUNTING, math.nan)
    if math.isfinite(counting):
        words += f"; units that count d = {_Number(counting):+.2f}"
    return words


def is_random(row: Row) -> bool:
    """Return whether a row of the verdicts artefact is of random explanations themselves."""
    return str(row["quantity"]).startswith("random_")


def is_gap(row: Row) -> bool:
    """Return whether a row has a verdict that counts as a gap."""
    return bool(row["verdict"]) and verdict_of(row["verdict"]).is_gap


def is_alike(row: Row) -> bool:
    """Return whether a row has the verdict that groups are treated alike."""
    return bool(row["verdict"]) and verdict_of(row["verdict"]).tone == "good"


def is_decided(id: str) -> bool:
    """Return whether a verdict settles anything."""
    return verdict_of(id).tone != "open"


def counts_of(rows: Iterable[Row]) -> list[Counts]:
    """Count cells by quantity and verdict, in the order of :data:`QUANTITIES`."""
    cells = list(rows)
    counts = []
    for quantity in QUANTITIES:
        own = [row for row in cells if is_of(row, quantity)]
        if own:
            n, seeds = (Counter(row[name] for row in own) for name in ("verdict", "n_seeds"))
            by_verdict = {one.id: n[one.id] for one in verdicts.VERDICTS}
            untested = len(own) - sum(by_verdict.values())
            strict = sum(is_decided(row["verdict_strict"]) for row in own if row["verdict"])
            n_seeds = seeds.most_common(1)[0][0]
            counts.append(Counts(quantity, by_verdict, untested, strict, n_seeds))
    return counts


def untested_reason(row: Row) -> Untested:
    """Return the main reason why a row has no verdict."""
    flags = row.get("flags", ())
    otherwise = "; ".join(map(meaning_of, flags)) or "no test applies to the scores"
    return main_reason(flags) or Untested(otherwise, "look at the scores")


def untested_text(row: Row) -> str:
    """Return what is written in place of a verdict."""
    return f"not tested: {untested_reason(row).why}"


def untested_sentences(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each reason why cells have no verdict, with a remedy."""
    reasons = Counter(untested_reason(row) for row in rows if not row["verdict"])
    return [
        f"{n:,} of {len(rows):,} {'comparison' if len(rows) == 1 else 'comparisons'} "
        f"{'was' if n == 1 else 'were'} not tested, because "
        f"{reason.why}: {reason.change}."
        for reason, n in reasons.most_common()
    ]


def nothing_found(rows: Sequence[Row], *, one_training: bool) -> str:
    """Return how large a gap may still be if no verdict counts as one; empty otherwise."""
    tested = [row for row in rows if row["verdict"]]
    if not rows or any(map(is_gap, tested)):
        return ""
    if not tested:
        return "Nothing could be tested, so that nothing is known of a gap."
    if all(is_decided(row["verdict"]) for row in tested):
        return "Every comparison that was tested is equivalent."
    controlled = all(row["quantity"] in CONTROLLED for row in rows)
    than = "larger than what random explanations show" if controlled else "shown"
    sentence = f"After correction for the number of comparisons, no gap between groups is {than}. "
    sentence += "That does not show that there is none"
    least = detectable(rows)
    if least == least:
        gap = "gap" if one_training else "mean gap"
        sentence += f": half of the comparisons would have shown a {gap} of |d| = {least:.2g}"
    return f"{sentence}."


_FEWER = 0.9
"""Share of another detectable |d| from which a smaller one is worth a word."""


def needed(row: Row) -> str:
    """Return whether more ``texts`` or more ``trainings`` help an open cell; empty if neither more.

    By what would be found with twice as many of either: trainings count by their variance and by
    their degrees of freedom.
    """
    verdict = row["verdict"]
    if not verdict or verdict_of(verdict).settles or row["n_seeds"] < 2:
        return ""
    least = {what: row.get(name, math.nan) for what, name in verdicts.TWICE.items()}
    for what, other in (("texts", "trainings"), ("trainings", "texts")):
        if least[what] < _FEWER * least[other]:
            return what
    return ""


def detectable(rows: Iterable[Row]) -> float:
    """Return the mean |d| that half of some cells would find; NaN if none was tested."""
    effects = [row["minimal_detectable_effect_corrected"] for row in rows if row["verdict"]]
    known = [effect for effect in effects if effect == effect]
    return median(known) if known else math.nan


def run_of(rows: Iterable[Row]) -> str:
    """Return the name of a run behind some rows: training or prompt, or run if there are both."""
    runs = {row.get("run") or TRAINING for row in rows}
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


def sentence_of(row: Row, threshold: float) -> str:
    """Return the sentence of a cell's verdict; empty without a verdict."""
    if not row.get("verdict"):
        return ""
    verdict = verdict_of(row["verdict"])
    seeds = [row["seeds_above"], row["seeds_below"]]
    if row["d"] < 0:
        seeds.reverse()
    favoured, other, preference = favoured_group(row), other_group(row), preference_of(row)
    template = verdict.sentence_of_one if row["n_seeds"] == 1 else verdict.sentence
    if verdict.is_gap and "not_relative" in row.get("flags", ()):
        template += " No random explanations are scored by this metric: the gap may be one of the "
        template += "classifier or the texts."
    template += _more(row)
    least, mean = row["minimal_detectable_effect_corrected"], "mean " * (row["n_seeds"] > 1)
    numbers = ("d", "rms_gap", "rms_low", "rms_high")
    return template.format(
        **{name: _Number(row[name]) for name in numbers},
        n_seeds=row["n_seeds"],
        run=run_of([row]),
        threshold=threshold,
        better=preference.texts,
        favour=preference.runs,
        levels=_levels(row, favoured, other) if favoured else "",
        detectable=f" A {mean}gap of |d| = {least:.2g} would have been found." * (least == least),
        favoured=favoured,
        other=other,
        n_favoured=seeds[0],
        n_other=seeds[1],
    )


def _levels(row: Row, first: str, second: str) -> str:
    """Return the levels of two groups, to stand before a d; empty where they are unknown."""
    levels = levels_of(row)
    if not levels:
        return ""
    return f"{_Number(levels[first]):.3g}, {second} {_Number(levels[second]):.3g}; "


def _more(row: Row) -> str:
    """Return a template on what of the study an open cell lacks; empty if nothing stands out."""
    what = needed(row)
    if not what:
        return ""
    words = {"texts": "texts", "trainings": "{run}s"}
    other = next(name for name in words if name != what)
    least = {name: row[column] for name, column in verdicts.TWICE.items()}
    return (
        f" Twice the {words[what]} would show a mean gap of |d| = {least[what]:.2g}, and twice the "
        f"{words[other]} one of {least[other]:.2g}."
    )


def legend(*, threshold: float, of_one: bool, run: str = TRAINING) -> dict[str, str]:
    """Return the general meaning of each verdict by its label; ``of_one``: for one classifier."""
    return {
        one.label: one.meaning.format(threshold=threshold, run="classifier" if of_one else run)
        for one in verdicts.VERDICTS
        if one.sentence_of_one or not of_one
    }


def effect_size(row: Row) -> float:
    """Return the size of a gap: |d| if its verdict names a favoured group, else R."""
    d, rms = abs(row["d"]), row["rms_gap"]
    return d if verdict_of(row["verdict"]).favours or not math.isfinite(rms) else float(rms)


def meaning_of(flag: str) -> str:
    """Return the meaning of a flag; a plug-in's flag is its own meaning."""
    return FLAGS[flag].meaning if flag in FLAGS else flag.replace("_", " ")


def noise_of(rows: Iterable[Row]) -> set[tuple[str, str, str]]:
    """Return (dataset, model, method) of the tests whose attributions are rounding errors."""
    return {
        (row["dataset"], row["model"], row["method"])
        for row in rows
        if ROUNDING_NOISE in row["flags"]
    }
