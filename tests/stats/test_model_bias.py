"""Model bias against loops written apart, its identities, and what it does with odd input."""

import math
import time
import tracemalloc
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats.drawn import predictions, sample, statistical
from stats.loops import mean

from exparity.stats.bootstrap import Draws
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.permutations import BATCH_BYTES
from exparity.stats.predictions import predictions_of
from exparity.stats.shares import Share, difference_interval

# The reference: plain loops over rows, and formulas from the literature.


def wilson(hits, n, z=1.959963984540054):
    if not n:
        return math.nan, math.nan
    p, centre = hits / n, (hits / n + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def best_pairing(a, b):
    """Repeat each value until both lists are equally long, and pair them in their order."""
    first = sorted(x for x in a for _ in b)
    second = sorted(y for y in b for _ in a)
    return mean([abs(x - y) for x, y in zip(first, second, strict=True)])


def naive(labels, predicted, probabilities, groups, order, classes, pairs=None):
    """Value and n by (quantity, group, group_b, class)."""
    rows = list(zip(labels, predicted, probabilities, groups, strict=True))
    found = {}
    for name in ("", *order):
        own = [r for r in rows if name in ("", r[3])]
        found["accuracy", name, "", ""] = [r[0] == r[1] for r in own]
        for c, title in enumerate(classes):
            found["tpr", name, "", title] = [r[1] == c for r in own if r[0] == c]
            found["tnr", name, "", title] = [r[1] != c for r in own if r[0] != c]
            found["selection_rate", name, "", title] = [r[1] == c for r in own]
    result = {key: (mean(hits), len(hits)) for key, hits in found.items()}
    for a, b in combinations(order, 2):
        for quantity in ("accuracy", "tpr", "tnr", "selection_rate"):
            for title in [""] if quantity == "accuracy" else classes:
                (p, n), (q, m) = (result[quantity, group, "", title] for group in (a, b))
                result[f"{quantity}_gap", a, b, title] = (p - q, n + m)
        for title in classes:
            gaps = [result[f"{rate}_gap", a, b, title][0] for rate in ("tpr", "tnr")]
            worst = math.nan if any(map(math.isnan, gaps)) else max(map(abs, gaps))
            result["equalised_odds_gap", a, b, title] = (worst, sum(r[3] in (a, b) for r in rows))
        for title in ("", *classes):
            values = [r[2][classes.index(title) if title else r[0]] for r in rows]
            sets = defaultdict(lambda: ([], []))
            both = ([], [])
            for i, (value, row) in enumerate(zip(values, rows, strict=True)):
                if row[3] in (a, b):
                    side = 0 if row[3] == a else 1
                    both[side].append(value)
                    if pairs is not None and pairs[i] is not None:
                        sets[pairs[i]][side].append(value)
            gaps = [abs(mean(x) - mean(y)) for x, y in sets.values() if x and y]
            n = len(both[0]) + len(both[1])
            undefined = not both[0] or not both[1]
            result["apd", a, b, title] = (mean(gaps), len(gaps))
            result["apd_unpaired", a, b, title] = (
                math.nan if undefined else best_pairing(*both),
                n,
            )
            result["apd_unpaired_by_chance", a, b, title] = (math.nan, n)  # nothing is drawn
            result["probability_gap", a, b, title] = (mean(both[0]) - mean(both[1]), n)
    if len(classes) == 2:
        result["apd_by_label", "", "", ""] = by_label(rows, pairs)
    return result


def by_label(rows, pairs):
    sets = defaultdict(lambda: ([], []))
    for i, (label, _, probabilities, _) in enumerate(rows):
        if pairs is not None and pairs[i] is not None:
            sets[pairs[i]][label].append(probabilities[label])
    gaps = [abs(mean(x) - mean(y)) for x, y in sets.values() if x and y]
    if gaps:
        return mean(gaps), len(gaps)
    ones = [r[2][1] for r in rows if r[0] == 1]
    zeros = [r[2][0] for r in rows if r[0] == 0]
    return mean([abs(x - y) for x in ones for y in zeros]), len(rows)


@pytest.mark.reference
class TestReference:
    @given(predictions(), st.sampled_from([0.8, 0.95]))
    def test_every_value_equals_the_loops(self, given, confidence):
        found, expected = statistical(given, confidence=confidence), naive(**given)
        others = {key for key in found if key[0].startswith(("auc", "f1"))}  # test_quality.py
        assert set(found) - others == set(expected)
        z = {0.8: 1.2815515655446004, 0.95: 1.959963984540054}[confidence]
        for key, (value, n) in expected.items():
            row = found[key]
            assert row.value == pytest.approx(value, abs=1e-12, nan_ok=True), key
            assert row.n == n, key
            if row.quantity in ("accuracy", "tpr", "tnr", "selection_rate"):
                ends = wilson(row.value * n, n, z) if n else (math.nan, math.nan)
                assert (row.ci_low, row.ci_high) == pytest.approx(ends, abs=1e-9, nan_ok=True)
        for row in fpr_gaps(found.values()):
            value, _ = expected["tnr_gap", row.group, row.group_b, row.class_name]
            assert row.value == pytest.approx(-value, abs=1e-12, nan_ok=True)

    def test_difference_interval_of_a_published_example(self):
        # Newcombe 1998, Table II, example (a), method 10
        low, high = difference_interval(Share(56, 70), Share(48, 80), 0.95)
        assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)

    @pytest.mark.parametrize("matched", [True, False])
    def test_intervals_of_gaps_know_the_matched_sets(self, matched):
        # Group b is right where group a is wrong: phi is −1 within pairs.
        given = sample(20, matched=matched)
        right = [(i // 2 + i) % 2 or i < 10 for i in range(40)]
        labels = given["labels"]
        given["predicted"] = [y if ok else 1 - y for y, ok in zip(labels, right, strict=True)]
        row = statistical(given)["accuracy_gap", "b", "a", ""]
        hits = [sum(right[side::2]) for side in (0, 1)]
        phi = np.corrcoef(right[0::2], right[1::2])[0, 1] if matched else 0.0
        assert phi < -0.3 or not matched
        ends = difference_interval(Share(hits[0], 20), Share(hits[1], 20), 0.95, phi)
        assert (row.ci_low, row.ci_high) == pytest.approx(ends)


class TestDraws:
    @pytest.mark.parametrize("matched", [True, False])
    def test_every_difference_has_an_interval_around_it(self, matched):
        found = statistical(sample(40, 3, 3, matched=matched), resamples=300)
        names = ["probability_gap"] + ["apd"] * matched
        seen = 0
        for key, row in found.items():
            if key[0] in names:
                assert row.ci_low < row.value < row.ci_high
                assert row.ci_high - row.ci_low < 0.4
                assert row.flags == ()
                seen += 1
        assert seen == len(names) * 3 * 4

    def test_by_chance_of_all_permutations(self):
        # Two pairs: the groups of 0.1 and 0.4 may change places, and those of 0.2 and 0.8.
        given = {
            "labels": [0] * 4,
            "predicted": [0, 1, 0, 1],
            "groups": ["b", "a", "b", "a"],
            "probabilities": [[p, 1 - p] for p in (0.1, 0.4, 0.2, 0.8)],
            "order": ("b", "a"),
            "classes": ("no", "yes"),
        }
        values = np.array([0.1, 0.4, 0.2, 0.8])
        pairs = [
            best_pairing(x, y) for x, y in (([0.1, 0.2], [0.4, 0.8]), ([0.1, 0.8], [0.4, 0.2]))
        ]
        every = [
            best_pairing(values[[i, j]], np.delete(values, [i, j]))
            for i, j in combinations(range(4), 2)
        ]
        for sets, outcomes in (
            (["s", "s", "t", "t"], pairs),
            (None, every),
            (["s", "t", "u", None], every),
        ):
            row = statistical({**given, "pairs": sets}, resamples=4000)[
                "apd_unpaired_by_chance", "b", "a", "no"
            ]
            assert row.value == pytest.approx(mean(outcomes), abs=0.01)
            assert (row.ci_low, row.ci_high) == pytest.approx((min(outcomes), max(outcomes)))

    @pytest.mark.parametrize("copies", [True, False])
    def test_matched_sets_are_resampled_whole(self, copies):
        # Members that are alike vary together: their difference varies less than that of rows.
        given = sample(60, seed=3)
        rng = np.random.default_rng(0)
        near = [list(row) for row in given["probabilities"]]
        for i in range(0, 120, 2):
            p = float(np.clip(near[i][0] + rng.normal(0, 0.01), 0, 1))
            near[i + 1] = [p, 1 - p]
        given["probabilities"] = near
        given["pairs"] = given["pairs"] if copies else None
        row = statistical(given, resamples=300)["probability_gap", "b", "a", "no"]
        assert (row.ci_high - row.ci_low < 0.02) == copies

    def test_degenerate_ones_are_flagged(self):
        one = statistical(sample(1), resamples=50)
        constant = sample(20)
        constant["probabilities"] = [[0.25, 0.75]] * 40
        flat = statistical(constant, resamples=50)
        for quantity in ("apd", "probability_gap"):
            row = one[quantity, "b", "a", "yes"]
            assert row.flags == ("interval_none",)
            assert math.isnan(row.ci_low)
            row = flat[quantity, "b", "a", "yes"]
            assert row.flags == ("interval_percentile",)
            assert (row.ci_low, row.ci_high) == (0, 0)


class TestDegenerate:
    def test_a_collapsed_classifier_has_the_published_row_and_the_flag_on_every_row(self):
        # RoBERTa on COMPAS in the published table: TPR 0, TNR 1, and a constant output.
        given = sample(30, matched=False)
        given["probabilities"] = [[0.56, 0.44]] * 60
        given["predicted"] = [0] * 60
        found = statistical(given, resamples=50)
        assert all("collapsed" in row.flags for row in found.values())
        assert found["tpr", "", "", "yes"].value == 0
        assert found["tnr", "", "", "yes"].value == 1
        assert found["apd_by_label", "", "", ""].value == pytest.approx(0.56 - 0.44)
        assert found["apd_unpaired", "b", "a", "yes"].value == 0
        given["predicted"] = [0] * 59 + [1]
        assert not any("collapsed" in row.flags for row in statistical(given).values())

    def test_a_declared_group_without_examples_keeps_its_rows(self):
        given = {**sample(10), "order": ("b", "x", "a")}
        found = statistical(given, resamples=20)
        for key, row in found.items():
            if "x" in key[1:3]:
                assert math.isnan(row.value), key
                expected = "no_pairs" if key[0] == "apd" else "no_examples"
                assert row.flags == (expected,), key
        key = "accuracy_gap", "b", "a", ""
        assert found[key] == statistical(sample(10))[key]

    def test_undefined_probabilities_are_left_out_and_flagged(self):
        given = sample(10)
        whole = statistical(given)
        given["probabilities"] = [list(row) for row in given["probabilities"]]
        given["probabilities"][0] = [math.nan, math.nan]
        found = statistical(given, resamples=20)
        for (quantity, *rest), row in found.items():
            if quantity.startswith(("apd", "probability_gap")):
                assert "undefined_values" in row.flags
                assert math.isfinite(row.value)
                if quantity == "apd":
                    assert row.n == 9
            elif quantity == "accuracy":
                assert row == whole[quantity, *rest]
        given["probabilities"] = [[math.nan, math.nan]] * 20
        for row in statistical(given).values():
            if row.quantity in ("apd_unpaired", "probability_gap", "apd_by_label"):
                assert math.isnan(row.value)
                assert row.flags == ("undefined_values", "no_examples")


def test_without_groups_there_are_the_rates_of_all():
    labels, predicted = [0, 0, 1, 1, 1], [0, 1, 1, 1, 0]
    shares, classes = [[0.5, 0.5]] * 5, ("no", "yes")
    data = predictions_of(labels, predicted, shares, [""] * 5, (), classes)
    rows = model_bias(data, Draws(resamples=0))
    values = {(row.quantity, row.class_name): (row.value, row.group) for row in rows}
    assert values == {
        ("accuracy", ""): (0.6, ""),
        ("tpr", "no"): (0.5, ""),
        ("tnr", "no"): (pytest.approx(2 / 3), ""),
        ("selection_rate", "no"): (0.4, ""),
        ("tpr", "yes"): (pytest.approx(2 / 3), ""),
        ("tnr", "yes"): (0.5, ""),
        ("selection_rate", "yes"): (0.6, ""),
        **{("auc", name): (0.5, "") for name in ("", *classes)},
        ("f1", "no"): (0.5, ""),
        ("f1", "yes"): (pytest.approx(2 / 3), ""),
        ("f1", ""): (pytest.approx(7 / 12), ""),
    }


class TestGrowth:
    """What bias costs grows as its rows do: four times as many take about four times as much."""

    @staticmethod
    def measured(n, matched):
        columns = sample(n // 2, matched=matched)
        data = predictions_of(*columns.values())
        tracemalloc.start()
        start = time.process_time()
        model_bias(data, Draws(resamples=100))
        seconds = time.process_time() - start
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return seconds, peak

    @pytest.mark.parametrize("matched", [False, True])
    def test_seconds_and_memory_grow_as_the_rows_do(self, matched):
        self.measured(2_000, matched)  # imports
        seconds, peak = self.measured(10_000, matched)
        more_seconds, more_peak = self.measured(40_000, matched)
        assert more_seconds < 8 * seconds
        assert more_peak < 4 * peak + 2 * BATCH_BYTES
        assert more_peak < 3 * BATCH_BYTES + 400 * 40_000
