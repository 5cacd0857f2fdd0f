"""What stages and analyses compare: scores of a model, and the quantities that are made of them.

Their inputs are read and checked here, too, so that all of them refuse the same files.
"""
