"""Gaps of rates beside those of fairlearn's MetricFrame, on random predictions."""

import math
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from fairlearn.metrics import (
    MetricFrame,
    false_positive_rate,
    selection_rate,
    true_negative_rate,
    true_positive_rate,
)
from sklearn.metrics import accuracy_score

from exparity.stats.bootstrap import Draws
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.predictions import predictions_of
from exparity.stats.rms import Sides, rate_gaps, rms

pytestmark = pytest.mark.reference
RATES = {
    "tpr": true_positive_rate,
    "tnr": true_negative_rate,
    "fpr": false_positive_rate,
    "selection_rate": selection_rate,
}


def random_predictions(n_classes, n_groups, seed):
    rng = np.random.default_rng(seed)
    labels, groups = rng.integers(0, n_classes, 400), rng.integers(0, n_groups, 400)
    right = rng.random(400) < 0.3 + 0.2 * groups
    predicted = np.where(right, labels, rng.integers(0, n_classes, 400))
    order = [f"group {i}" for i in range(n_groups)]
    return labels, predicted, np.array(order)[groups], order, [f"c{i}" for i in range(n_classes)]


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_gaps_are_those_of_metric_frame(n_classes, n_groups):
    labels, predicted, groups, order, classes = random_predictions(
        n_classes, n_groups, 10 * n_classes + n_groups
    )
    probabilities = np.eye(len(classes))[predicted]
    data = predictions_of(labels, predicted, probabilities, groups, order, classes)
    rows = model_bias(data, Draws(resamples=0))
    rows += list(fpr_gaps(rows))
    ours = {(row.quantity, row.group, row.group_b, row.class_name): row.value for row in rows}
    frame = MetricFrame(
        metrics=accuracy_score, y_true=labels, y_pred=predicted, sensitive_features=groups
    )
    for a, b in combinations(order, 2):
        expected = frame.by_group[a] - frame.by_group[b]
        assert ours["accuracy_gap", a, b, ""] == pytest.approx(expected, abs=1e-12)
    of_class = defaultdict(list)
    for c, name in enumerate(classes):
        frame = MetricFrame(
            metrics=RATES, y_true=labels == c, y_pred=predicted == c, sensitive_features=groups
        )
        for rate in RATES:
            by_group = frame.by_group[rate]
            gaps = [by_group[a] - by_group[b] for a, b in combinations(order, 2)]
            for (a, b), gap in zip(combinations(order, 2), gaps, strict=True):
                assert ours[f"{rate}_gap", a, b, name] == pytest.approx(gap, abs=1e-12)
                of_class[rate, a, b].append(gap)
            assert max(map(abs, gaps)) == pytest.approx(frame.difference()[rate], abs=1e-12)
    assert any(gap for gaps in of_class.values() for gap in gaps)
    for a, b in combinations(order, 2):
        kept = np.isin(groups, (a, b))
        sides = Sides(
            groups[kept] == b,
            labels[kept],
            predicted[kept],
            np.arange(kept.sum()),
            n_classes=len(classes),
            paired=False,
        )
        for rate, gaps in rate_gaps(sides.confusion()).items():
            squares = [gap**2 for gap in of_class[rate, a, b]]
            assert rms(gaps) == pytest.approx(math.sqrt(np.mean(squares)), abs=1e-12)
