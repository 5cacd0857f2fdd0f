"""A results folder as a Process Run Crate: https://w3id.org/ro/wfrun/process/0.5.

One action stands for all jobs of a stage by one version of exparity: what of the grid each job read
and made, and with which options, is in the metadata of the Parquet files themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.analyses import made_by
from exparity.artefacts.files import facts_of
from exparity.artefacts.schemas import artefacts
from exparity.artefacts.seal import read_metadata
from exparity.core.errors import InputError
from exparity.data import DATASETS

METADATA = "ro-crate-metadata.json"
_RO_CRATE = "https://w3id.org/ro/crate/1.1"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".html": "text/html",
    ".json": "application/json",
}
Entity = dict[str, Any]


def crate_of(results: Path, licence: str = "") -> dict[str, Any]:
    """Return the metadata of a crate.

    Args:
        results: the results folder.
        licence: terms of the results; if empty, those of the datasets are listed.

    Raises:
        InputError: there are no results, or a file is damaged.
    """
    made = {
        path.relative_to(results).as_posix(): (artefact, facts_of(read_metadata(path).metadata))
        for artefact in artefacts()
        for _, path in layout.files(results, artefact)
    }
    if not made:
        raise InputError(f"{results}: no results there; run snakemake first")
    data = {ids[0]: f"data/{ids[0]}.parquet" for ids, _ in layout.files(results, "data")}
    terms = "; ".join(f"{id}: {_licence_of(made[path][1])}" for id, path in data.items())
    folders = [path for _, path in layout.files(results, "models")]
    folders += [path for path in map(results.joinpath, layout.REPORT.values()) if path.is_dir()]
    others = [results / layout.GRID, results / layout.REPORT["page"]]
    parts = [_file(results, results / path) for path in made]
    parts += [_file(results, path) for path in others if path.is_file()]
    parts += [
        {"@id": f"{path.relative_to(results).as_posix()}/", "@type": "Dataset", "name": path.name}
        for path in folders
    ]
    actions = _actions(made)
    tools = {action["instrument"]["@id"]: action.pop("_tool") for action in actions}
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": {"@id": _PROFILE},
        "name": f"exparity: explanation quality by group on {', '.join(data) or results.name}",
        "description": "Results of exparity: explanations of text classifiers, their quality, and "
        "how it differs between groups.",
        "datePublished": max((action["endTime"] for action in actions), default=_time(0)),
        "license": licence or f"none given for the results; terms of the data: {terms}",
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": _RO_CRATE},
    }
    profile = {
        "@id": _PROFILE,
        "@type": "CreativeWork",
        "name": "Process Run Crate",
        "version": "0.5",
    }
    graph = [descriptor, root, profile, *parts, *tools.values(), *actions]
    return {"@context": f"{_RO_CRATE}/context", "@graph": graph}


def _file(results: Path, path: Path) -> Entity:
    return {
        "@id": path.relative_to(results).as_posix(),
        "@type": "File",
        "name": path.name,
        "encodingFormat": _TYPES[path.suffix],
        "contentSize": str(path.stat().st_size),
    }


def _actions(made: Mapping[str, tuple[str, Mapping[str, Any]]]) -> list[Entity]:
    """Return what each stage did in each version, in the order of its first job."""
    of_artefact: dict[str, list[str]] = defaultdict(list)
    jobs: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for path, (artefact, facts) in made.items():
        of_artefact[artefact].append(path)
        if {"stage", "started", "version", "commit"} <= facts.keys():
            jobs[facts["stage"], facts["version"], facts["commit"]].append(path)
    actions = []
    for number, ((stage, version, commit), paths) in enumerate(jobs.items()):
        facts_of_jobs = [made[path][1] for path in paths]
        analysis = made_by(made[paths[0]][0])
        known = analysis.facts.reads if analysis else ()
        reads = layout.STAGES[stage][0] if stage in layout.STAGES else known
        tool = f"#exparity-{version}-{commit}"
        actions.append(
            {
                "@id": f"#{stage}-{number}",
                "@type": "CreateAction",
                "name": f"exparity {stage}: {len(paths)} artefacts",
                "startTime": _time(min(facts["started"] for facts in facts_of_jobs)),
                "endTime": _time(max(f["started"] + f["wall_seconds"] for f in facts_of_jobs)),
                "instrument": {"@id": tool},
                "object": _references(path for artefact in reads for path in of_artefact[artefact]),
                "result": _references(paths),
                "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
                "_tool": {
                    "@id": tool,
                    "@type": "SoftwareApplication",
                    "name": "exparity",
                    "softwareVersion": version,
                    "description": f"exparity {version} of commit {commit}, with "
                    + ", ".join(
                        f"{k} {v}" for k, v in facts_of_jobs[0].get("packages", {}).items()
                    ),
                },
            }
        )
    return sorted(actions, key=lambda action: str(action["startTime"]))


def _references(paths: Iterable[str]) -> list[Entity]:
    return [{"@id": path} for path in paths]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _licence_of(facts: Mapping[str, Any]) -> str:
    """Return the terms of a dataset by its artefact; a plug-in that is not loaded states none."""
    use = facts.get("parameters", {}).get("use")
    return DATASETS.get(use).facts.licence if use in DATASETS.ids() else "not stated"
