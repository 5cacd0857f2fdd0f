"""AUC, ROC curves, F1 and confusion matrices against scikit-learn called directly, and loops."""

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import auc, confusion_matrix, f1_score, roc_auc_score
from stats.drawn import predictions, sample, statistical
from stats.loops import mean

from exparity.stats.quality import roc_curve_of


def area(positives, negatives):
    """The share of pairs in which the positive example has the higher probability; ties half."""
    return mean([(p > q) + (p == q) / 2 for p in positives for q in negatives])


def naive(labels, predicted, probabilities, groups, order, classes, pairs=None):
    """AUC and F1 by (quantity, group, class), from every pair of rows."""
    found = {}
    for group in ("", *order):
        rows = [
            (y, yhat, p)
            for y, yhat, p, g in zip(labels, predicted, probabilities, groups, strict=True)
            if group in ("", g)
        ]
        for c, name in enumerate(classes):
            inside = [p[c] for y, _, p in rows if y == c]
            outside = [p[c] for y, _, p in rows if y != c]
            found["auc", group, name] = area(inside, outside)
            hits = sum(y == c == yhat for y, yhat, _ in rows)
            wrong = sum((y == c) != (yhat == c) for y, yhat, _ in rows)
            found["f1", group, name] = hits / (hits + wrong / 2) if inside else math.nan
        for quantity in ("auc", "f1"):
            values = [found[quantity, group, name] for name in classes]
            found[quantity, group, ""] = mean([value for value in values if value == value])
    return found


@pytest.mark.reference
class TestReference:
    @given(predictions())
    def test_values_and_gaps_are_those_of_the_loops(self, columns):
        found = statistical(columns)
        expected = naive(**columns)
        for (quantity, group, name), value in expected.items():
            row = found[quantity, group, "", name]
            assert row.value == pytest.approx(value, abs=1e-12, nan_ok=True)
            assert row.n == sum(group in ("", own) for own in columns["groups"])
        for a, b in combinations(columns["order"], 2):
            for quantity in ("auc", "f1"):
                for name in ("", *columns["classes"]):
                    gap = expected[quantity, a, name] - expected[quantity, b, name]
                    row = found[f"{quantity}_gap", a, b, name]
                    assert row.value == pytest.approx(gap, abs=1e-12, nan_ok=True)

    @pytest.mark.parametrize("n_classes", [2, 3, 4])
    def test_values_are_those_of_scikit_learn(self, n_classes):
        columns = sample(80, n_classes, 2, seed=4)
        found = statistical(columns)
        labels, predicted, groups = (
            np.array(columns[x]) for x in ("labels", "predicted", "groups")
        )
        probabilities = np.array(columns["probabilities"])
        for group in ("", *columns["order"]):
            rows = (groups == group) | (group == "")
            y, yhat, p = labels[rows], predicted[rows], probabilities[rows]
            scores = p if n_classes > 2 else p[:, 1]
            expected = {
                "auc": roc_auc_score(y, scores, multi_class="ovr", average="macro"),
                "f1": f1_score(y, yhat, average="macro"),
            }
            for quantity, value in expected.items():
                assert found[quantity, group, "", ""].value == pytest.approx(value, abs=1e-12)
            by_class = f1_score(y, yhat, average=None)
            matrix = confusion_matrix(y, yhat)
            for c, name in enumerate(columns["classes"]):
                one = found["auc", group, "", name]
                assert one.value == pytest.approx(roc_auc_score(y == c, p[:, c]), abs=1e-12)
                assert auc(one.roc_fpr, one.roc_tpr) == pytest.approx(one.value, abs=1e-12)
                assert found["f1", group, "", name].value == pytest.approx(by_class[c], abs=1e-12)
                assert found["tpr", group, "", name].predicted_counts == tuple(matrix[c])


class TestUndefined:
    def test_one_class_in_a_group_is_flagged_with_its_reason(self):
        columns = sample(20)
        columns["labels"] = [int(group == "b") for group in columns["groups"]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = statistical(columns)
        for name in ("", "no", "yes"):
            row = found["auc", "b", "", name]
            assert math.isnan(row.value)
            assert row.flags == ("one_class",)
            assert row.roc_fpr == ()
            gap = found["auc_gap", "b", "a", name]
            assert math.isnan(gap.value)
            assert gap.flags == ("one_class",)
            assert found["auc", "", "", name].flags == ()
        assert found["f1", "b", "", "no"].flags == ("no_examples",)
        assert math.isnan(found["f1", "b", "", "no"].value)
        assert found["f1", "b", "", "yes"].flags == ()
        assert found["f1", "b", "", ""].flags == ("classes_left_out",)
        assert found["f1", "b", "", ""].value == found["f1", "b", "", "yes"].value

    def test_a_group_without_examples(self):
        found = statistical({**sample(10), "order": ("b", "x", "a")})
        for quantity in ("auc", "f1"):
            assert found[quantity, "x", "", "yes"].flags == ("no_examples",)
            assert found[quantity, "x", "", ""].flags == ("no_examples",)
            assert found[quantity, "x", "", ""].n == 0
        assert found["tpr", "x", "", "yes"].predicted_counts == (0, 0)

    def test_undefined_probabilities_are_left_out_of_areas(self):
        columns = sample(20)
        columns["probabilities"][0] = [math.nan, math.nan]
        row = statistical(columns)["auc", "", "", "yes"]
        assert row.n == 39
        assert row.flags == ("undefined_values",)
        rest = {
            name: columns[name][1:] for name in ("labels", "predicted", "probabilities", "groups")
        }
        assert (
            row.value == statistical({**columns, **rest, "pairs": None})["auc", "", "", "yes"].value
        )


class TestCurve:
    def test_of_many_points_few_are_kept_and_the_area_stays(self):
        rng = np.random.default_rng(0)
        is_positive = rng.random(20_000) < 0.3
        curve = roc_curve_of(is_positive, rng.normal(is_positive * 1.2))
        thin = curve.thinned(200)
        assert len(curve.false_positives) > 3000
        assert len(thin.false_positives) <= 202
        assert thin.area == pytest.approx(curve.area, abs=1e-3)
        for rates, whole in zip(thin, curve, strict=True):
            assert (rates[0], rates[-1]) == (0, 1)
            assert set(rates) <= set(whole)

    def test_a_perfect_and_an_inverted_order(self):
        is_positive = np.array([True, True, False, False])
        scores = np.array([0.9, 0.8, 0.2, 0.1])
        assert roc_curve_of(is_positive, scores).area == 1
        assert roc_curve_of(is_positive, -scores).area == 0
        assert roc_curve_of(is_positive, np.ones(4)).area == 0.5
