"""Input that no statistic takes: one line names what is wrong."""

import math
from functools import partial

import pandas as pd
import pytest

from exparity import InputError
from exparity.stats import (
    adjust,
    benjamini_hochberg,
    compare_all,
    compare_groups,
    crossed_tests,
    holm,
)
from exparity.stats.adjusted import adjusted_gaps
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.dependence import cramers_v, dependence_by_split
from exparity.stats.gap_change import gap_changes
from exparity.stats.model_bias import model_bias
from exparity.stats.predictions import predictions_of
from exparity.stats.two_runs import gap_difference

PREDICTED = {
    "labels": [0, 1, 1, 0],
    "predicted": [0, 1, 0, 0],
    "probabilities": [[0.5, 0.5]] * 4,
    "groups": ["b", "a"] * 2,
    "order": ("b", "a"),
    "classes": ("no", "yes"),
    "pairs": None,
}
CHANGED = {"index": 0, "group": "a", "predicted": 1, "probabilities": [0.5, 0.5], "n_changed": 1}


def of_bias(**changes):
    model_bias(**{**PREDICTED, "resamples": 0, **changes})


def of_causes(confidence=0.95, **changes):
    first = CounterfactualPrediction(**{**CHANGED, **changes})
    others = [CounterfactualPrediction(**{**CHANGED, "index": 2})]
    predictions = predictions_of(**PREDICTED)
    causal_bias(predictions, [*others, first], resamples=0, confidence=confidence)


def of_two(**options):
    compare_groups([1.0, 2.0, 3.0, 4.0], ["male"] * 2 + ["female"] * 2, **options)


of_pair = partial(compare_groups, groups=["male", "female"])
of_all = partial(compare_all, [1.0], ["a"])
of_seeds = partial(crossed_tests, groups=[*"mmmfff"], order=("m", "f"), pairs=[*"abcabc"])
of_change = partial(gap_changes, groups=["a", "b"], order=("a", "b"))
adjusted = partial(adjusted_gaps, [1.0, 2.0], [*"mf"], ("m", "f"))
NAMES = "must be two or more different names"
RUN = {"d": 0.0, "v_seeds": 1.0, "v_texts": 0.0, "v_cells": 0.0, "dof_texts": 1.0,
       "pooled_sd": 1.0, "n_seeds": 3}  # fmt: skip
ROW = {name: "x" for name in ("dataset", "model", "seed", "method", "metric", "group_a", "group_b")}


