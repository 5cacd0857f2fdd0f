"""Analyses beside the grid of tests: one folder each, with all its words and figures.

An analysis is a function from the paths of artefacts to the rows of an artefact of its own,
registered with :func:`analysis`. Rules, command line, config, plan and report follow from what it
declares. Stages that always run, such as the one of verdicts, register in the same way.
"""

from exparity.artefacts.analyses import ANALYSES as ANALYSES
from exparity.artefacts.analyses import CHANCE_IS_ZERO as CHANCE_IS_ZERO
from exparity.artefacts.analyses import AnalysisFacts as AnalysisFacts
from exparity.artefacts.analyses import ExperimentView as ExperimentView
from exparity.artefacts.analyses import Findings as Findings
from exparity.artefacts.analyses import Table as Table
from exparity.artefacts.analyses import metrics_that_foresee as metrics_that_foresee
from exparity.artefacts.analyses import metrics_with_limits as metrics_with_limits
from exparity.artefacts.analyses import where_methods_compete as where_methods_compete
from exparity.artefacts.columns import KEY as KEY
from exparity.artefacts.columns import Export as Export
from exparity.artefacts.columns import plain_schema as plain_schema
from exparity.artefacts.running import StageResult as StageResult
from exparity.artefacts.running import analysis as analysis
