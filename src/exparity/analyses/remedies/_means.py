"""The mean of two explanations of a text, scored by forward simulation on what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.explanations import Explanation
from exparity.methods import METHODS
from exparity.methods.facts import RANDOM
from exparity.metrics import evaluate_keyed
from exparity.metrics.foresight import design_of
from exparity.quantities.explained import ExplainedText
from exparity.quantities.foresights import read_foresights
from exparity.quantities.inputs import cell_of
from exparity.quantities.random_scores import are_scored_alike
from exparity.quantities.scores import Cell
from exparity.types import Example, FloatArray

JOIN = "+"
"""Between the names of two methods whose mean is meant."""


@dataclass(frozen=True, kw_only=True)
class EncodedText(ExplainedText):
    """A row of explanations, with the (t,) ids of its tokens."""

    token_ids: list[int]


class Explained(NamedTuple):
    """Explanations of a training by a method.

    Attributes:
        rows: by the id of the example.
        use: the method, as registered.
    """

    rows: Mapping[str, EncodedText]
    use: str

    @classmethod
    def read(cls, path: Path) -> Explained:
        """Read an explanations artefact."""
        table, metadata = read_artefact(path, "explanations")
        rows = {row.example_id: row for row in records(EncodedText, table)}
        return cls(rows, metadata.use)

    def goes_with(self, other: Explained) -> bool:
        """Return whether a mean with another method says something: both signed, or neither."""
        uses = self.use, other.use
        if RANDOM in uses or not {*uses} <= {*METHODS.ids()}:
            return False
        return METHODS.get(self.use).facts.signed == METHODS.get(other.use).facts.signed


def means_of_pairs(
    cells: Sequence[Cell],
    explained: Mapping[str, Explained],
    foresight: Path,
    examples: Mapping[str, Example],
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the score of each text by the mean of two methods, for every two methods.

    Args:
        cells: the scores of one training by one metric of forward simulation.
        explained: explanations by method.
        foresight: what the classifier does with the texts.
        examples: the texts by their ids.
    """
    methods = {cell.method: cell.metadata for cell in cells}
    scores = {}
    for first, second in combinations(sorted(methods), 2):
        metadata = methods[first]
        is_alike = are_scored_alike(metadata, methods[second])
        is_alike = is_alike and explained[first].goes_with(explained[second])
        if is_alike:
            design = design_of(metadata.params)
            foresights = read_foresights(
                foresight, design, (cells[0].path, cell_of(cells[0].metadata))
            )
            means = {
                key: mean
                for key, row in explained[first].rows.items()
                if (mean := _mean(row, explained[second].rows.get(key), examples[key])) is not None
            }
            values = evaluate_keyed(
                None,
                [*means.values()],
                [*means],
                metadata.use,
                cells[0].seed,
                dict(metadata.params),
                foresights=[foresights[key][1] for key in means],
            )
            scores[first, second] = dict(zip(means, values.tolist(), strict=True))
    return scores


def _mean(row: EncodedText, other: EncodedText | None, example: Example) -> Explanation | None:
    """Return the mean of two explanations; None where they are of other classes or tokens."""
    if other is None or (row.target, row.token_ids) != (other.target, other.token_ids):
        return None
    word_ids = np.array(row.word_ids, dtype=np.int64)
    is_special = word_ids < 0
    mean = (_standardised(row, ~is_special) + _standardised(other, ~is_special)) / 2
    return Explanation(
        text=example.text,
        target=row.target,
        token_ids=np.array(row.token_ids, dtype=np.int64),
        tokens=row.tokens,
        scores=mean,
        special_mask=is_special,
        word_ids=word_ids,
        pair=example.pair,
        written=example.parts,
    )


def _standardised(row: EncodedText, is_content: np.ndarray) -> FloatArray:
    """Return (t,) attributions over their standard deviation in the text; NaN where that is 0."""
    scores = np.array(row.scores, dtype=np.float64)
    deviation = scores[is_content].std() if is_content.any() else 0.0
    return scores / deviation if deviation > 0 else np.full(len(scores), np.nan)
