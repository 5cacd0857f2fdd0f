"""Which jobs a cluster runs together, as one submission.

Jobs of a training share one, those of statistics and those of the report another. A job that asks
for an hour or more has its own, so that it has its own time limit and its own attempts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES, analysis_making
from exparity.artefacts.ids import Ids
from exparity.config.experiment import OF_METRICS, Experiment
from exparity.config.resolved import Cell
from exparity.costs.effort import Effort

TRAINING = "training.{dataset}.{model}.{seed}"
STATISTICS = "statistics"
REPORT = "report"
LONG_MINUTES = 60
"""From this time on, which a job's first attempt asks for, a job is a submission of its own."""
_OF_TRAINING = ("finetune", "explain", "evaluate")
"""Stages of a training, beside the analyses that are made unasked with its model."""


class Groups:
    """Submissions of an experiment's jobs."""

    def __init__(self, experiment: Experiment, effort: Effort) -> None:
        self._experiment = experiment
        self._effort = effort
        self._kinds = self._kinds_of_analyses()

    def kind_of(self, stage: str) -> str | None:
        """Return which submissions the jobs of a stage or an analysis share; None if none."""
        if stage in _OF_TRAINING:
            return TRAINING
        return self._kinds.get(stage, REPORT if stage in ("cost", "report") else None)

    def group_of(self, stage: str, ids: Cell) -> str | None:
        """Return the submission that a job belongs to; None if to one of its own.

        Two submissions must not wait for each other: jobs that read what a long job has made
        from the training are in another submission than it, named for that job.
        """
        kind = self.kind_of(stage)
        if kind != TRAINING:
            return kind
        if self._is_alone(stage, ids):
            return None
        before = (
            Ids(cell).method if maker == "explain" else maker
            for maker, cell in self._makers(stage, ids)
            if self._is_alone(maker, cell)
        )
        return ".".join((TRAINING.format(**ids), *before))

    def _is_alone(self, stage: str, ids: Cell) -> bool:
        if stage == "finetune":  # on several GPUs; the jobs after it would need one
            return self._experiment.processes(ids) > 1
        return self._effort.minutes(stage, ids) >= LONG_MINUTES

    def _makers(self, stage: str, ids: Cell) -> Iterator[tuple[str, Cell]]:
        """Yield the jobs after the training that make what a job reads: each stage, and its ids."""
        reads: Sequence[str]
        needs: Mapping[str, str]
        if stage in layout.STAGES:
            reads = layout.STAGES[stage][0]
            needs = OF_METRICS
        else:
            facts = ANALYSES.get(stage).facts
            reads = facts.reads
            needs = facts.metric_needs
        for artefact in reads:
            metrics = self._experiment.metrics_that_need(needs.get(artefact, ""))
            if artefact in needs and ids.get("metric") not in metrics:
                continue
            maker = layout.maker_of(artefact)
            if maker != "finetune" and self.kind_of(maker) == TRAINING:
                levels = layout.levels(artefact)
                yield maker, {level: value for level, value in ids.items() if level in levels}

    def _kinds_of_analyses(self) -> dict[str, str]:
        """Return the submissions of analyses, by id.

        Statistics of a model share submissions, unless they read what is made from other
        statistics elsewhere: a submission must not wait for itself.
        """
        kinds: dict[str, str] = {}
        behind: set[str] = set()
        for entry in self._experiment.analyses:
            facts = entry.facts
            makers = {maker.id for maker in map(analysis_making, facts.reads) if maker is not None}
            if facts.runs_model:
                if facts.always:
                    kinds[entry.id] = TRAINING
            elif facts.level == "experiment":
                kinds[entry.id] = REPORT
            elif "model" in facts.levels and not makers & behind:
                kinds[entry.id] = STATISTICS
            if kinds.get(entry.id) != STATISTICS and any(
                maker in behind or kinds.get(maker) == STATISTICS for maker in makers
            ):
                behind.add(entry.id)
        return kinds
