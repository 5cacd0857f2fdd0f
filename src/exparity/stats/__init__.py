"""Group statistics: is a metric's distribution the same for every group?"""

from exparity.stats.compare import GroupComparison, compare_all, compare_groups
from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.mean_gap import Estimate
from exparity.stats.multiplicity import adjust, benjamini_hochberg, holm
from exparity.stats.power import minimal_detectable_effect, smallest_p
from exparity.stats.typical_gap import typical_gap
from exparity.stats.verdicts import VERDICTS, judge

__all__ = [
    "VERDICTS",
    "CrossedTest",
    "Estimate",
    "GroupComparison",
    "adjust",
    "benjamini_hochberg",
    "compare_all",
    "compare_groups",
    "crossed_tests",
    "holm",
    "judge",
    "minimal_detectable_effect",
    "smallest_p",
    "typical_gap",
]
