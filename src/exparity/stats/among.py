"""Differences of two groups beside their explanations, and their gap among some texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exparity.stats.crossed import CrossedTest
from exparity.stats.omnibus import Omnibus
from exparity.stats.skill import ScaleTests
from exparity.types import Row

LEAST_CEILING = 0.2
"""Mean ceiling of a group below which there is hardly anything for explanations to foresee."""
UNLIKE_CEILINGS = 0.05
"""Smallest difference of the ceilings of two groups that the report names."""
NO_ROOM = "no_room"
CEILINGS_DIFFER = "ceilings_differ"


@dataclass(frozen=True)
class AmongRight:
    """The gap between two groups among the texts that classifiers predict rightly; NaN without.

    Fields are those of :class:`~exparity.stats.crossed.CrossedTest` and
    :class:`~exparity.stats.omnibus.Omnibus`, behind ``right_``.
    """

    right_n_seeds: int = 0
    right_n_a: int = 0
    right_n_b: int = 0
    right_mean_a: float = np.nan
    right_mean_b: float = np.nan
    right_estimate: float = np.nan
    right_d: float = np.nan
    right_p_mean: float = np.nan
    right_p_large: float = np.nan
    right_p_large_others: float = np.nan
    right_p_small: float = np.nan
    right_p_cross: float = np.nan
    right_equivalence_p: float = np.nan
    right_n_groups: int = 0
    right_omnibus_p: float = np.nan

    @classmethod
    def of(cls, test: CrossedTest, omnibus: Omnibus) -> AmongRight:
        """Return what a test of these texts says, and the test of all groups."""
        values = {**vars(test), **vars(omnibus)}
        return cls(**{name: values[name[len(_RIGHT) :]] for name in _FIELDS})


_RIGHT = "right_"
_FIELDS = tuple(AmongRight.__dataclass_fields__)


def among_right(row: Row) -> dict[str, object]:
    """Return a row of a gap as it is among rightly predicted texts.

    Nothing is known of them on one scale of skill alone.
    """
    rightly_predicted = {name[len(_RIGHT) :]: row[name] for name in _FIELDS}
    return {**row, **vars(ScaleTests()), **rightly_predicted}


@dataclass(frozen=True)
class GroupFacts:
    """Differences of two groups beside their explanations; mean over trainings, NaN where unknown.

    Attributes:
        certainty_d: d of the probability of the true class, first minus second group.
        surer_of: the group whose true class the classifiers are shown to be surer of; empty
            where neither is.
        length_d: d of the number of words of a text.
        share_right_a, share_right_b: share of each group that is predicted rightly.
        ceiling_a, ceiling_b: correlation that the best additive explanation found would have with
            what the classifier does, of metrics of forward simulation.
    """

    certainty_d: float = np.nan
    surer_of: str = ""
    length_d: float = np.nan
    share_right_a: float = np.nan
    share_right_b: float = np.nan
    ceiling_a: float = np.nan
    ceiling_b: float = np.nan

    def ceiling_flags(self, *, is_gap_shown: bool) -> list[str]:
        """Return flags of low ceilings, and of ceilings that differ, if a test shows a gap."""
        ceilings = np.array([self.ceiling_a, self.ceiling_b])
        flags = [NO_ROOM] if (ceilings < LEAST_CEILING).any() else []
        if is_gap_shown and abs(self.ceiling_a - self.ceiling_b) >= UNLIKE_CEILINGS:
            flags.append(CEILINGS_DIFFER)
        return flags
