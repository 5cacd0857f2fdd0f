"""Comparison with published numbers: studies as data, matching of cells, agreement, gaps."""
