"""Group statistics: is a metric's distribution the same for every group?"""

from exparity.stats.compare import GroupComparison, compare_all, compare_groups
from exparity.stats.multiplicity import adjust, benjamini_hochberg, holm
from exparity.stats.permutation import PermutedTest, permutation_control
from exparity.stats.seeds import SeedSummary, combine_p, summarise_seeds
from exparity.stats.significance import ControlRate, control_rates

__all__ = [
    "ControlRate",
    "GroupComparison",
    "PermutedTest",
    "SeedSummary",
    "adjust",
    "benjamini_hochberg",
    "combine_p",
    "compare_all",
    "compare_groups",
    "control_rates",
    "holm",
    "permutation_control",
    "summarise_seeds",
]
