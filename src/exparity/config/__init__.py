"""The config of an experiment: validated, completed, and resolved cell by cell.

Everything that a rule needs to know of the config is computed here, so that the rules hold no
logic and all of it can be tested without Snakemake.
"""

from exparity.config.command_line import as_in_a_file
from exparity.config.experiment import Experiment, check_or_exit, load_or_exit
from exparity.config.instances import canonical
from exparity.config.outdated import mark_outdated

__all__ = [
    "Experiment",
    "as_in_a_file",
    "canonical",
    "check_or_exit",
    "load_or_exit",
    "mark_outdated",
]
