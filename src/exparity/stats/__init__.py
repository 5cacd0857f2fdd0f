"""Group statistics: is a metric's distribution the same for every group?"""

from exparity.stats.compare import GroupComparison, compare_groups

__all__ = ["GroupComparison", "compare_groups"]
