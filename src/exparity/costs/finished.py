"""Finished jobs of a results folder and what each took.

The place of an artefact names its job; the footer has its rows and what the job measured itself.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.files import facts_of
from exparity.artefacts.ids import Ids, Provenance
from exparity.artefacts.seal import read_metadata
from exparity.core.errors import InputError, reason_of
from exparity.core.plain import as_float, as_int
from exparity.metrics import METRICS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobCost:
    """A job of an experiment, and what it took or is estimated to take; None where unknown."""

    stage: str  # or analysis
    ids: Ids
    examples: int | None = None  # of a training, times its epochs
    finished: bool = True  # its output is there
    output: str = ""  # below the results folder
    runs_model: bool = False  # and so is one for a GPU
    seconds: float | None = None  # with what an interrupted run of it had left finished
    work_seconds: float | None = None  # those that grow with the examples
    cpu_seconds: float | None = None
    max_rss_mb: float | None = None
    device: str = "cpu"
    bytes: float = 0


def artefact_of_stage() -> dict[str, str]:
    """Return the first artefact of every stage and analysis, by its name."""
    stages = {stage: writes[0] for stage, (_, writes) in layout.STAGES.items()}
    return stages | {name: ANALYSES.get(name).facts.artefact for name in ANALYSES.ids()}


def runs_model(stage: str, use: str = "") -> bool:
    """Return whether jobs of a stage run a model; those that score, by the metric's id."""
    if stage != "evaluate":
        is_analysis_with_model = stage in ANALYSES.ids() and ANALYSES.get(stage).facts.runs_model
        return is_analysis_with_model or stage in ("finetune", "explain")
    with suppress(InputError):  # a plug-in's metric that is not here
        return bool(METRICS.get(use).facts.runs_model)
    return True


def read_finished(folder: Path) -> list[JobCost]:
    """Return the finished jobs of a results folder; files that cannot be read are left out."""
    jobs: list[JobCost] = []
    unreadable = []
    for stage, artefact in artefact_of_stage().items():
        for values, path in layout.files(folder, artefact):
            ids = Ids(zip(layout.levels(artefact), values, strict=True))
            try:
                jobs.append(_job(folder, stage, ids, path))
            except (OSError, ValueError) as error:
                unreadable.append(f"{path}: {reason_of(error).removeprefix(f'{path}: ')}")
    if unreadable:
        log.warning("left out %d unreadable files, such as %s", len(unreadable), unreadable[0])
    return jobs


def read_footer(path: Path) -> Provenance:
    """Return the metadata of an artefact with its number of ``rows``, without reading these."""
    footer = read_metadata(path)
    facts = facts_of(footer.metadata)
    if "parameters" not in facts:
        raise InputError(f"{path}: not written by exparity")
    return Provenance({**facts, "rows": footer.num_rows})


def _measured(number: object) -> float | None:
    return None if number is None else as_float(number)


def _id_value(level: str, value: str | int) -> str | int:
    """Return an id of a path, whose parts are text, as artefacts have it."""
    return int(value) if level == "seed" and str(value).isdecimal() else value


def _job(folder: Path, stage: str, ids: Ids, path: Path) -> JobCost:
    """Return the job that made an artefact."""
    facts = read_footer(path)
    output = path
    size = path.stat().st_size
    # Rows may be of steps, and examples are drawn for several times.
    draws = as_int(facts.parameters.get("draws") or 1)
    examples = as_int(facts["examples"]) * draws if "examples" in facts else facts.n_rows
    if stage == "finetune":
        history = folder / layout.path_of("history", ids)
        trained = read_footer(history)
        output = history.parent
        size += sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
        data = folder / layout.path_of("data", ids)
        n_texts = read_footer(data).n_rows if data.is_file() else 0
        facts |= {key: trained[key] for key in ("work_seconds", "earlier_seconds")}
        examples = trained.n_rows * max(0, n_texts - facts.n_rows)
    was_measured = facts.get("work_seconds") is not None
    return JobCost(
        stage,
        ids=Ids((level, _id_value(level, value)) for level, value in ids.items()),
        examples=(examples or None) if was_measured else None,
        output=output.relative_to(folder).as_posix(),
        runs_model=runs_model(stage, facts.use),
        device=str(facts.get("device", "cpu")),
        bytes=size,
        # With what an interrupted run of the job had left finished.
        seconds=as_float(facts["wall_seconds"]) + as_float(facts.get("earlier_seconds", 0.0)),
        work_seconds=_measured(facts.get("work_seconds")),
        cpu_seconds=_measured(facts["cpu_seconds"]),
        max_rss_mb=_measured(facts["max_rss_mb"]),
    )
