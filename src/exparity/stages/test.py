"""Stage test: scores to group comparisons."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

from exparity.artefacts.files import write_artefact
from exparity.core.flags import Output, Params
from exparity.core.options import complete, options_of
from exparity.core.seeding import derive_seed
from exparity.stages.cell import read_scores
from exparity.stats import compare_all, compare_groups


def test_cell(scores: Path, output: Output, *, statistics: Params) -> None:
    """Compare the groups of one scores artefact.

    There is one row per pair of groups.

    Args:
        scores: the scores artefact.
        output: the tests artefact to write.
        statistics: entry of the config's statistics block: ``alpha``, ``threshold``, ``ddof``,
            ``confidence`` or ``resamples``.

    Raises:
        InputError: the file does not hold the scores that were written, or an option is unknown.
    """
    start = time.monotonic()
    options = options_of(compare_groups)
    del options["seed"]  # follows from the cell
    statistics = complete(options, statistics, "statistics")
    table, metadata = read_scores(scores)
    columns = {name: table.column(name).to_pylist() for name in ("group", "score", "match_id")}
    order, ids = metadata["groups"], metadata["wildcards"]
    pairs = compare_all(
        columns["score"],
        columns["group"],
        order,
        columns["match_id"],
        seed=derive_seed(int(ids["seed"]), "test", *map(str, ids.values())),
        **statistics,
    )
    rows = [asdict(pair) for pair in pairs]
    for row in rows:
        row["flags"] += metadata.get("flags", [])
    write_artefact(
        output,
        "tests",
        rows,
        ids,
        stage="test",
        parameters=statistics,
        seconds=time.monotonic() - start,
        extra={"groups": order, "attribute": metadata["attribute"]},
    )


test_cell.__test__ = False  # type: ignore[attr-defined]  # not a test for pytest to collect
