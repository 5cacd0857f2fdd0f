"""The config of an experiment: validated, completed, and resolved cell by cell.

Everything that a rule needs to know of the config is computed here, so that the rules hold no
logic and all of it can be tested without Snakemake.
"""
