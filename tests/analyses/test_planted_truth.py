"""A truth planted in explanations must come out as the verdict; so must a planted nothing.

Explanations that mark the rationale are made worse for one group by a known amount: with some
probability, random scores stand in their place. They go through the metric, the artefacts, the
excess over random explanations, the crossed test and the verdict, as in a run.
"""

from __future__ import annotations

import numpy as np
import pytest

import exparity
from exparity import Explanation
from exparity.analyses.across_trainings import across_trainings_cell
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.core.seeding import derive_seed
from exparity.stats.verdicts import judge

pytestmark = pytest.mark.property

SEEDS, PAIRS, WORDS, MARKED, DRAWS = range(5), 60, 12, 3, 5
GROUPS = ("male", "female")
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


def texts():
    """Yield every example's id, group and pair, pairs in order."""
    for pair in range(PAIRS):
        for group in GROUPS:
            yield {"example_id": f"{pair:03d}-{group}", "group": group, "match_id": f"{pair:03d}"}


def rationales():
    rng = np.random.default_rng(0)
    pairs = np.zeros((PAIRS, WORDS), dtype=int)
    for row in pairs:
        row[rng.choice(WORDS, MARKED, replace=False)] = 1
    return np.repeat(pairs, len(GROUPS), axis=0)


def explained(seed, spoilt, rng):
    """Scores that mark the rationale; of each group, some are spoilt with its probability."""
    scores = rationales() + 0.1 * rng.random((PAIRS * len(GROUPS), WORDS))
    # Trainings differ: each spoils a little more or less than the last.
    chance = np.tile([spoilt[group] for group in GROUPS], PAIRS) + 0.02 * (seed - 2)
    bad = rng.random(len(scores)) < chance
    scores[bad] = rng.random((bad.sum(), WORDS))
    return scores


def verdicts(folder, methods):
    """Run explanations of each method through artefacts, analysis and verdict.

    Args:
        folder: where to.
        methods: called as ``make(seed, rng)``, by name.
    """
    facts = {"groups": list(GROUPS), "attribute": "gender"}
    scores, random_scores = [], []
    for seed in SEEDS:
        ids = {"dataset": "d", "model": "m", "seed": seed, "metric": METRIC}
        drawn = []
        for draw in range(DRAWS):
            rng = np.random.default_rng(derive_seed(seed, "control", draw))
            values = precision(rng.random((PAIRS * len(GROUPS), WORDS)), rationales())
            drawn += [{**t, "draw": draw, "score": v} for t, v in zip(texts(), values, strict=True)]
        path = folder / f"random-{seed}.parquet"
        write_artefact(path, "random_scores", drawn, ids, stage="x", parameters={}, extra=facts)
        random_scores.append(path)
        for name, make in methods.items():
            rng = np.random.default_rng(derive_seed(seed, name))
            values = precision(make(seed, rng), rationales())
            rows = [{**t, "score": v} for t, v in zip(texts(), values, strict=True)]
            path = folder / f"{name}-{seed}.parquet"
            cell = {**ids, "method": name}
            write_artefact(path, "scores", rows, cell, stage="x", parameters={}, extra=facts)
            scores.append(path)
    output = folder / "across.parquet"
    across_trainings_cell(scores, random_scores, [], output)
    rows = read_artefact(output, "across_trainings")[0].to_pylist()
    return {row["method"]: row for row in judge([r for r in rows if r["quantity"] == "excess"])}


@pytest.mark.parametrize("worse", GROUPS)
def test_what_is_planted_in_one_group_is_found_with_its_size(worse, tmp_path):
    spoilt = {group: 0.1 + 0.3 * (group == worse) for group in GROUPS}
    row = verdicts(tmp_path, {"planted": lambda seed, rng: explained(seed, spoilt, rng)})["planted"]
    assert row["verdict"] == "different"
    planted = 0.3 * (1 - BY_CHANCE) * (1 if worse == "female" else -1)
    assert np.sign(row["estimate"]) == np.sign(planted)
    assert row["ci_low"] <= planted <= row["ci_high"]


def test_what_is_planted_in_both_is_not(tmp_path):
    spoilt = dict.fromkeys(GROUPS, 0.4)
    row = verdicts(tmp_path, {"both": lambda seed, rng: explained(seed, spoilt, rng)})["both"]
    assert row["verdict"] != "different"
    assert row["ci_low"] <= 0 <= row["ci_high"]


def test_random_explanations_do_not_differ_in_excess(tmp_path):
    """Of sixty cells without any difference, judged each by itself, few are called different."""
    shape = (PAIRS * len(GROUPS), WORDS)
    methods = {f"random_{i}": lambda seed, rng: rng.random(shape) for i in range(60)}
    rows = verdicts(tmp_path, methods).values()
    alone = sum(row["p_mean"] <= 0.05 and row["verdict"] != "equivalent" for row in rows)
    assert alone <= 6  # 5 % of 60 are 3; more than 6 have a probability of 3 %
    assert sum(row["verdict"] == "different" for row in rows) == 0
