"""Gaps between groups and between versions of a text, of predicted classes alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exparity.stats.bootstrap import Draws
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.predictions import predictions_of
from exparity.stats.rms import RATES
from exparity.types import Example, IntArray

Versions = Mapping[tuple[str, str], Sequence[Example]]
"""Counterfactuals by example_id and group of what they are made of."""
_COLUMNS = ("quantity", "group", "group_b", "class_name", "value", "n")
_GAPS = [f"{kind}{rate}_gap" for kind in ("", "causal_") for rate in RATES]
_QUANTITIES = {*_GAPS, *(f"{gap}_rms" for gap in _GAPS), "flip_rate"}


@dataclass(frozen=True, eq=False)
class TestSplit:
    """A test split and its counterfactuals.

    Attributes:
        order: names of the groups.
        classes: (c,) names of the classes.
        labels: (n,) true classes.
        groups: (n,) groups.
        texts: (n,) words.
        originals: (m,) index of the text that each counterfactual is of.
        other_groups: (m,) the counterfactuals' groups.
        counterfactuals: (m,) their words.
    """

    __test__ = False  # no class of tests

    order: Sequence[str]
    classes: Sequence[str]
    labels: IntArray
    groups: NDArray[np.str_]
    texts: Sequence[Sequence[str]]
    originals: IntArray
    other_groups: NDArray[np.str_]
    counterfactuals: Sequence[Sequence[str]]

    @classmethod
    def of(
        cls,
        examples: Sequence[Example],
        versions: Versions,
        order: Sequence[str],
        classes: Sequence[str],
    ) -> TestSplit:
        """Put examples beside their counterfactuals."""
        made = [
            (index, one)
            for index, example in enumerate(examples)
            for one in versions.get((example.example_id, example.group), ())
        ]
        return cls(
            order=order,
            classes=classes,
            labels=np.array([example.label for example in examples], dtype=np.int64),
            groups=np.array([example.group for example in examples]),
            texts=[example.words for example in examples],
            originals=np.array([index for index, _ in made], dtype=np.int64),
            other_groups=np.array([one.group for _, one in made]),
            counterfactuals=[one.words for _, one in made],
        )


def gap_rows(
    split: TestSplit, predicted: IntArray, counterfactual: IntArray
) -> Iterator[dict[str, Any]]:
    """Yield accuracy, statistical and causal gaps by class and over classes, and flip rates.

    Args:
        split: what was predicted.
        predicted: (n,) predicted class of each text.
        counterfactual: (m,) that of each counterfactual.
    """
    sure = np.eye(len(split.classes))
    measured = (split.labels.tolist(), predicted.tolist(), sure[predicted], split.groups.tolist())
    data, draws = predictions_of(*measured, split.order, split.classes), Draws(resamples=0)
    changed = [
        CounterfactualPrediction(int(i), str(group), int(c), sure[c], n_changed=1)
        for i, group, c in zip(split.originals, split.other_groups, counterfactual, strict=True)
    ]
    rows = model_bias(data, draws)
    rows += [*fpr_gaps(rows), *causal_bias(data, changed, draws)]
    for row in rows:
        of_all = row.quantity == "accuracy" and not row.group
        of_flips = row.quantity != "flip_rate" or not row.class_name
        if of_all or (row.quantity in _QUANTITIES and of_flips):
            yield {name: getattr(row, name) for name in _COLUMNS}
