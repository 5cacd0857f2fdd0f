"""A truth planted in explanations must come out as the verdict; so must a planted nothing.

Explanations that mark the rationale are made worse for one group by a known amount: with some
probability, random scores stand in their place. They go through the metric, the artefacts, the
excess over random explanations, the tests of single trainings, the crossed test and the verdict,
as in a run.
"""

from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from compared import compare, judge
from made_up import GROUPS, Results, keys_of

import exparity
from exparity import Explanation
from exparity.artefacts.files import read_artefact
from exparity.core.seeding import derive_seed

pytestmark = pytest.mark.property

SEEDS, PAIRS, WORDS, MARKED, DRAWS = range(5), 80, 12, 3, 5
METRIC = "rationale_top_k_precision"
BY_CHANCE = MARKED / WORDS
"""Expected precision of random scores; that of the rationale itself is 1."""


def precision(scores, rationale):
    """Score explanations with the metric; both (n, w)."""
    explanations = [
        Explanation("x", 0, tokens=[f"w{i}" for i in range(WORDS)], scores=one, rationale=marked)
        for one, marked in zip(scores, rationale, strict=True)
    ]
    return exparity.evaluate(None, explanations, METRIC)


def rationales():
    rng = np.random.default_rng(0)
    pairs = np.zeros((PAIRS, WORDS), dtype=int)
    for row in pairs:
        row[rng.choice(WORDS, MARKED, replace=False)] = 1
    return np.repeat(pairs, len(GROUPS), axis=0)


def explained(spoilt, rng):
    """Scores that mark the rationale; of each group, some are spoilt with its probability."""
    scores = rationales() + 0.1 * rng.random((PAIRS * len(GROUPS), WORDS))
    bad = rng.random(len(scores)) < np.tile([spoilt[group] for group in GROUPS], PAIRS)
    scores[bad] = rng.random((bad.sum(), WORDS))
    return scores


def gap_of(*shares):
    """Explanations of which more are spoilt for the second group, by a share of each training's.

    Where a share is negative, the first group's are.
    """

    def make(seed, rng):
        share = shares[seed]
        return explained({"male": 0.1 + max(-share, 0), "female": 0.1 + max(share, 0)}, rng)

    return make


def same_for_both(seed, rng):
    """Explanations of which a tenth is spoilt, in both members of a pair alike."""
    scores = explained({"male": 0.1, "female": 0.0}, rng)
    scores[1::2] = scores[::2]
    lonely = rng.integers(PAIRS)  # but one
    scores[2 * lonely] = rng.random(WORDS)
    return scores


def verdicts(folder, methods):
    """Run explanations of each method through artefacts, tests, trainings and verdict.

    Args:
        folder: where to.
        methods: called as ``make(seed, rng)``, by name.

    Returns:
        The rows of the excess by method, each with ``tests``, its excess in each training.
    """
    results = Results(folder)
    scores, random_scores = [], []
    for seed in SEEDS:
        seeds = [derive_seed(seed, "control", draw) for draw in range(DRAWS)]
        shape = PAIRS * len(GROUPS), WORDS
        drawn = [precision(np.random.default_rng(s).random(shape), rationales()) for s in seeds]
        write = partial(results.write_scores, keys_of(PAIRS))
        random_scores.append(write(drawn, "d", "m", seed, METRIC))
        for name, make in methods.items():
            rng = np.random.default_rng(derive_seed(seed, name))
            values = precision(make(seed, rng), rationales())
            scores.append(write(values, "d", "m", seed, name, METRIC))
    compare(scores, random_scores, tests := folder / "tests.parquet", across := folder / "across")
    of_seeds = defaultdict(list)
    for row in read_artefact(tests, "tests")[0].to_pylist():
        if row["quantity"] == "excess":
            of_seeds[row["method"]].append(row)
    rows = [row for row in judge([across]) if row["quantity"] == "excess"]
    return {row["method"]: {**row, "tests": of_seeds[row["method"]]} for row in rows}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    methods = {
        "equivalent": same_for_both,
        "different": gap_of(0.5, 0.55, 0.45, 0.5, 0.5),
        "unstable": gap_of(0.6, -0.6, 0.6, -0.6, 0.6),
        "considerable": gap_of(0.0, 0.8, 0.05, 0.8, 0.3),
        "undecided": gap_of(0.15, -0.1, 0.15, 0.0, 0.1),
        "one_bad_training": gap_of(0.0, 0.0, 0.8, 0.0, 0.0),
    }
    return verdicts(tmp_path_factory.mktemp("planted"), methods)


@pytest.mark.parametrize(
    "verdict", ["equivalent", "different", "unstable", "considerable", "undecided"]
)
def test_each_verdict_is_given_where_it_was_planted(planted, verdict):
    assert planted[verdict]["verdict"] == verdict


def test_single_trainings_find_what_was_planted_in_each(planted):
    directions = {
        name: [
            int(np.sign(test["mean_difference"])) * (test["wilcoxon_p"] <= 0.05)
            for test in row["tests"]
        ]
        for name, row in planted.items()
    }
    assert directions["equivalent"] == [0] * 5
    assert directions["different"] == [1] * 5
    assert directions["unstable"] == [1, -1, 1, -1, 1]
    assert (directions["considerable"][1], directions["considerable"][3]) == (1, 1)
    assert planted["considerable"]["seeds_below"] <= 1
    assert directions["one_bad_training"][2] == 1


def test_one_bad_training_carries_no_claim_of_size(planted):
    row = planted["one_bad_training"]
    assert "driven_by_one_training" in row["flags"]
    assert row["verdict"] == "undecided"


@pytest.mark.parametrize("worse", GROUPS)
def test_what_is_planted_in_one_group_is_found_with_its_size(worse, tmp_path):
    sign = 1 if worse == "female" else -1
    row = verdicts(tmp_path, {"planted": gap_of(*sign * np.linspace(0.26, 0.34, 5))})["planted"]
    assert row["verdict"] == "different"
    planted = 0.3 * (1 - BY_CHANCE) * sign
    assert np.sign(row["estimate"]) == np.sign(planted)
    assert row["ci_low"] <= planted <= row["ci_high"]


def test_what_is_planted_in_both_is_not(tmp_path):
    spoilt = dict.fromkeys(GROUPS, 0.4)
    row = verdicts(tmp_path, {"both": lambda seed, rng: explained(spoilt, rng)})["both"]
    assert row["verdict"] != "different"
    assert row["ci_low"] <= 0 <= row["ci_high"]


def test_random_explanations_do_not_differ_in_excess(tmp_path):
    """Few of fifteen cells without a difference are called different, each judged by itself."""
    shape = (PAIRS * len(GROUPS), WORDS)
    methods = {f"random_{i}": lambda seed, rng: rng.random(shape) for i in range(15)}
    rows = verdicts(tmp_path, methods).values()
    alone = sum(row["p_mean"] <= 0.05 and row["verdict"] != "equivalent" for row in rows)
    assert alone <= 2  # 5 % of 15 are 0.75; more than 2 have a probability of 4 %
    assert sum(row["verdict"] == "different" for row in rows) == 0
