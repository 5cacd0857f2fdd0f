"""The tests within each training: a row per cell, pair of groups and quantity."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from operator import itemgetter
from pathlib import Path

import numpy as np

from exparity.artefacts.columns import Row
from exparity.artefacts.files import read_artefact
from exparity.core.grouping import grouped
from exparity.core.settings import Statistics
from exparity.quantities.classifiers import Classifiers
from exparity.quantities.inputs import Lookup, require_same_cell
from exparity.quantities.quantity import Skill
from exparity.quantities.scales import over_scales, rooms_of
from exparity.quantities.scores import Cell, Scores
from exparity.stages.compare._sources import divided
from exparity.stats.adjusted import AtEqualCovariates, adjusted_gaps
from exparity.stats.compare import GroupComparison, compare_many, without_ranks
from exparity.stats.crossed import crossed_gaps_of_many
from exparity.stats.effect import better_group
from exparity.stats.samples import GroupedTexts
from exparity.stats.sources import GapParts, gap_parts
from exparity.types import FloatArray

_DRAWN = itemgetter("seed", "metric", "group_a", "group_b")


def rows_of_tests(
    model: Scores,
    settings: Statistics,
    classifiers: Classifiers,
    covariates: Mapping[str, FloatArray],
) -> Iterator[Row]:
    """Yield the rows of random explanations, and those of the methods beside them."""
    draws: dict[tuple[int, str, str, str], list[bool]] = defaultdict(list)
    random = [cell for cell in model.cells if cell.draw is not None]
    methods = [cell for cell in model.cells if cell.draw is None]
    without_intervals = settings.model_copy(update={"resamples": 0})
    for cell, texts, comparisons in _compared(random, model, without_intervals):
        for pair in comparisons.get("random_score", ()):
            p = pair.p if math.isnan(pair.wilcoxon_p) else pair.wilcoxon_p
            place = cell.seed, cell.metric, pair.group_a, pair.group_b
            draws[place].append(p <= settings.alpha)
        for row in _rows(cell, comparisons, texts, classifiers, {}):
            yield {**row, "random_significant": np.nan}
    for cell, texts, comparisons in _compared(methods, model, settings):
        adjusted = _adjusted(cell, texts, covariates, settings.confidence)
        for row in _rows(cell, comparisons, texts, classifiers, adjusted):
            hits = draws[_DRAWN(row)]
            yield {**row, "random_significant": sum(hits) / len(hits) if hits else np.nan}


def _compared(
    cells: Sequence[Cell], model: Scores, settings: Statistics
) -> Iterator[tuple[Cell, GroupedTexts, dict[str, list[GroupComparison]]]]:
    """Yield each cell, its texts and its comparisons by quantity; the same texts go together."""
    for alike in grouped(cells, lambda cell: cell.places.tobytes()).values():
        texts = model.texts_at(alike[0].places)
        values = [quantity.shown for cell in alike for quantity in cell.quantities.values()]
        compared = iter(compare_many(values, texts, settings))
        for cell in alike:
            comparisons = {}
            for name, quantity in cell.quantities.items():
                pairs = next(compared)
                if isinstance(quantity, Skill):
                    pairs = _of_skill(pairs, quantity, texts, settings)
                comparisons[name] = pairs
            yield cell, texts, comparisons


def _rows(
    cell: Cell,
    comparisons: Mapping[str, Sequence[GroupComparison]],
    texts: GroupedTexts,
    classifiers: Classifiers,
    adjusted: Mapping[tuple[str, str], AtEqualCovariates],
) -> Iterator[Row]:
    """Yield the rows of one cell; ``adjusted`` has columns of what was measured, by pair."""
    flags = list(cell.flags)
    classifier = classifiers[cell.seed]
    if classifier.is_collapsed:
        flags.append("collapsed")
    measured, *_ = comparisons
    parts = divided([cell], cell.places)
    for quantity, pairs in comparisons.items():
        preference = cell.preference_of(quantity)
        for pair, scores in zip(pairs, comparisons[measured], strict=True):
            # Scores that are all equal say nothing, whatever random ones are.
            constant = [flag for flag in scores.flags if flag == "constant"]
            names = pair.group_a, pair.group_b
            sources = GapParts()
            at_equal_covariates = AtEqualCovariates()
            if quantity == measured:
                at_equal_covariates = adjusted.get(names, at_equal_covariates)
                sources = gap_parts(parts[0], texts, names) if parts else sources
            yield {
                "seed": cell.seed,
                "method": cell.method,
                "metric": cell.metric,
                "quantity": quantity,
                "draw": cell.draw,
                **vars(pair),
                "flags": list(dict.fromkeys([*pair.flags, *constant, *flags])),
                "metric_direction": cell.direction_of(quantity),
                "better_group": better_group(
                    pair.group_a, pair.group_b, pair.direction, preference
                ),
                "test_accuracy": classifier.accuracy,
                **vars(sources),
                **vars(at_equal_covariates),
            }


def _of_skill(
    pairs: Sequence[GroupComparison],
    skill: Skill,
    texts: GroupedTexts,
    settings: Statistics,
) -> list[GroupComparison]:
    """Return comparisons of values of a ratio, whose ranks mean nothing: tested by their means.

    ``p`` is that of the means of matched differences, or of two groups (Welch), on all scales.
    """
    values = [scale_values[None] for scale_values in skill.values.values()]
    tested = crossed_gaps_of_many(values, texts, settings, only="p_mean")
    tests = dict(zip(skill.values, tested, strict=True))
    compared = []
    for pair, (test, _) in zip(pairs, over_scales([skill], tests), strict=True):
        _, room_flags = rooms_of([skill], pair.group_a, pair.group_b)
        flags = [flag for flag in pair.flags if flag != "constant"]  # a skill may well be
        by_means = replace(
            without_ranks(pair),
            p=test.p_mean,
            significant=bool(test.p_mean <= settings.alpha),
            flags=list(dict.fromkeys([*flags, *room_flags])),
        )
        compared.append(by_means)
    return compared


def read_covariates(data: Path, model: Scores) -> dict[str, FloatArray]:
    """Return (n,) class and number of words of every scored example, from the data."""
    texts, declared = read_artefact(data, "data")
    require_same_cell(("the scores", model.ids), (data, declared.ids))
    ids = texts.column("example_id").to_pylist()
    place = Lookup(data, "example", zip(ids, range(len(ids)), strict=True))
    words = [name for name in ("words", "words_b") if name in texts.column_names]
    texts_of = zip(*(texts.column(name).to_pylist() for name in words), strict=True)
    lengths = [sum(len(words or ()) for words in row) for row in texts_of]
    rows = [place[example] for example in model.examples.ids]
    columns = {"class": texts.column("label").to_numpy(), "length": np.array(lengths)}
    return {name: column[rows].astype(np.float64) for name, column in columns.items()}


def _adjusted(
    cell: Cell, texts: GroupedTexts, covariates: Mapping[str, FloatArray], confidence: float
) -> dict[tuple[str, str], AtEqualCovariates]:
    """Return the gaps of a cell at equal covariates, by pair of groups."""
    measured, *_ = cell.quantities.values()
    low, high = cell.metadata.bounds or (-np.inf, np.inf)
    gaps = adjusted_gaps(
        measured.shown,
        texts,
        covariates={name: column[cell.places] for name, column in covariates.items()},
        confidence=confidence,
        bounds=(low, high),
    )
    by_adjustment = {(gap.group_a, gap.group_b, gap.adjustment): gap for gap in gaps}
    return {
        pair: AtEqualCovariates.of(by_adjustment[*pair, "class"], by_adjustment[*pair, "length"])
        for pair in combinations(texts.order, 2)
    }
