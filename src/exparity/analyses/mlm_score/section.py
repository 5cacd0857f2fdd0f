"""Scores of tuned encoders as language models, by group, over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd
from exparity.stats.compare import compare_groups

_COLUMNS = plain_schema(
    "dataset model group_a group_b: string",
    "mean_a mean_b difference: float64",
    "significant tested: int64",
    "likelier: float64",
    "n: int64",
)


def mlm_lines(rows: Sequence[Row], alpha: float) -> list[dict[str, Any]]:
    """Compare the MLM scores of groups, model by model.

    Returns:
        Rows with the means over seeds; ``significant``, the seeds in which Wilcoxon's test on
        matched sets has p ≤ α, of the ``tested``; ``likelier``, the share of matched sets in which
        the first member's words are likelier, where ties count half; and ``n``, texts of a seed.
    """
    return [
        _line(a, b, list(grouped(texts, itemgetter("seed")).values()), alpha)
        for texts in grouped(rows, itemgetter("dataset", "model")).values()
        for a, b in combinations(texts[0]["groups"], 2)
    ]


def _line(a: str, b: str, seeds: Sequence[Sequence[Row]], alpha: float) -> dict[str, Any]:
    members = [[row for row in rows if row["group"] in (a, b)] for rows in seeds]
    comparisons = [
        compare_groups(
            [row["mlm_score"] for row in rows],
            [row["group"] for row in rows],
            (a, b),
            [row["match_id"] for row in rows],
            alpha=alpha,
            resamples=0,
        )
        for rows in members
    ]
    p = [comparison.wilcoxon_p for comparison in comparisons]
    return {
        **{name: seeds[0][0][name] for name in ("dataset", "model")},
        "group_a": a,
        "group_b": b,
        "mean_a": mean_and_sd([comparison.mean_a for comparison in comparisons])[0],
        "mean_b": mean_and_sd([comparison.mean_b for comparison in comparisons])[0],
        "difference": mean_and_sd([comparison.mean_difference for comparison in comparisons])[0],
        "significant": sum(value <= alpha for value in p),
        "tested": sum(value == value for value in p),
        "likelier": mean_and_sd([_share_likelier(rows, a, b) for rows in members])[0],
        "n": max(len(rows) for rows in seeds),
    }


def _share_likelier(rows: Sequence[Row], a: str, b: str) -> float:
    matched = grouped((r for r in rows if r["match_id"] is not None), itemgetter("match_id"))
    sets = ({r["group"]: r["log_likelihood"] for r in members} for members in matched.values())
    gaps = np.array([members[a] - members[b] for members in sets if len(members) == 2])
    defined = gaps[~np.isnan(gaps)]
    return float(((defined > 0) + 0.5 * (defined == 0)).mean()) if len(defined) else np.nan


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: the scores by group over seeds."""
    lines = mlm_lines(rows, study.statistics.alpha)
    export = Export("mlm_scores", "Masked language model", _COLUMNS, lines)
    return Findings({"lines": lines}, [export])
