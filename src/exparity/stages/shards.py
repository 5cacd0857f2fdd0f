"""Gathering: the shards of one job to the artefact that the job would have made in one piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from exparity.artefacts.files import join_tables, read_artefact, read_parquet, write_artefact
from exparity.artefacts.lineage import current_lineage, recorded_lineage
from exparity.core.errors import InputError
from exparity.core.flags import Flag, Output
from exparity.jobs.loop import merged
from exparity.jobs.parts import Shard
from exparity.stages.cell import check_rows

Part = tuple[Path, pa.Table, dict[str, Any]]
_KINDS = ("explanations", "scores")
_SAME = {
    "artefact": "is another kind of artefact than",
    "wildcards": "is of another cell than",
    "version": "was made by another version of exparity than",
    "parameters": "has other parameters than",
    "fingerprint": "was made from other inputs or source than",
    "groups": "has other groups than",
    "attribute": "has another attribute than",
}
_KEPT = ("groups", "attribute", "fingerprint", "bounds", "skill", "files")
_USED = ("work_seconds", "earlier_seconds", "cpu_seconds", "max_rss_mb", "device")


def gather_shards(
    shards: Annotated[Sequence[Path], Flag(metavar="SHARD")], /, output: Output
) -> None:
    """Put the shards of one explain or evaluate job together.

    Args:
        shards: artefacts made with ``--shard 1/N`` to ``--shard N/N``, all of them in any order.
        output: the artefact to write.

    Raises:
        InputError: a file is no such shard, one is missing or given twice, or they are of
            different jobs.
    """
    if not shards:
        raise InputError("name the shards to gather")
    kind = _kind(shards[0])
    parts = [(path, *read_artefact(path, kind)) for path in shards]
    for part in parts:
        check_rows(*part)
    _check_one_job(parts)
    _check_all_there(parts)
    _check_examples(parts)
    facts = [metadata for _, _, metadata in parts]
    first = facts[0]
    shares = [_share(table, metadata) for _, table, metadata in parts]
    write_artefact(
        output,
        kind,
        join_tables(kind, [table for _, table, _ in parts]),
        first["wildcards"],
        stage=first["stage"],
        parameters=first["parameters"],
        device=", ".join(sorted({f["device"] for f in facts})),
        seconds=sum(f["wall_seconds"] for f in facts),
        extra={
            **{key: first[key] for key in _KEPT if key in first},
            "shards": sorted(shares, key=lambda share: int(share["index"])),
            "work_seconds": round(sum(f.get("work_seconds", 0.0) for f in facts), 3),
            **merged(facts),
        },
    )


def _share(table: pa.Table, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a shard took: its file goes when the output is there."""
    used = {key: facts[key] for key in _USED if key in facts}
    return {**facts["shard"], "examples": table.num_rows, **used}


def _kind(path: Path) -> str:
    """Return which artefact a file is, so that it can be read as such."""
    try:
        kind = str(read_parquet(path)[1].get("artefact"))
    except InputError:
        return _KINDS[0]  # reading it as an artefact says what is wrong
    if kind not in _KINDS:
        raise InputError(f"{path}: is no shard of explanations or scores")
    return kind


def _check_one_job(parts: Sequence[Part]) -> None:
    first, _, expected = parts[0]
    for path, _, facts in parts:
        if "shard" not in facts:
            raise InputError(f"{path}: is no shard; it was made without --shard")
        for key, differs in _SAME.items():
            if facts.get(key) != expected.get(key):
                raise InputError(f"{path}: {differs} {first}; make all shards of one job again")
        # A shard of another config may lie where no attempt to make it anew could start.
        if current_lineage() and recorded_lineage(path) != current_lineage():
            raise InputError(
                f"{path}: was made from other options or inputs; remove it, and run again"
            )


def _check_all_there(parts: Sequence[Part]) -> None:
    first, whole = parts[0][0], Shard(**parts[0][2]["shard"])
    seen: dict[int, Path] = {}
    for path, _, facts in parts:
        shard = Shard(**facts["shard"])
        if shard.of != whole.of:
            raise InputError(f"{path}: is shard {shard}, but {first} is shard {whole}")
        if shard.index in seen:
            raise InputError(f"{path}: is shard {shard}, as {seen[shard.index]} is")
        seen[shard.index] = path
    missing = [f"{i}/{whole.of}" for i in range(1, whole.of + 1) if i not in seen]
    if missing:
        others = ", ".join(missing)
        raise InputError(
            f"{first}: is shard {whole}, but of the others these are missing: {others}"
        )


def _check_examples(parts: Sequence[Part]) -> None:
    seen: dict[str, Path] = {}
    for path, table, _ in parts:
        for example in table.column("example_id").to_pylist():
            if example in seen:
                raise InputError(f"{path}: example '{example}' is in {seen[example]} as well")
            seen[example] = path
