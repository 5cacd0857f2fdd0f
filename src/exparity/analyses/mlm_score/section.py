"""Scores of tuned encoders as language models, by group, over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter

import numpy as np

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema, records
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


@dataclass(frozen=True)
class _Text:
    """The scores of a text in one training, as the artefact has them."""

    dataset: str
    model: str
    seed: int
    group: str
    match_id: str | None
    mlm_score: float
    log_likelihood: float
    groups: Sequence[str]


def mlm_lines(rows: Sequence[Row], alpha: float) -> list[dict[str, object]]:
    """Compare the MLM scores of groups, model by model.

    Returns:
        Rows with the means over seeds; ``significant``, the seeds in which Wilcoxon's test on
        matched sets has p ≤ α, of the ``tested``; ``likelier``, the share of matched sets in which
        the first member's words are likelier, where ties count half; and ``n``, texts of a seed.
    """
    return [
        _line(a, b, list(grouped(texts, attrgetter("seed")).values()), alpha)
        for texts in grouped(records(_Text, rows), attrgetter("dataset", "model")).values()
        for a, b in combinations(texts[0].groups, 2)
    ]


def _line(
    a: str, b: str, texts_by_seed: Sequence[Sequence[_Text]], alpha: float
) -> dict[str, object]:
    compared = [[text for text in texts if text.group in (a, b)] for texts in texts_by_seed]
    comparisons = [
        compare_groups(
            [text.mlm_score for text in texts],
            [text.group for text in texts],
            (a, b),
            [text.match_id for text in texts],
            alpha=alpha,
            resamples=0,
        )
        for texts in compared
    ]
    p = [comparison.wilcoxon_p for comparison in comparisons]
    return {
        "dataset": texts_by_seed[0][0].dataset,
        "model": texts_by_seed[0][0].model,
        "group_a": a,
        "group_b": b,
        "mean_a": mean_and_sd([comparison.mean_a for comparison in comparisons])[0],
        "mean_b": mean_and_sd([comparison.mean_b for comparison in comparisons])[0],
        "difference": mean_and_sd([comparison.mean_difference for comparison in comparisons])[0],
        "significant": sum(value <= alpha for value in p),
        "tested": sum(value == value for value in p),
        "likelier": mean_and_sd([_share_likelier(texts, a, b) for texts in compared])[0],
        "n": max(len(texts) for texts in texts_by_seed),
    }


def _share_likelier(texts: Sequence[_Text], a: str, b: str) -> float:
    matched = grouped((t for t in texts if t.match_id is not None), attrgetter("match_id"))
    sets = ({t.group: t.log_likelihood for t in members} for members in matched.values())
    gaps = np.array([members[a] - members[b] for members in sets if len(members) == 2])
    defined = gaps[~np.isnan(gaps)]
    return float(((defined > 0) + 0.5 * (defined == 0)).mean()) if len(defined) else np.nan


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: the scores by group over seeds."""
    lines = mlm_lines(rows, study.statistics.alpha)
    export = Export("mlm_scores", "Masked language model", _COLUMNS, lines)
    return Findings({"lines": lines}, [export])
