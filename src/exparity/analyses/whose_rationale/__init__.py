"""Analysis whose_rationale: do explanations agree with some groups of people more than with others?

Thorn Jakobsen, Cabello and Søgaard (2023) compare explanations with the words that people of two
ages and three ethnicities marked. How many words a group marks moves such a score by itself, so
that what is compared is the excess over words in random order at each rater's own share of them.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses.whose_rationale.plan import caution
from exparity.analyses.whose_rationale.section import findings
from exparity.artefacts.columns import Row, records
from exparity.artefacts.ids import Ids
from exparity.core.errors import InputError
from exparity.core.flags import Params
from exparity.core.settings import Statistics, StudyStatistics
from exparity.core.validation import DISTINCT
from exparity.data.table import PreparedData, read_prepared
from exparity.explanations import Explanation
from exparity.metrics import METRICS, Attribution
from exparity.quantities.explained import ExplainedText
from exparity.quantities.inputs import Lookup, cell_of, read_all
from exparity.quantities.raters import EVERY, RatedTexts, Sides
from exparity.stats.model_bias import is_collapsed
from exparity.stats.omnibus import FEWEST_GROUPS, Omnibus
from exparity.stats.raters import RaterLevel, RaterTest, rater_level, rater_test, relative
from exparity.stats.verdicts import GATES, JUDGED_COLUMNS, judge
from exparity.types import FloatArray

log = logging.getLogger(__name__)
Metrics = Annotated[list[str], DISTINCT]


class _Cell(NamedTuple):
    """(s, p) scores of a model and method by one metric, and what is expected at random."""

    ids: Mapping[str, str]
    seeds: Sequence[int]
    scores: FloatArray
    chance: FloatArray


def _job_options(
    experiment: ExperimentView,
    ids: Ids,
    *,
    metrics: Metrics | None = None,
    attribution: Attribution = "absolute",
    agreeing: bool | None = None,
) -> dict[str, object]:
    """Check that the metrics compare with a rationale."""
    named = metrics or ["rationale_auprc"]
    for name in named:
        if METRICS.get(name, "analyses.whose_rationale.metrics").facts.needs != "rationale":
            raise InputError(
                f"analyses.whose_rationale.metrics: {name} compares with no rationale; name one "
                "such as rationale_auprc"
            )
    return {"metrics": named, "attribution": attribution, "agreeing": agreeing}


@analysis(
    "whose_rationale",
    level="dataset",
    reads=("data", "raters", "predictions", "explanations"),
    writes={
        "whose_rationale": Table(
            "compared: string",
            "planned: bool",
            "quantity: string",
            RaterTest,
            Omnibus,
            *(f"{name}: float64" for name in GATES),
            *JUDGED_COLUMNS,
            keys=("model", "method", "metric", "compared", "quantity", "group_a", "group_b"),
            ids=("model", "method", "metric"),
        ),
        "rater_levels": Table(
            RaterLevel,
            keys=("model", "method", "metric", "compared", "rater_group"),
            ids=("model", "method", "metric"),
        ),
        "rater_scores": Table(
            "example_id rater rater_group: string",
            "n_words n_marked: int32",
            "score random: float64",
            keys=("model", "seed", "method", "metric", "example_id", "rater"),
            ids=("model", "seed", "method", "metric"),
        ),
    },
    display="Whose rationale",
    needs=("raters",),
    memory_mb=4000,
    statistics=("alpha", "threshold", "confidence", "family"),
    job_options=_job_options,
    caution=caution,
    section=findings,
)
def whose_rationale(
    data: Path,
    raters: Path,
    predictions: Sequence[Path],
    explanations: Sequence[Path],
    *,
    metrics: Metrics = ["rationale_auprc"],  # noqa: B006
    attribution: Attribution = "absolute",
    agreeing: bool | None = None,
    statistics: Params,
) -> StageResult:
    """Compare how well explanations agree with the words that groups of raters marked.

    Each explanation is scored against each rater's words. What is compared is the score itself, its
    excess over words in random order at the rater's own share of marked words, and the skill: the
    excess over what the best explanation would reach. Groups of each attribute are planned
    contrasts; every two groups by all attributes are a family of their own. Classifiers that
    predict one class are left out.

    Args:
        data: the data artefact.
        raters: the raters artefact.
        predictions: predictions artefacts of the dataset, one per model and seed.
        explanations: explanations artefacts of the dataset, one per model, seed and method.
        metrics: metrics that compare with a rationale, with their default options.
        attribution: part of a score that counts: its size (``absolute``), or its ``positive`` part.
        agreeing: true for pairs alone whose rater gave the label of the data, false for the others
            alone, and all of them if None.
        statistics: ``alpha``, ``threshold``, ``confidence`` and ``family`` of the config's
            statistics.

    Raises:
        InputError: files of several datasets, or labels of raters are asked for and not known.
    """
    prepared = read_prepared(data, "test")
    rated = RatedTexts.read(raters, prepared, agreeing=agreeing)
    settings = StudyStatistics(**statistics)
    tests: list[Row] = []
    levels: list[Row] = []
    scores: list[Row] = []
    counted = np.zeros(len(rated.rows), dtype=bool)
    for cell in _cells(data, prepared, rated, predictions, explanations, metrics, attribution):
        tests += _tests(cell, rated, settings)
        levels += _levels(cell, rated, settings)
        scores += _scores(cell, rated)
        counted |= np.isfinite(cell.scores).any(axis=0)
    if not tests:
        log.warning("%s: every training predicts one class; nothing is compared", data)
    keyed = [{"dataset": prepared.dataset, **row} for row in tests]
    judged = judge(keyed, [*settings.family, "planned"], alpha=settings.alpha)
    rows = [{name: row[name] for name in row if name != "dataset"} for row in judged]
    facts = {
        "agreeing": agreeing,
        "disagreeing": None if np.isnan(rated.disagreeing) else rated.disagreeing,
        "n_texts": len(set(rated.pairs.texts[counted].tolist())),
        "n_raters": len(set(rated.pairs.raters[counted].tolist())),
    }
    other_rows = {"rater_levels": levels, "rater_scores": scores}
    return StageResult(rows, {"dataset": prepared.dataset}, facts, further=other_rows)


def _cells(
    data: Path,
    prepared: PreparedData,
    rated: RatedTexts,
    predictions: Sequence[Path],
    explanations: Sequence[Path],
    metrics: Sequence[str],
    attribution: Attribution,
) -> Iterator[_Cell]:
    """Yield the scores of each model, method and metric over its informative trainings."""
    source = data, {"dataset": prepared.dataset}
    over = ("model", "seed")
    collapsed = [
        cell_of(metadata)
        for table, metadata in read_all("predictions", predictions, source, over=over)
        if is_collapsed(table.column("predicted").to_pylist())
    ]
    words = {example.example_id: example.all_words for example in prepared.examples}
    texts = Lookup(data, "test example", words.items())
    chances = {name: rated.chance(name) for name in metrics}
    by_cell: dict[tuple[str, str, str], dict[int, FloatArray]] = defaultdict(dict)
    for table, metadata in read_all("explanations", explanations, source, over=over):
        if cell_of(metadata) in collapsed:
            continue
        ids = metadata.ids
        explained = {
            row.example_id: _explanation(row, len(texts[row.example_id]))
            for row in records(ExplainedText, table)
        }
        for metric in metrics:
            values = rated.scores(explained, metric, attribution)
            by_cell[ids.model, ids.method, metric][ids.seed] = values
    for (model, method, metric), by_seed in by_cell.items():
        seeds = sorted(by_seed)
        names = {"model": model, "method": method, "metric": metric}
        yield _Cell(names, seeds, np.array([by_seed[seed] for seed in seeds]), chances[metric])


def _explanation(row: ExplainedText, n_words: int) -> Explanation:
    """Return a stored explanation; ``n_words`` are those of its text, cut ones included."""
    return Explanation(
        text=" ".join(["_"] * n_words),
        target=row.target,
        tokens=row.tokens,
        scores=np.array(row.scores),
        word_ids=np.array(row.word_ids, dtype=np.int64),
    )


class _Values(NamedTuple):
    """(s, p) values of each quantity."""

    score: FloatArray
    excess: FloatArray
    skill: FloatArray


def _values(cell: _Cell, rated: RatedTexts) -> _Values:
    skill = relative(cell.scores, cell.chance, rated.pairs.groups)
    return _Values(cell.scores, cell.scores - cell.chance, skill)


def _tests(cell: _Cell, rated: RatedTexts, settings: Statistics) -> Iterator[Row]:
    """Yield the test of every two groups, by every quantity."""
    for quantity, values in _values(cell, rated)._asdict().items():
        by_kind: dict[str, list[RaterTest]] = defaultdict(list)
        for sides in rated.comparisons():
            by_kind[sides.compared].append(_test(values, rated, sides, settings))
        for compared, tests in by_kind.items():
            planned = compared != EVERY
            gate = Omnibus() if planned else _gate(tests)
            for test in tests:
                place = {"compared": compared, "planned": planned, "quantity": quantity}
                yield {**cell.ids, **place, **vars(test), **vars(gate)}


def _test(values: FloatArray, rated: RatedTexts, sides: Sides, settings: Statistics) -> RaterTest:
    return rater_test(values, rated.pairs, sides.first, sides.second, sides.names, settings)


def _gate(tests: Sequence[RaterTest]) -> Omnibus:
    """Return whether any two groups differ: the least p-value of a pair times their number."""
    tested = [test for test in tests if np.isfinite(test.p_mean)]
    n_groups = len({name for test in tested for name in (test.group_a, test.group_b)})
    if n_groups < FEWEST_GROUPS:
        return Omnibus(n_groups)
    return Omnibus(n_groups, min(1.0, len(tested) * min(test.p_mean for test in tested)))


def _levels(cell: _Cell, rated: RatedTexts, settings: Statistics) -> Iterator[Row]:
    """Yield the level of each group, of each attribute and of all of them."""
    values = _values(cell, rated)
    n_words, n_marked = rated.marked
    is_scored = np.isfinite(cell.scores).all(axis=0)
    seen = set()
    for sides in rated.comparisons():
        for name, in_group in zip(sides.names, (sides.first, sides.second), strict=True):
            chosen = in_group & is_scored
            if (sides.compared, name) in seen or not chosen.any():
                continue
            seen.add((sides.compared, name))
            level = rater_level(values.skill, rated.pairs, in_group, settings.confidence)
            line = RaterLevel(
                compared=sides.compared,
                rater_group=name,
                n_raters=len(np.unique(rated.pairs.raters[chosen])),
                n_pairs=int(chosen.sum()),
                marked=float((n_marked / n_words)[chosen].mean()),
                score=float(cell.scores[:, chosen].mean()),
                random=float(cell.chance[chosen].mean()),
                excess=float(values.excess[:, chosen].mean()),
                skill=level.mean,
                ci_low=level.low,
                ci_high=level.high,
            )
            yield {**cell.ids, **asdict(line)}


def _scores(cell: _Cell, rated: RatedTexts) -> Iterator[Row]:
    """Yield the score of each pair in each training."""
    n_words, n_marked = rated.marked
    for seed, values in zip(cell.seeds, cell.scores.tolist(), strict=True):
        for i, (row, group) in enumerate(zip(rated.rows, rated.groups, strict=True)):
            yield {
                **cell.ids,
                "seed": seed,
                "example_id": row.example_id,
                "rater": row.rater,
                "rater_group": group,
                "n_words": int(n_words[i]),
                "n_marked": int(n_marked[i]),
                "score": values[i],
                "random": float(cell.chance[i]),
            }
