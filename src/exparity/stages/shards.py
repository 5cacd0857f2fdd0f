"""Gathering: the shards of one job to the artefact that the job would have made in one piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from exparity.artefacts.files import join_tables, read_artefact, read_parquet, write_artefact
from exparity.core.errors import InputError
from exparity.core.flags import Flag, Output
from exparity.jobs.loop import merged
from exparity.jobs.parts import Shard
from exparity.stages.cell import check_examples

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
    found = [read_artefact(path, kind) for path in shards]
    tables = [table for table, _ in found]
    facts = [metadata for _, metadata in found]
    for path, (table, metadata) in zip(shards, found, strict=True):
        check_examples(path, table, metadata)
    _check_one_job(shards, facts)
    _check_all_there(shards, [_shard(path, f) for path, f in zip(shards, facts, strict=True)])
    _check_examples(shards, tables)
    first = facts[0]
    extra: dict[str, Any] = {
        key: first[key] for key in ("groups", "attribute", "fingerprint", "bounds") if key in first
    }
    shares = [_share(table, metadata) for table, metadata in found]
    extra["shards"] = sorted(shares, key=lambda share: int(share["index"]))
    extra["work_seconds"] = round(sum(f.get("work_seconds", 0.0) for f in facts), 3)
    write_artefact(
        output,
        kind,
        join_tables(kind, tables),
        first["wildcards"],
        stage=first["stage"],
        parameters=first["parameters"],
        device=", ".join(sorted({f["device"] for f in facts})),
        seconds=sum(f["wall_seconds"] for f in facts),
        extra={**extra, **merged(facts)},
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


def _shard(path: Path, facts: Mapping[str, Any]) -> Shard:
    if "shard" not in facts:
        raise InputError(f"{path}: is no shard; it was made without --shard")
    return Shard(**facts["shard"])


def _check_one_job(paths: Sequence[Path], facts: Sequence[Mapping[str, Any]]) -> None:
    for path, one in zip(paths, facts, strict=True):
        _shard(path, one)
        for key, differs in _SAME.items():
            if one.get(key) != facts[0].get(key):
                raise InputError(f"{path}: {differs} {paths[0]}; make all shards of one job again")


def _check_all_there(paths: Sequence[Path], shards: Sequence[Shard]) -> None:
    seen: dict[int, Path] = {}
    for path, shard in zip(paths, shards, strict=True):
        if shard.of != shards[0].of:
            raise InputError(f"{path}: is shard {shard}, but {paths[0]} is shard {shards[0]}")
        if shard.index in seen:
            raise InputError(f"{path}: is shard {shard}, as {seen[shard.index]} is")
        seen[shard.index] = path
    missing = [Shard(i, shards[0].of) for i in range(1, shards[0].of + 1) if i not in seen]
    if missing:
        raise InputError(
            f"{paths[0]}: is shard {shards[0]}, but of the others these are missing: "
            f"{', '.join(map(str, missing))}"
        )


def _check_examples(paths: Sequence[Path], tables: Sequence[pa.Table]) -> None:
    seen: dict[str, Path] = {}
    for path, table in zip(paths, tables, strict=True):
        for example in table.column("example_id").to_pylist():
            if example in seen:
                raise InputError(f"{path}: example '{example}' is in {seen[example]} as well")
            seen[example] = path
