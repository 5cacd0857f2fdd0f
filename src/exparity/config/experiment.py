"""An experiment: a checked config, and the inputs, options and resources of its jobs."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from graphlib import TopologicalSorter
from itertools import chain
from operator import eq
from pathlib import Path
from typing import TypeVar

from exparity.artefacts import layout
from exparity.artefacts.analyses import (
    ANALYSES,
    AnalysisFacts,
    Options,
    analysis_making,
    arguments_of,
    config_options,
    inputs_of,
    shortcuts_of,
)
from exparity.artefacts.files import atomic_path
from exparity.artefacts.grid import GRID, Grid, grid_text
from exparity.artefacts.ids import Ids
from exparity.config import digests
from exparity.config.checks import check, check_results
from exparity.config.models import Config
from exparity.config.presets import with_preset
from exparity.config.resolved import Cell, ResolvedConfig
from exparity.core.errors import InputError, exit_on_bad_input, require_known
from exparity.core.plain import as_text
from exparity.core.registry import Entry
from exparity.core.strict import json_value, read_yaml
from exparity.core.validation import complete, read_settings
from exparity.models.folders import n_weights

Inputs = Mapping[str, str | list[str]]
"""Paths that a job reads, by the names of its function's inputs."""
_FULL_BYTES = 4
_BYTES = {"fp32": _FULL_BYTES, "bf16": 2, "fp16": 6}
"""Bytes of a weight in each precision."""
_SLACK = 1.3
"""Memory of a job for each byte of the model that it holds."""
OF_METRICS = {
    "counterfactuals": "counterfactual",
    "foresight": "foresight",
    "predictions": "messages",
}
"""Needs of metrics that read an artefact which only some metrics read."""
_FROM_CELL = {"metric_id": ("metric-id", "metric"), "machine": ("threads", "threads")}
"""Arguments that a job is given because its function has them: their flag and their value's id."""
_HELD_OF_TABLE = 25
"""Bytes that ``prepare`` holds of a byte of a table of short texts, with room to spare."""
_Target = TypeVar("_Target", bound=tuple[str, ...])
_COMPRESSED = {".gz": 5, ".parquet": 5}
"""Bytes of text in a byte of a compressed file."""


def load_or_exit(
    config: Mapping[str, object], files: Iterable[str | Path] = (), cores: int | None = None
) -> Experiment:
    """Make an experiment from Snakemake's config; on a config error, say so and exit with 2.

    Snakemake accepts repeated keys in a file and a negative number of cores silently.
    """
    with exit_on_bad_input():
        if cores is not None and cores < 0:
            raise InputError(f"--cores {cores}: write 1 or more, or all")
        for path in files:
            read_yaml(Path(path))
        experiment = Experiment.from_mapping(config)
        check_results(experiment)
    return experiment


