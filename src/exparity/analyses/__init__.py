"""Analyses beside the grid of tests: one folder each, with all its words and figures.

An analysis is a function from the paths of artefacts to the rows of an artefact of its own,
registered with :func:`analysis`. Rules, command line, config, plan and report follow from what it
declares. Stages that always run, such as the one of verdicts, register in the same way.
"""

from exparity.artefacts.analyses import ANALYSES, AnalysisFacts, ExperimentView, Findings, Table
from exparity.artefacts.columns import KEY, Export, plain_schema
from exparity.artefacts.running import StageResult, analysis

__all__ = [
    "ANALYSES",
    "KEY",
    "AnalysisFacts",
    "ExperimentView",
    "Export",
    "Findings",
    "StageResult",
    "Table",
    "analysis",
    "plain_schema",
]
