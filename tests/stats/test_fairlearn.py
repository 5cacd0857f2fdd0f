"""Gaps of rates beside those of fairlearn's MetricFrame, on random predictions and on COMPAS."""

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
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from support import REAL, need

from exparity.data import load_dataset
from exparity.data.compas import FILE
from exparity.data.files import DataSource
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


def compas(attribute):
    """Predictions of a logistic regression on words, of the test split."""
    need((REAL / FILE.path).is_file(), f"COMPAS below {REAL} (or EXPARITY_DATA)")
    examples = load_dataset("compas", DataSource(REAL, download=False), {"attribute": attribute})
    parts = {name: [e for e in examples if e.split == name] for name in ("train", "test")}
    counts = CountVectorizer(token_pattern=r"\w+").fit([e.text for e in parts["train"]])
    model = LogisticRegression(max_iter=1000)
    model.fit(counts.transform([e.text for e in parts["train"]]), [e.label for e in parts["train"]])
    test = parts["test"]
    predicted = model.predict(counts.transform([e.text for e in test]))
    groups = np.array([e.group for e in test])
    order = list(dict.fromkeys(groups.tolist()))
    labels = np.array([e.label for e in test])
    return labels, predicted, groups, order, ["no_recidivism", "recidivism"]


PREDICTIONS = [
    *(
        pytest.param(lambda c=c, g=g: random_predictions(c, g, 10 * c + g), id=f"{c}-classes-{g}")
        for c in (2, 3, 5)
        for g in (2, 3)
    ),
    pytest.param(lambda: compas("gender"), id="compas-gender"),
    pytest.param(lambda: compas("race"), id="compas-race"),
]


@pytest.mark.parametrize("predictions", PREDICTIONS)
def test_gaps_are_those_of_metric_frame(predictions):
    labels, predicted, groups, order, classes = predictions()
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
