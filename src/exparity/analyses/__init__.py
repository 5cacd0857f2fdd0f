"""Analyses beside the grid of tests: one folder each, with all that is said of it anywhere.

An analysis is a function from the paths of artefacts to an artefact of its own, registered with
:func:`analysis`. Rules, command line, config, plan and report follow from what it declares.
"""

from exparity.artefacts.analyses import (
    ANALYSES,
    AnalysisFacts,
    ExperimentView,
    Findings,
    analysis,
)
from exparity.artefacts.columns import KEY, fields
from exparity.artefacts.exports import Export

__all__ = [
    "ANALYSES",
    "KEY",
    "AnalysisFacts",
    "ExperimentView",
    "Export",
    "Findings",
    "analysis",
    "fields",
]
