"""How long jobs take, estimated before any has run: the time that a cluster gives them.

No result depends on it.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.ids import Ids
from exparity.config.experiment import Experiment, text_bytes
from exparity.config.resolved import Cell
from exparity.core.errors import InputError, exit_on_bad_input
from exparity.costs.calls import passes_of
from exparity.jobs.parts import USUAL_UNITS

CORE_GFLOPS = 50
"""Operations of a CPU core in a second, in billions; docs/performance.md has measured ones."""
LEAST_MINUTES = 10
"""Time that a job is given on top of its work."""
MOST_MINUTES = 24 * 60
"""Most time that a job asks for: partitions often give no more, and its parts stay."""
ROOM = 2
"""Time that a job is given for its work, in estimated times."""
_TEXTS = 1000
"""Test texts of a dataset where their number is not known."""
_LONGEST = 512
"""Tokens to which most models cut a text."""
_BYTES_OF_TOKEN = 5
_TEST_SHARE = 0.2
_SAMPLE_BYTES = 1 << 16
_WEIGHTS = 110_000_000
"""Weights of a model where its files are not here: those of BERT base."""
_BACKWARD = 3
"""A pass with its gradient, in passes without."""
_LEVELS = ("dataset", "model", "method", "metric")
"""Ids that decide on what a job takes."""


class Length(NamedTuple):
    """The test split of a dataset, roughly."""

    texts: int
    tokens: int  # of a text


class Effort:
    """Minutes of an experiment's jobs.

    Args:
        experiment: the config.
        gflops: operations a second of what jobs run on, in billions, as far as they are reached;
            if None, those of a CPU core, as with ``engine.device: cpu``.
    """

    def __init__(self, experiment: Experiment, gflops: int | None = None) -> None:
        self._experiment = experiment
        on_core = experiment.config.engine.device == "cpu"
        self._gflops = CORE_GFLOPS if on_core or gflops is None else gflops
        self._length = cache(self._test_split)
        self._minutes = cache(self._estimate)

    def minutes(self, stage: str, ids: Cell) -> int:
        """Return the time that a job needs, in minutes: ten, and twice the estimate of its work.

        The work takes texts, their tokens, passes and the model's weights into account. Analyses
        whose facts give minutes take these.

        Args:
            stage: ``explain``, ``evaluate`` or an analysis.
            ids: of the job's cell.
        """
        if stage in ANALYSES.ids():
            minutes = ANALYSES.get(stage).facts.minutes
            if minutes is not None:
                return minutes
        return self._minutes(stage, tuple((level, ids[level]) for level in _LEVELS if level in ids))

    def limit(self, stage: str, ids: Cell, attempt: int) -> int:
        """Return the time limit of a job's attempt, the first of which is 1, in minutes."""
        return min(attempt * self.minutes(stage, ids), MOST_MINUTES)

    def _estimate(self, stage: str, cell: tuple[tuple[str, str | int], ...]) -> int:
        experiment = self._experiment
        ids = Ids({**dict(cell), "seed": experiment.seeds[0]})
        length = self._length(ids.dataset)
        passes = passes_of(experiment, stage, ids, length.tokens)
        if not passes:
            return LEAST_MINUTES
        sizes = [length.texts, experiment.most_explained(ids)]
        backward = False
        for kind in ("method", "metric"):
            if kind in ids:
                instance = getattr(experiment, f"{kind}s")[str(ids[kind])]
                sizes.append(instance.max_examples)
                backward = backward or instance.entry.facts.needs_gradient
        texts = min(size for size in sizes if size is not None)
        weights = experiment.weights.get(ids.model, _WEIGHTS)
        operations = 2 * weights * length.tokens * texts * passes * (_BACKWARD if backward else 1)
        return LEAST_MINUTES + math.floor(ROOM * operations / (1e9 * self._gflops) / 60)

    def _test_split(self, dataset: str) -> Length:
        """Estimate how many test texts there are and how long, from the sizes of files at hand."""
        experiment = self._experiment
        facts = experiment.datasets[dataset].entry.facts
        folder = Path(experiment.config.data_dir)
        paths = [folder / file.path for file in facts.files]
        paths += map(Path, experiment.own_inputs("prepare", {"dataset": dataset}))
        at_hand = [path for path in paths if path.is_file()]
        size = sum(text_bytes(path) for path in at_hand)
        if facts.sizes:
            texts = facts.sizes[1]
            mean = size / sum(facts.sizes) if len(at_hand) == len(paths) else 0.0
        else:
            mean = _line_bytes(at_hand[0]) if at_hand else 0.0
            texts = math.ceil(_TEST_SHARE * size / mean) if mean else _TEXTS
        tokens = round(mean / _BYTES_OF_TOKEN) if mean else USUAL_UNITS
        return Length(texts, min(max(tokens, USUAL_UNITS), _LONGEST))


def effort_or_exit(experiment: Experiment, gflops: object) -> Effort:
    """Return the minutes of an experiment's jobs; on a bad rate, say so and exit with 2.

    Args:
        experiment: the config.
        gflops: the rate as Snakemake read it from a profile; None if there is none.
    """
    with exit_on_bad_input():
        if gflops is not None and not (isinstance(gflops, int) and gflops >= 1):
            raise InputError(
                f"gflops {gflops}, among default-resources of the profile: write a whole number, "
                "at least 1; see docs/cluster.md"
            )
    return Effort(experiment, gflops)


def _line_bytes(path: Path) -> float:
    """Return the mean length of the first lines of a table; 0 if its rows are no lines."""
    if text_bytes(path) > path.stat().st_size:
        return 0.0
    with path.open("rb") as file:
        start = file.read(_SAMPLE_BYTES)
    return len(start) / max(start.count(b"\n"), 1)
