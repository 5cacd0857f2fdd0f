"""The analyses of a config: where each one applies, and what its jobs depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from operator import eq
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.analyses import (
    ANALYSES,
    AnalysisFacts,
    arguments_of,
    config_options,
    inputs_of,
    made_by,
)
from exparity.config import digests
from exparity.config.resolved import Options, ResolvedConfig
from exparity.core.errors import InputError, did_you_mean
from exparity.core.registry import Entry
from exparity.core.validation import complete

Ids = Mapping[str, Any]
_FROM_CELL = {"metric_id": ("metric-id", "metric"), "machine": ("threads", "threads")}
"""Arguments that a job is given because its function has them: their flag and their value's id."""


class Analyses:
    """Analyses that a config asks for beside the grid of tests, and those that are always there."""

    def __init__(self, experiment: ResolvedConfig) -> None:
        self._experiment = experiment
        self.settings = {name: own or {} for name, own in experiment.config.analyses.items()}
        asked_for = [id for id in ANALYSES.ids() if not ANALYSES.get(id).facts.always]
        for name, settings in self.settings.items():
            if name not in asked_for:
                hint = did_you_mean(name, asked_for)
                raise InputError(f"analyses.{name}: there is no such analysis; {hint}")
            complete(config_options(ANALYSES.get(name)), settings, f"analyses.{name}")
            if not self.targets(name):
                lacks = [experiment.lacks[dataset] for dataset, _ in experiment.pairs]
                needs = [
                    n for n in ANALYSES.get(name).facts.needs if all(n in one for one in lacks)
                ]
                raise InputError(
                    f"analyses.{name}: no dataset has {' and '.join(needs) or 'a metric for it'}; "
                    "leave it out"
                )

    @cached_property
    def used(self) -> list[Entry[AnalysisFacts]]:
        """The analyses that are made, each after those that it reads; the report's order."""
        entries = [ANALYSES.get(id) for id in ANALYSES.ids()]
        used = {e.id: e for e in entries if e.facts.always or e.id in self.settings}
        maker = {artefact: e.id for e in used.values() for artefact in e.facts.writes}
        order = TopologicalSorter(
            {id: [maker[r] for r in e.facts.reads if r in maker] for id, e in used.items()}
        )
        return [used[id] for id in order.static_order()]

    @cached_property
    def grid(self) -> Mapping[str, Any]:
        """The axes of the grid, and what each analysis applies to."""
        targets = {one.id: self.targets(one.id) for one in self.used}
        return {**self._experiment.axes, "analyses": targets}

    def targets(self, name: str) -> list[tuple[str, ...]]:
        """Return what an analysis applies to, such as pairs of dataset and model."""
        facts = ANALYSES.get(name).facts
        if not self._experiment.metrics and self._reads_explanations(facts):
            return []
        names, metrics = facts.target, [[id] for id in self._experiment.metrics]
        targets = dict.fromkeys(
            (*pair[: len(names)], *metric)
            for pair in self._experiment.pairs
            for metric in (metrics if "metric" in names else [[]])
        )
        return [
            target
            for target in targets
            if self._job_options(name, dict(zip(names, target, strict=True))) is not None
            and self._applies(facts, dict(zip(names, target, strict=True)))
        ]

    def _applies(self, facts: AnalysisFacts, ids: Ids) -> bool:
        """Return whether a dataset has what an analysis needs, and metrics that it reads."""
        experiment = self._experiment
        if "dataset" not in ids:
            return any(self._applies(facts, {"dataset": d}) for d, _ in experiment.pairs)
        dataset = str(ids["dataset"])
        if any(need in experiment.lacks[dataset] for need in facts.needs):
            return False
        metrics = experiment.applying("metrics", dataset)
        if needs := facts.of_metrics.get("scores"):
            metrics = [id for id in metrics if id in experiment.metrics_that_need(needs)]
        reads = needs or self._reads_explanations(facts)
        return bool(metrics or not reads) and ids.get("metric", "") in ("", *metrics)

    def inputs(self, name: str, ids: Ids) -> dict[str, str | list[str]]:
        """Return what a job of an analysis reads, by the names of its function's inputs."""
        entry, experiment = ANALYSES.get(name), self._experiment
        grid = {**self.grid}
        named = tuple(ids[level] for level in ("dataset", "model") if level in ids)
        grid["pairs"] = _of_cell(grid["pairs"], named)
        grid["analyses"] = {id: _of_cell(cells, named) for id, cells in grid["analyses"].items()}
        if "seed" in ids:
            grid["seeds"] = [ids["seed"]]
        files: dict[str, str | list[str]] = {}
        reads = zip(inputs_of(entry.function).items(), entry.facts.reads, strict=True)
        for (argument, several), artefact in reads:
            needs = entry.facts.of_metrics.get(artefact)
            metrics = experiment.metrics_that_need(needs) if needs else None
            paths = [
                f"{experiment.results}/{layout.path_of(artefact, cell)}"
                for cell in layout.cells(grid, artefact)
                if all(str(cell.get(id, value)) == str(value) for id, value in ids.items())
                and (metrics is None or {**ids, **cell}["metric"] in metrics)
            ]
            if needs and not paths:
                continue
            if not several and len(paths) != 1:
                raise InputError(
                    f"analysis '{name}': reads {len(paths)} files of '{artefact}'; annotate "
                    f"'{argument}' as Sequence[Path]"
                )
            files[argument] = paths if several else paths[0]
        return files

    def flags(
        self,
        name: str,
        inputs: Mapping[str, str | list[str]],
        outputs: Sequence[str],
        ids: Mapping[str, Any],
    ) -> list[str]:
        """Return the flags of an analysis' command, beside its options."""
        entry = ANALYSES.get(name)
        function, flags = entry.function, []
        files: dict[str, str | list[str]] = {id: inputs.get(id, []) for id in inputs_of(function)}
        files |= zip(("output", *[*entry.facts.writes][1:]), outputs, strict=True)
        for argument, value in files.items():
            flags.append(f"--{argument.replace('_', '-')}")
            flags += [value] if isinstance(value, str) else value
        for argument in arguments_of(function):
            if argument in _FROM_CELL:
                flag, id = _FROM_CELL[argument]
                flags += [f"--{flag}", str(ids[id])]
        return flags

    def message(self, name: str) -> str:
        """Return what the workflow says of a job of an analysis."""
        entry = ANALYSES.get(name)
        return ", ".join([entry.display, *(f"{{wildcards.{id}}}" for id in entry.facts.levels)])

    def options(self, name: str, ids: Ids) -> Options:
        """Return what a job of an analysis depends on."""
        settings = dict(self._job_options(name, ids) or {})
        digest = digests.analysis(ANALYSES.get(name).source) + settings.pop("digest", "")
        return {**settings, "digest": digest}

    def _job_options(self, name: str, ids: Ids) -> Mapping[str, Any] | None:
        """Return the options of a job; None where the analysis does not apply."""
        settings, job_options = self.settings.get(name, {}), ANALYSES.get(name).facts.job_options
        return settings if job_options is None else job_options(self._experiment, ids, **settings)

    def _reads_explanations(self, facts: AnalysisFacts) -> bool:
        """Return whether what an analysis reads is made of what a method or metric makes."""
        return any(
            {"method", "metric"} & set(layout.levels(name))
            or ((entry := made_by(name)) and self._reads_explanations(entry.facts))
            for name in facts.reads
        )


def _of_cell(targets: Iterable[Sequence[str]], named: Sequence[str]) -> list[Sequence[str]]:
    """Return the targets that agree with the dataset, or dataset and model, of a cell."""
    return [target for target in targets if all(map(eq, target, named))]