class Experiment(ResolvedConfig):
    """A valid config: the grid that it spans, and the inputs, options and costs of each job."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        check(self)
        self.settings = {name: settings or {} for name, settings in config.analyses.items()}
        asked_for = [name for name in ANALYSES.ids() if not ANALYSES.get(name).facts.always]
        for name, settings in self.settings.items():
            require_known(name, asked_for, f"analyses.{name}: there is no such analysis")
            entry = ANALYSES.get(name)
            options = complete(config_options(entry), settings, f"analyses.{name}")
            if entry.facts.job_options is not None:
                self.settings[name] = {**options, **settings}
            if not [*self._targets(entry)]:
                lacks = [self.lacks[dataset] for dataset, _ in self.pairs]
                needs = [need for need in entry.facts.needs if all(need in lack for lack in lacks)]
                raise InputError(
                    f"analyses.{name}: no dataset has {' and '.join(needs) or 'a metric for it'}; "
                    "leave it out"
                )

    @classmethod
    def from_mapping(cls, config: Mapping[str, object]) -> Experiment:
        """Validate a config against its description and the registries."""
        return cls(read_settings(Config, with_preset(json_value(config)), "config:"))

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables of jobs.

        They hold defaults of the command line that say how a job uses the machine and where raw
        files lie. The programs of the Python that runs Snakemake come first on the path, so that
        jobs run its exparity and no other; a rule's conda environment is activated later, within
        the job, and so comes before them.
        """
        engine = self.config.engine
        # Compute nodes often have no network, and jobs would wait minutes to find that out.
        by_itself = "SLURM_JOB_ID" not in os.environ
        may_download = by_itself if self.config.download == "auto" else self.config.download
        return {
            "PATH": search_path(),
            "EXPARITY_DATA_DIR": self.config.data_dir,
            "EXPARITY_DOWNLOAD": "1" if may_download else "0",
            **({} if may_download else {"HF_HUB_OFFLINE": "1"}),
            "EXPARITY_PLUGINS": os.pathsep.join(self.config.plugins),
            "EXPARITY_DEVICE": engine.device,
            "EXPARITY_TOKEN_BUDGET": str(engine.token_budget or ""),
            "EXPARITY_DEVICE_MAP": engine.device_map or "",
            "EXPARITY_MAX_MEMORY": engine.max_memory or "",
            "EXPARITY_MAX_CALLS": str(engine.max_calls or ""),
            "EXPARITY_SHORTCUTS": "1" if engine.shortcuts else "",
        }

    def gpu_slots(self, metric: str | None = None) -> int:
        """Return 1 for jobs that run a model on a GPU of this machine, else 0."""
        return int(self._gpu_here and (metric is None or self.runs_model(metric)))

    @cached_property
    def _gpu_here(self) -> bool:
        return shutil.which("nvidia-smi") is not None and self.config.engine.device != "cpu"

    def processes(self, ids: Cell) -> int:
        """Return how many processes train a model."""
        return self.training_of(ids).processes

    def memory_mb(self, stage: str, ids: Cell, least: int = 8000) -> int:
        """Return the memory that a job with a model is given, in MB.

        At least 1.3 times what it holds of the model and 3 GB, where the number of weights is
        known. A training holds weights, gradients and two moments, and with early stopping the best
        weights. A job on a CPU holds weights and a copy that is packed for one direction.
        """
        weights = self.weights.get(str(ids.get("model")))
        if weights is None:
            return least
        packs = not self.config.engine.device.startswith("cuda")
        # With fp16, the same model in fp32 is held as well, and packed.
        bytes_of = {"fp32": 8, "bf16": 4, "fp16": 10} if packs else _BYTES
        bytes_per_weight = float(bytes_of["fp32"])
        if stage == "finetune":
            training = self.training_of(ids)
            if training.epochs and training.lora is None:
                bytes_per_weight = _FULL_BYTES * (5 if training.patience else 4)
            bytes_per_weight *= self.processes(ids)
        else:
            bytes_per_weight = float(bytes_of[self._precision(ids)])
        if "metric" in ids:
            bytes_per_weight *= self.metrics[Ids(ids).metric].entry.facts.models
        return max(least, math.ceil(_SLACK * bytes_per_weight * weights / 1e6) + 3000)

    def table_memory_mb(self, ids: Cell, least: int) -> int:
        """Return ``least`` and the memory that reading the user's own tables takes, in MB."""
        sizes = (text_bytes(path) for path in map(Path, self.own_inputs("prepare", ids)))
        return least + math.ceil(_HELD_OF_TABLE * sum(sizes) / 1e6)

    @cached_property
    def weights(self) -> dict[str, int]:
        """Weights of the pretrained models, of those whose files are here."""
        return {
            model: count
            for model, settings in self.models.items()
            if (spec := settings.spec).checkpoint and spec.init == "pretrained"
            if (count := n_weights(spec.checkpoint, spec.revision))
        }

    @cached_property
    def analyses(self) -> list[Entry[AnalysisFacts]]:
        """The analyses that are made, each after those that it reads; the report's order."""
        entries = {name: ANALYSES.get(name) for name in ANALYSES.ids()}
        makers = {
            name: (entry.facts.reads, entry.facts.writes)
            for name, entry in entries.items()
            if entry.facts.always or name in self.settings
        }
        return [entries[name] for name in in_order(makers)]

    def _targets(self, entry: Entry[AnalysisFacts]) -> Iterator[tuple[str, ...]]:
        """Yield what an analysis applies to, such as pairs of dataset and model."""
        facts = entry.facts
        if not self.metrics and _reads_explanations(facts):
            return
        metrics = [[metric] for metric in self.metrics] if "metric" in facts.target else [[]]
        for target in dict.fromkeys(
            (*pair[: len(facts.target)], *metric) for pair in self.pairs for metric in metrics
        ):
            ids = dict(zip(facts.target, target, strict=True))
            if self._job_options(entry, ids) is not None and self._has_inputs(facts, ids):
                yield target

    def _has_inputs(self, facts: AnalysisFacts, ids: Cell) -> bool:
        """Return whether a dataset has what an analysis needs, and metrics that it reads."""
        if "dataset" not in ids:
            return any(self._has_inputs(facts, {"dataset": d}) for d, _ in self.pairs)
        dataset = Ids(ids).dataset
        if any(need in self.lacks[dataset] for need in facts.needs):
            return False
        metrics = self.applying("metrics", dataset)
        if needs := facts.metric_needs.get("scores"):
            metrics = [metric for metric in metrics if metric in self.metrics_that_need(needs)]
        reads = needs or _reads_explanations(facts)
        return bool(metrics or not reads) and ids.get("metric", "") in ("", *metrics)

    def options(self, name: str, ids: Cell) -> Options:
        """Return what the result of a stage or an analysis depends on, by the ids in its path."""
        if stage_options := getattr(self, f"{name}_options", None):
            options: Options = stage_options(**ids)
            return options
        entry = ANALYSES.get(name)
        settings = dict(self._job_options(entry, ids) or {})
        digest = digests.analysis(entry.source) + as_text(settings.pop("digest", ""))
        return {**settings, "digest": digest}

    def _job_options(self, entry: Entry[AnalysisFacts], ids: Cell) -> Mapping[str, object] | None:
        """Return the options of a job; None where the analysis does not apply."""
        facts = entry.facts
        settings = self.settings.get(entry.id, {})
        options = facts.job_options(self, Ids(ids), **settings) if facts.job_options else settings
        if options is None or not facts.statistics:
            return options
        block = self.config.statistics
        statistics: Options = {name: getattr(block, name) for name in facts.statistics}
        is_block = "statistics" in arguments_of(entry.function)
        return {**options, **({"statistics": statistics} if is_block else statistics)}

    def reads(self, name: str, ids: Cell) -> list[str]:
        """Return what a job of a stage or an analysis reads."""
        if name not in layout.STAGES:
            return _listed(self.inputs(name, ids).values())
        paths = self.own_inputs(name, ids)
        for artefact in layout.STAGES[name][0]:
            if artefact in OF_METRICS and "metric" in ids:
                paths += self.of_metric(artefact, ids)
            else:
                paths.append(f"{self.results}/{layout.path_of(artefact, ids)}")
        return paths

    def shortcuts(self, name: str, ids: Cell) -> set[str]:
        """Return what a job reads to save work, and its results do not depend on."""
        if name in layout.STAGES:
            return set()
        arguments = shortcuts_of(ANALYSES.get(name).function)
        inputs = self.inputs(name, ids)
        return {*_listed(inputs[argument] for argument in arguments if argument in inputs)}

    def inputs(self, name: str, ids: Cell) -> Inputs:
        """Return what a job of an analysis reads."""
        return self._listed_inputs(name, tuple(ids.items()))

    @cached_property
    def _listed_inputs(self) -> Callable[[str, tuple[tuple[str, str | int], ...]], Inputs]:
        # A plan asks three times for the inputs of each job, and looks for them in the whole grid.
        return cache(lambda name, ids: self._inputs(name, dict(ids)))

    def _inputs(self, name: str, ids: Cell) -> Inputs:
        entry = ANALYSES.get(name)
        named = tuple(ids[level] for level in ("dataset", "model") if level in ids)
        grid = replace(
            self.grid,
            pairs=_of_cell(self.pairs, named),
            analyses={
                analysis: _of_cell(cells, named) for analysis, cells in self.grid.analyses.items()
            },
            seeds=[Ids(ids).seed] if "seed" in ids else self.seeds,
        )
        files: dict[str, str | list[str]] = {}
        reads = zip(inputs_of(entry.function).items(), entry.facts.reads, strict=True)
        for (argument, several), artefact in reads:
            needs = entry.facts.metric_needs.get(artefact)
            metrics = self.metrics_that_need(needs) if needs else None
            paths = [
                f"{self.results}/{layout.path_of(artefact, cell)}"
                for cell in layout.cells(grid, artefact)
                if all(str(cell.get(level, value)) == str(value) for level, value in ids.items())
                and (metrics is None or Ids({**ids, **cell}).metric in metrics)
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
        self, name: str, inputs: Inputs, outputs: Sequence[str], ids: Mapping[str, object]
    ) -> list[str]:
        """Return the flags of an analysis' command, beside its options."""
        entry = ANALYSES.get(name)
        values = {argument: inputs.get(argument, []) for argument in inputs_of(entry.function)}
        values |= zip(("output", *[*entry.facts.writes][1:]), outputs, strict=True)
        level_flags = [
            _FROM_CELL[name] for name in arguments_of(entry.function) if name in _FROM_CELL
        ]
        values |= {flag: str(ids[level]) for flag, level in level_flags}
        flags = []
        for argument, value in values.items():
            flags.append(f"--{argument.replace('_', '-')}")
            flags += [value] if isinstance(value, str) else value
        return flags

    def of_metric(self, artefact: str, ids: Cell) -> list[str]:
        """Return the file of an artefact that a metric needs, if it does."""
        if Ids(ids).metric not in self.metrics_that_need(OF_METRICS[artefact]):
            return []
        return [f"{self.results}/{layout.path_of(artefact, ids)}"]

    def cost_options(self) -> Options:
        """Return what the costs of jobs depend on, beside the jobs."""
        return {"digest": digests.cost()}

    def report_options(self) -> Options:
        """Return what the report depends on, beside its inputs."""
        sources = tuple(entry.source for entry in self.analyses)
        return {**self.grid.as_json(), "digest": digests.report(sources)}

    @cached_property
    def grid(self) -> Grid:
        """Cells of the experiment, and settings of the report that shows them."""
        analyses = {entry.id: [*self._targets(entry)] for entry in self.analyses}
        return replace(self.axes, analyses=analyses)

    def report_inputs(self) -> list[str]:
        """Return the artefacts that the report is made from."""
        return layout.report_files(self.results, self.grid)

    def write_grid(self) -> None:
        """Write the grid into the results folder, so that its readers see what is missing."""
        with atomic_path(Path(self.results, GRID)) as path:
            path.write_text(grid_text(self.grid), encoding="utf-8")


