"""Reading what an analysis of one trained classifier has one of for each method and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.core.errors import InputError
from exparity.stages.cell import cell_of, read_examples, read_scores, require_same_cell


def read_all(
    analysis: str, artefact: str, paths: Sequence[Path], *others: tuple[Path, Mapping[str, Any]]
) -> Iterator[tuple[Path, pa.Table, dict[str, Any]]]:
    """Read ``scores`` or ``explanations`` of one trained classifier.

    Args:
        analysis: what an error names.
        artefact: what the files are.
        paths: the files.
        others: further inputs and the ids that they must share with them.

    Raises:
        InputError: there is no file, or one does not hold what was written or is of another
            classifier.
    """
    if not paths:
        raise InputError(f"{analysis}: needs at least one {artefact} artefact")
    trained: dict[str, Any] = {}
    for path in paths:
        table, metadata = (
            read_scores(path) if artefact == "scores" else read_examples(path, artefact)
        )
        trained = trained or cell_of(metadata)
        require_same_cell(*others, (paths[0], trained), (path, metadata["wildcards"]))
        yield path, table, metadata
