"""Results beside published numbers: matching, agreement, and claims counted again."""

from exparity.report.published.comparison import Comparison, compare_results
from exparity.report.published.output import write_comparison
from exparity.report.published.section import section_of
from exparity.report.published.study import STUDIES

__all__ = ["STUDIES", "Comparison", "compare_results", "section_of", "write_comparison"]
