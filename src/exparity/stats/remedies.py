"""Remedies of a gap: another method for the texts of the group that is explained worse.

Chosen on half of the matched sets, and reported on the other half: the best of several methods on
some texts is better there by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.multiplicity import holm
from exparity.stats.ranking import compare_methods
from exparity.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Remedy:
    """Another method for the group that a method serves worst.

    What is reported is of the half of the matched sets that chose nothing. Gain and gaps are
    positive where the replacement is better, and where the other group is.

    Attributes:
        method: the method as it is.
        group: the group that it serves worst, and ``other_group`` the one that it serves best.
        replacement: the method to explain texts of the group with instead.
        n_seeds, n_texts: trainings and texts of the group in which both methods have a value.
        level, level_after: mean value of the group with the method, and with the replacement.
        other_level: mean value of the other group, whose method stays.
        gain: how much better the level is afterwards.
        ci_low, ci_high: ends of the interval of the gain.
        gap, gap_after: how much better the level of the other group is, before and afterwards.
        p_gap: p-value of "the groups are alike with the method as it is".
        p: the larger one of ``p_gap`` and the p-value of "the replacement is as good", both two
            sided; 1 where the group is not worse off or not better served.
        p_holm: the same, corrected by Holm over the methods of a metric.
        helps: whether ``p_holm`` is at most α.
    """

    method: str
    group: str
    other_group: str
    replacement: str
    n_seeds: int = 0
    n_texts: int = 0
    level: float = np.nan
    level_after: float = np.nan
    other_level: float = np.nan
    gain: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan
    gap: float = np.nan
    gap_after: float = np.nan
    p_gap: float = np.nan
    p: float = np.nan
    p_holm: float = np.nan
    helps: bool = False


class Choice(NamedTuple):
    """What half of the texts choose.

    Attributes:
        method: the method as it is.
        group, other_group: the groups that it serves worst and best.
        replacement: the method with the best level in the worst-off group.
    """

    method: str
    group: str
    other_group: str
    replacement: str


class Gap(NamedTuple):
    """The gap between two groups that a method leaves, on the texts that chose nothing.

    Attributes:
        estimate: how much better the other group is served.
        p: two-sided p-value of "the groups are alike"; NaN where that is not tested.
    """

    estimate: float
    p: float


def choosing_half(
    ids: Sequence[str], groups: Sequence[str], sets: Sequence[str | None]
) -> BoolArray:
    """Return (n,) whether each text is of the half that chooses.

    Matched sets are kept together. Sets, and texts without one, are dealt out in turn in the order
    of a hash, those of the same groups after each other.
    """
    names = [own or f"text {key}" for own, key in zip(sets, ids, strict=True)]
    groups_of: dict[str, list[str]] = {}
    for name, group in zip(names, groups, strict=True):
        groups_of.setdefault(name, []).append(group)

    def turn(name: str) -> tuple[list[str], str]:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return sorted(groups_of[name]), digest

    chooses = {name: place % 2 == 0 for place, name in enumerate(sorted(groups_of, key=turn))}
    return np.array([chooses[name] for name in names], dtype=bool)


def choices_of(
    levels: Mapping[str, FloatArray], order: Sequence[str], *, higher_is_better: bool
) -> list[Choice]:
    """Return what to try in place of each method; nothing where no other is better.

    Args:
        levels: (g,) mean value of each group by method; NaN where unknown.
        order: the g groups.
        higher_is_better: whether higher values are better.
    """
    sign = 1.0 if higher_is_better else -1.0
    known = {method: sign * own for method, own in levels.items() if np.isfinite(own).all()}
    choices = []
    for method, own in known.items():
        worst = int(own.argmin())
        best = int(own.argmax())
        replacement = max(known, key=lambda name: known[name][worst])
        if worst != best and known[replacement][worst] > own[worst]:
            choices.append(Choice(method, order[worst], order[best], replacement))
    return choices


def remedies_of(
    values: Mapping[str, FloatArray],
    gaps: Mapping[Choice, Gap],
    groups: Sequence[str],
    sets: Sequence[str | None] | None = None,
    *,
    higher_is_better: bool,
    alpha: float = DEFAULTS.alpha,
    confidence: float = DEFAULTS.confidence,
) -> list[Remedy]:
    """Try what half of the texts have chosen on the others.

    A remedy helps where a gap is shown, and where the replacement is shown to be better for the
    group, on texts that chose neither. The other groups keep their method, so that nobody loses.

    Args:
        values: (s, n) values of s trainings and n texts by method, NaN where undefined.
        gaps: what has been chosen, and the gap that each method leaves.
        groups: (n,) group of each text.
        sets: (n,) matched set of each text.
        higher_is_better: whether higher values are better.
        alpha: largest corrected p-value that is significant.
        confidence: coverage of the intervals.
    """
    of_texts = np.array(groups, dtype=object)
    sign = 1.0 if higher_is_better else -1.0
    remedies = []
    for choice, gap in gaps.items():
        pair = {name: values[name] for name in (choice.replacement, choice.method)}
        tests = compare_methods(
            pair, groups, [choice.group], sets, higher_is_better=True, confidence=confidence
        )
        test = next(test for test in tests if test.group == choice.group)
        others = values[choice.method][:, of_texts == choice.other_group]
        other_level = float(np.nanmean(others)) if np.isfinite(others).any() else np.nan
        ends = sorted([sign * test.ci_low, sign * test.ci_high])
        gain = sign * test.difference
        helps = gain > 0 and gap.estimate > 0
        remedies.append(
            Remedy(
                *choice,
                n_seeds=test.n_seeds,
                n_texts=test.n_texts,
                level=test.mean_b,
                level_after=test.mean_a,
                other_level=other_level,
                gain=gain,
                ci_low=ends[0],
                ci_high=ends[1],
                gap=sign * (other_level - test.mean_b),
                gap_after=sign * (other_level - test.mean_a),
                p_gap=gap.p,
                p=float(np.maximum(gap.p, test.p)) if helps else 1.0,
            )
        )
    corrected = holm([remedy.p for remedy in remedies])
    return [
        replace(remedy, p_holm=float(p), helps=bool(p <= alpha))
        for remedy, p in zip(remedies, corrected, strict=True)
    ]
