"""Reading what an analysis of one trained classifier has one of for each method and metric."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.core.errors import InputError
from exparity.stages.cell import cell_of, compared_in, read_examples, read_scores, require_same_cell


def read_all(
    analysis: str,
    artefact: str,
    paths: Sequence[Path],
    *others: tuple[Path, Mapping[str, Any]],
    over_seeds: bool = False,
    compared: bool = True,
) -> Iterator[tuple[Path, pa.Table, dict[str, Any]]]:
    """Read ``scores`` or ``explanations`` of one trained classifier."""
    if not paths:
        raise InputError(f"{analysis}: needs at least one {artefact} artefact")
    trained: dict[str, Any] = {}
    for path in paths:
        table, metadata = (
            read_scores(path, compared=compared)
            if artefact == "scores"
            else read_examples(path, artefact)
        )
        own = cell_of(metadata)
        if over_seeds:
            del own["seed"]
        trained = trained or own
        require_same_cell(*others, (paths[0], trained), (path, own))
        yield path, table, metadata


def read_compared(
    analysis: str, paths: Sequence[Path], *, over_seeds: bool = False
) -> Iterator[tuple[Path, pa.Table, dict[str, Any]]]:
    """Read scores whose groups are compared: see :func:`read_all`."""
    facts: dict[str, Any] = {}
    first: dict[tuple[Any, ...], Path] = {}
    for path, table, metadata in read_all(analysis, "scores", paths, over_seeds=over_seeds):
        ids = metadata["wildcards"]
        compared = compared_in(metadata)
        facts = facts or compared
        if compared != facts:
            raise InputError(
                f"{path}: compares {_text(compared)}, but {paths[0]} compares {_text(facts)}; "
                "evaluate both again"
            )
        cell = ids["seed"], ids["method"], ids["metric"]
        if cell in first:
            raise InputError(f"{path}: holds {cell[2]} of {cell[1]}, as {first[cell]} does")
        first[cell] = path
        yield path, table, metadata


def predicted_examples(
    table: pa.Table, path: Path, known: Container[str], predictions: Path
) -> list[str]:
    """Return the examples of a scores artefact, each of which was predicted."""
    examples: list[str] = table.column("example_id").to_pylist()
    missing = [example for example in examples if example not in known]
    if missing:
        raise InputError(
            f"{predictions}: has no prediction for example '{min(missing)}' of {path}; run "
            "finetune again on this data"
        )
    return examples


def _text(facts: Mapping[str, Any]) -> str:
    return f"{facts['attribute']} ({', '.join(facts['groups'])})"
