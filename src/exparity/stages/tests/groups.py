"""Stage test: scores to group comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.running import Made, stage
from exparity.core.errors import InputError
from exparity.core.flags import Params
from exparity.core.options import complete, options_of
from exparity.core.seeding import derive_seed
from exparity.core.settings import Statistics
from exparity.stages.cell import compared_in, read_scores, require_same_cell
from exparity.stages.excess import RandomScores
from exparity.stats import compare_all, permuted_rates
from exparity.stats.permutation import NOT_PERMUTED
from exparity.types import FloatArray


@stage("test", artefact="tests")
def test_cell(scores: Path, random_scores: Path | None, *, statistics: Params) -> Made:
    """Compare the groups of one scores artefact.

    There is one row per pair of groups for the ``score``, and one for the ``excess`` over random
    explanations where there are any.

    Args:
        scores: the scores artefact.
        random_scores: the scores of random explanations by the same metric, for the excess over
            them.
        statistics: entry of the config's statistics block: ``alpha``, ``threshold``, ``ddof``,
            ``confidence``, ``resamples`` or ``label_permutations``.

    Raises:
        InputError: a file does not hold the scores that were written, they do not belong together,
            or an option is unknown.
    """
    options = options_of(Statistics)
    statistics = complete(options, statistics, "statistics")
    table, metadata = read_scores(scores)
    groups, sets = (table.column(name).to_pylist() for name in ("group", "match_id"))
    order, ids = metadata["groups"], metadata["wildcards"]

    settings = {name: value for name, value in statistics.items() if name != "label_permutations"}
    names = (str(ids[name]) for name in ("dataset", "model", "method", "metric"))
    permuted = {
        "alpha": statistics["alpha"],
        "permutations": statistics["label_permutations"],
        "seed": derive_seed(ids["seed"], "control", *names),
    }
    values = table.column("score").to_numpy()
    flags = metadata.get("flags", [])
    rows: list[dict[str, Any]] = []
    for pair in compare_all(values, groups, order, sets, **settings):
        of_pair = (pair.group_a, pair.group_b)
        rates = permuted_rates(values, groups, of_pair, sets, **permuted)
        row = {"quantity": "score", **asdict(pair), **rates}
        rows.append({**row, "flags": [*pair.flags, *flags]})
    if random_scores is not None:
        over = compare_all(
            _excess(table, metadata, scores, random_scores), groups, order, sets, **settings
        )
        for pair, row in zip(over, tuple(rows), strict=True):
            # Scores that are all equal say nothing, whatever random ones are.
            constant = [flag for flag in row["flags"] if flag == "constant"]
            of_excess = {
                **asdict(pair),
                "flags": list(dict.fromkeys([*pair.flags, *constant, *flags])),
            }
            rows.append({"quantity": "excess", **of_excess, **NOT_PERMUTED})
    return Made(rows, ids, compared_in(metadata), statistics)


def _excess(
    table: pa.Table, metadata: Mapping[str, Any], scores: Path, random_scores: Path
) -> FloatArray:
    """Return each score minus the mean of its text's random explanations."""
    random = RandomScores.read(random_scores)
    require_same_cell((scores, metadata["wildcards"]), (random_scores, random.ids))
    if not random.are_scored_as(metadata):
        raise InputError(
            f"{random_scores}: was scored by a metric with other options than {scores}; "
            "make it again with `exparity negative-control`"
        )
    return random.excess(table)


test_cell.__test__ = False  # type: ignore[attr-defined]  # not a test for pytest to collect
