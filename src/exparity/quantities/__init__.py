"""Scores of a model, and the quantities that stages and analyses compare.

Their inputs are read and checked here, too, so that all of them refuse the same files.
"""