@pytest.mark.parametrize(
    ("call", "changes", "message"),
    [
        (of_pair, {"values": [1.0, math.inf]}, "value 1 is infinite"),
        (of_pair, {"values": [-math.inf, 0.0]}, "value 0 is infinite"),
        (of_pair, {"values": [1.0]}, "1 values but 2 groups"),
        (of_pair, {"values": [1.0, 2.0], "pairs": ["a"]}, "2 values but 1 pairs"),
        (of_pair, {"values": [[1.0, 2.0]]}, "values must be a list of numbers"),
        (of_pair, {"values": [1.0] * 2, "groups": ["male", "x"]}, "'x' is not one of male, female"),
        (of_pair, {"values": [1.0] * 2, "groups": ["male", pd.NA]}, "group of value 1 is missing"),
        (of_pair, {"values": [1.0] * 2, "groups": [None, "male"]}, "group of value 0 is missing"),
        (of_pair, {"values": [1.0] * 2, "order": ("a", "a")}, "order must name two or more"),
        (of_pair, {"values": [1.0] * 2, "groups": ["a", "b"], "order": (*"abc",)}, "two groups"),
        (of_two, {"alpha": 0}, r"statistics\.alpha: .* is out of range"),
        (of_two, {"alpha": 5}, r"statistics\.alpha: .* is out of range"),
        (of_two, {"confidence": 1}, r"statistics\.confidence: .* is out of range"),
        (of_two, {"threshold": -0.1}, r"statistics\.threshold: .* is out of range"),
        (of_two, {"ddof": 2}, r"statistics\.ddof: 2 is out of"),
        (of_two, {"resamples": -3}, r"statistics\.resamples: .* is out of range"),
        (of_all, {"order": ("a", "b"), "alpha": 2}, r"statistics\.alpha: 2 is out of range"),
        (of_all, {"order": ("a",)}, "order must name two or more different groups"),
        (of_all, {"order": ("a", "b", "a")}, "order must name two or more different groups"),
        (of_all, {"order": ("z", "y")}, "group 'a' is not one of z, y"),
        (of_bias, {"order": ("b",)}, rf"groups {NAMES}, not \['b'\]"),
        (of_bias, {"order": ("b", "a", "b")}, f"groups {NAMES}"),
        (of_bias, {"order": ("b", "a", "")}, f"groups {NAMES}"),
        (of_bias, {"classes": ("no", "no")}, f"classes {NAMES}"),
        (of_bias, {"order": ("b", "c")}, "row 1: group 'a' is not one of b, c"),
        (of_bias, {"labels": [0, 1, 2, 0]}, "row 2: label 2 is not one of 2 classes"),
        (of_bias, {"predicted": [0, -1, 0, 0]}, "row 1: predicted class -1 is not one of 2"),
        (of_bias, {"probabilities": [[0.5, 0.5]] * 3}, "4 labels but 3 probabilities"),
        (of_bias, {"pairs": ["a"]}, "4 labels but 1 pairs"),
        (of_bias, {"probabilities": [[0.5] * 2, [1.0], [0.5] * 2, [0.5] * 2]},
         r"row 1: 1 probabilities for 2 classes \(no, yes\)"),
        (of_bias, {"probabilities": [[0.5] * 2, [0.5] * 2, [2.0, -1.0], [0.5] * 2]},
         "row 2: a probability is not between 0 and 1"),
        (of_bias, {"confidence": 1.0}, "statistics.confidence: 1.0 is out of range .below 1"),
        (of_bias, {"resamples": -1}, "statistics.resamples: -1 is out of range"),
        (of_bias, dict.fromkeys(("labels", "predicted", "probabilities", "groups"), ()),
         "there are no predictions"),
        (of_causes, {"index": 60}, "example 60: there are 4 examples"),
        (of_causes, {"group": "x"}, "example 0: group 'x' is not one of b, a"),
        (of_causes, {"group": "b"}, "example 0: a counterfactual of its own group, 'b'"),
        (of_causes, {"index": 2}, "example 2: a counterfactual of a group that it has one of, 'a'"),
        (of_causes, {"predicted": 3}, "example 0: predicted class 3 is not one of 2 classes"),
        (of_causes, {"probabilities": [1.0]}, "example 0: 1 probabilities for 2 classes"),
        (of_causes, {"probabilities": [1.5, 0]}, "example 0: a probability is not between 0 and 1"),
        (of_causes, {"confidence": 1.0}, "statistics.confidence: .* is out of range"),
        (of_seeds, {"scores": [[1.0] * 6, [1.0] * 5]}, r"scores\[1\] has 5 values, but groups has"),
        (of_seeds, {"scores": [[1.0] * 6, [1, 2, math.inf, 1, 1, 1]]}, r"\[1\]: value 2 is inf"),
        (of_seeds, {"scores": [["a"] * 6]}, r"scores\[0\] must be"),
        *((of_seeds, {"scores": [[1.0] * 6] * 2, name: 1.5}, f"{name}: 1.5 is out .*below 1")
          for name in ("alpha", "confidence")),
        (of_change, {"values": [[1.0], [2.0]], "base_values": [[1.0]]}, "2 trainings, but 1 of"),
        (of_change, {"values": [[1.0, math.inf]], "base_values": [[1.0, 2.0]]}, "infinite"),
        (of_change, {"values": [[1.0, 1.0]], "base_values": [[1.0, 2.0]], "alpha": 2}, "alpha"),
        (adjusted, {"covariates": {"age": [1, 2]}}, "'age' is not one of class, length$"),
        (adjusted, {"covariates": {"length": [1]}}, "2 values but 1 of covariate 'length'"),
        (adjusted, {"covariates": {"length": [1, math.nan]}}, "'length' of value 1 is not a fin"),
        (partial(gap_difference, RUN, RUN), {"confidence": 1.0}, r"statistics\.confidence"),
        (partial(cramers_v, [0, 1], ["m"]), {}, "2 labels but 1 groups"),
        (partial(dependence_by_split, [0], ["m"], ["x", "y"]), {}, "1 labels, 1 groups and 2 spl"),
        *((partial(function, [0.5, p]), {}, "p-value lies between 0 and 1")
          for function in (holm, benjamini_hochberg) for p in (-0.1, 1.5)),
        (partial(adjust, [{**ROW, "p": 0.5}], ["data"]), {}, "statistics.family: 'data' .*'datase"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(call, changes, message):
    with pytest.raises(InputError, match=message):
        call(**changes)


def test_an_unknown_option_is_named():
    with pytest.raises(InputError, match="unknown option 'alhpa'; did you mean 'alpha'"):
        of_all(order=("a", "b"), alhpa=0.1)
