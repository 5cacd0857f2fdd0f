"""Verdicts computed again from the scores by other code: the references of ``stats/loops.py``.

The formulas are those of ``docs/statistics.md``. None of the code under test takes part.
"""

import math
from collections import defaultdict
from functools import partial
from statistics import mean

import numpy as np
import pytest
from compared import compare, judge
from made_up import GROUPS, Results, keys_of
from stats import loops

from exparity.artefacts.files import read_artefact

pytestmark = pytest.mark.reference

DELTA, ALPHA = 0.2, 0.05
METRIC = "gini"
# dataset: trainings, texts of each group, are they matched, share of the scores that are missing
DATASETS = {
    "pairs": (4, 30, True, 0.0),
    "gappy": (3, 20, True, 0.15),
    "rows": (3, 25, False, 0.0),
    "single": (1, 40, True, 0.0),
    "lonely": (1, 40, False, 0.0),
}
# method: mean gap, and its standard deviation between trainings
METHODS = {"alike": (0.0, 0.0), "lasting": (1.5, 0.05), "changing": (0.0, 2.0), "mixed": (0.8, 0.5)}


def made_up(folder, dataset, seed, method, rng, n_draws=2):
    """Write the scores of one training, and those of random explanations."""
    _, n, matched, missing = DATASETS[dataset]
    mu, tau = METHODS[method]
    gap = mu + tau * (-1) ** seed * (1 + 0.3 * rng.random())
    of_texts = [np.random.default_rng([i, len(dataset)]).normal() for i in range(n)]
    scores = np.repeat(0.5 * np.array(of_texts) + 0.4 * rng.normal(size=n), 2)
    scores[::2] += gap
    if method != "alike" or not matched:  # else nothing differs at all within the pairs
        scores += 0.6 * rng.normal(size=2 * n)
    scores[rng.random(2 * n) < missing] = math.nan
    write = partial(Results(folder).write_scores, keys_of(n, matched=matched))
    return (
        write(scores, dataset, "m", seed, method, METRIC),
        write(0.1 * rng.normal(size=(n_draws, 2 * n)), dataset, "m", seed, METRIC),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The rows of the verdicts, and the scores that they are of by cell, training and example."""
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(7)
    parts, values = [], {}
    for dataset, (n_seeds, *_) in DATASETS.items():
        made = [made_up(folder, dataset, s, m, rng) for s in range(n_seeds) for m in METHODS]
        paths, random = [p for p, _ in made], sorted({r for _, r in made})
        compare(paths, random, folder / "t", output := folder / f"{dataset}.parquet")
        parts.append(output)
        by_chance = defaultdict(list)
        for path in random:
            table, facts = read_artefact(path, "random_scores")
            for row in table.to_pylist():
                key = facts["wildcards"]["seed"], row["example_id"]
                by_chance[key].append(row["score"])
        for path in paths:
            table, facts = read_artefact(path, "scores")
            seed, method = (facts["wildcards"][name] for name in ("seed", "method"))
            for row in table.to_pylist():
                key = row["match_id"], row["group"], row["example_id"]
                score = row["score"]
                excess = score - mean(by_chance[seed, row["example_id"]])
                for quantity, value in (("score", score), ("excess", excess)):
                    cell = values.setdefault((dataset, method, quantity), {})
                    cell.setdefault(seed, {})[key] = value
    rows = [row for row in judge(parts) if not row["quantity"].startswith("random")]
    return {(row["dataset"], row["method"], row["quantity"]): row for row in rows}, values


def parts_of(by_seed):
    """The two-way tables of a cell as {seed: {column: value}}, without what is missing."""
    paired = any(key[0] is not None for values in by_seed.values() for key in values)
    first, second = {}, {}
    for seed, values in by_seed.items():
        sides = {group: {} for group in GROUPS}
        for (match, group, example), value in values.items():
            if not math.isnan(value):
                sides[group][match if paired else example] = value
        first[seed], second[seed] = sides["male"], sides["female"]
    if paired:
        for seed in by_seed:
            both = set(first[seed]) & set(second[seed])
            first[seed] = {k: first[seed][k] for k in both}
            second[seed] = {k: second[seed][k] for k in both}
    return first, second, paired


def claims_of(cell):
    """The p-values of a cell that verdicts are made of, and whether its size is guarded."""
    bound, size = DELTA * cell["pooled_sd"], abs(cell["estimate"])
    p_mean = min(1.0, 2 * loops.upper_tail(cell, size)) if size else 1.0
    if cell["n_seeds"] == 1:
        tost = loops.upper_tail(cell, bound - size)
        return {"p_mean": p_mean, "p_large": math.nan, "p_small": tost, "p_cross": math.nan}, False
    claims = {
        "p_mean": p_mean,
        "p_large": loops.p_of_size(cell, bound, upper=True),
        "p_small": loops.p_of_size(cell, bound, upper=False),
        "p_cross": loops.p_cross(cell),
    }
    largest = max(map(abs, cell["gaps"]))
    return claims, loops.p_of_size(cell, bound, upper=True, largest=largest) <= ALPHA


def verdict_of(p, is_guarded):
    """The first verdict whose rule holds, with one half of α for equivalence and one for gaps."""
    holds = {name: value <= ALPHA / 2 for name, value in p.items()}
    if holds["p_small"]:
        return "equivalent"
    if holds["p_mean"]:
        return "different"
    if holds["p_cross"] and is_guarded:
        return "unstable"
    return "considerable" if holds["p_large"] and is_guarded else "undecided"


@pytest.fixture(scope="module")
def recomputed(run):
    """Return the expected numbers of each cell."""
    cells = {}
    for key, by_seed in run[1].items():
        first, second, paired = parts_of(by_seed)
        cell = loops.cell_of(first, second, paired=paired)
        cells[key] = cell, *claims_of(cell)
    return cells


def test_every_cell_has_a_row(run):
    rows, values = run
    assert set(rows) == set(values)
    assert len(rows) == len(DATASETS) * len(METHODS) * 2


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("quantity", ["score", "excess"])
def test_what_is_said_of_the_cells(run, recomputed, dataset, quantity):
    keys = [(dataset, method, quantity) for method in METHODS]
    exact = {"rel": 1e-9, "abs": 1e-12} if dataset != "gappy" else {"rel": 1e-5}
    both = {name: [] for name in ("p_mean", "p_large", "p_small", "p_cross")}
    for key in keys:
        row, (c, p, is_guarded) = run[0][key], recomputed[key]
        for name in ("estimate", "pooled_sd", "dof_texts", "v_seeds", "v_texts", "v_cells"):
            if c["n_seeds"] > 1 or name not in ("v_seeds", "v_cells"):
                assert row[name] == pytest.approx(c[name], **exact), (key, name)
        assert row["n_seeds"] == c["n_seeds"]
        assert row["d"] == pytest.approx(c["estimate"] / c["pooled_sd"], **exact)
        assert row["p_mean"] == pytest.approx(p["p_mean"], rel=2e-5)
        if c["n_seeds"] == 1:
            assert math.isnan(row["p_large"])
            assert row["equivalence_p"] == pytest.approx(p["p_small"], rel=2e-5)
        else:
            for name in ("p_large", "p_small", "p_cross"):
                assert row[name] == pytest.approx(p[name], rel=2e-5, abs=1e-9), (key, name)
            assert (row["p_large_others"] <= ALPHA) == is_guarded
            carries = p["p_large"] <= ALPHA and not is_guarded
            assert ("driven_by_one_training" in row["flags"]) == carries
            of_texts = max(c["v_texts"] - c["v_cells"], 0.0)
            more = (c["n_seeds"] - 1) * (c["v_seeds"] - c["v_cells"])
            rms = math.sqrt(max(0.0, c["estimate"] ** 2 + more - of_texts)) / c["pooled_sd"]
            assert row["rms_gap"] == pytest.approx(rms, rel=1e-5, abs=1e-9)
        for name in both:
            both[name].append(p[name])
    both["p_cross"] = [
        max(both_of) for both_of in zip(both["p_large"], both["p_cross"], strict=True)
    ]
    for suffix, column, is_holm in (("bh", "verdict", False), ("holm", "verdict_strict", True)):
        ps = {name: loops.corrected(values, is_holm=is_holm) for name, values in both.items()}
        for i, key in enumerate(keys):
            own = {name: values[i] for name, values in ps.items()}
            for name, value in own.items():
                found = run[0][key][f"{name}_{suffix}"]
                assert found == pytest.approx(value, rel=2e-5, abs=1e-9, nan_ok=True)
            assert run[0][key][column] == verdict_of(own, recomputed[key][2]), key


@pytest.mark.parametrize("method", ["lasting", "mixed"])
def test_the_ends_of_the_interval_are_where_a_claim_would_be_rejected(run, recomputed, method):
    row, (c, *_) = run[0]["pairs", method, "score"], recomputed["pairs", method, "score"]
    for end, upper in (("rms_low", True), ("rms_high", False)):
        bound = row[end] * row["pooled_sd"]
        p = loops.p_of_size(c, bound, upper=upper)
        assert p == pytest.approx(0.025, rel=1e-3)