def in_order(makers: Mapping[str, tuple[Iterable[str], Iterable[str]]]) -> list[str]:
    """Return makers, by name with what each reads and writes, each after those that it reads."""
    maker = {artefact: name for name, (_, writes) in makers.items() for artefact in writes}
    needs = {name: [maker[r] for r in reads if r in maker] for name, (reads, _) in makers.items()}
    return [*TopologicalSorter(needs).static_order()]


def text_bytes(path: Path) -> int:
    """Return the bytes of text in a file, uncompressed."""
    return path.stat().st_size * _COMPRESSED.get(path.suffix.lower(), 1)


def _listed(inputs: Iterable[str | list[str]]) -> list[str]:
    """Return the paths of inputs, some of which have several."""
    listed = ([paths] if isinstance(paths, str) else paths for paths in inputs)
    return [*chain.from_iterable(listed)]


def _reads_explanations(facts: AnalysisFacts) -> bool:
    """Return whether an analysis depends on explanations or scores."""
    return any(
        {"method", "metric"} & set(layout.levels(name))
        or ((entry := analysis_making(name)) and _reads_explanations(entry.facts))
        for name in facts.reads
    )


def _of_cell(targets: Iterable[_Target], named: Sequence[str | int]) -> list[_Target]:
    """Return the targets that agree with the dataset, or dataset and model, of a cell."""
    return [target for target in targets if all(map(eq, target, named))]


def search_path() -> str:
    """Return where jobs look for programs: beside this Python first, then where this process does.

    pip puts the command exparity elsewhere if it installs for one user.
    """
    programs = str(Path(sys.executable).parent)
    others = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([programs, *(path for path in others if path != programs)])
