"""Verdicts computed again from the scores by other code: loops, least squares, the midpoint rule.

The formulas are those of ``docs/statistics.md``. None of the code under test takes part.
"""

import math
from collections import defaultdict
from statistics import mean, variance

import numpy as np
import pytest
import scipy.special as sp
from compared import compare, judge
from made_up import GROUPS, Results

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
    rows, drawn = [], []
    for i in range(n):
        of_text = np.random.default_rng([i, len(dataset)]).normal()
        # Nothing differs at all within the pairs of one method.
        shared = rng.normal()
        for group in GROUPS:
            own = 0.0 if method == "alike" and matched else rng.normal()
            is_missing = rng.random() < missing
            text = {"example_id": f"{i:02d}-{group}", "group": group}
            text["match_id"] = f"{i:02d}" if matched else None
            score = 0.5 * of_text + 0.4 * shared + 0.6 * own + gap * (group == "male")
            rows.append({**text, "score": math.nan if is_missing else score})
            for draw in range(n_draws):
                drawn.append({**text, "draw": draw, "score": 0.1 * rng.normal()})
    results = Results(folder)
    return (
        results.write("scores", rows, dataset, "m", seed, method, METRIC),
        results.write("random_scores", drawn, dataset, "m", seed, METRIC),
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


def squares_of(table):
    """D̄, Σ_i e by seed, V_I with its n, and V_E; e is each cell's share in the error of D̄."""
    cells = [(s, i, x) for s, values in table.items() for i, x in values.items()]
    m = len(cells)
    centre = sum(x for *_, x in cells) / m
    e = [(x - centre) / m for *_, x in cells]
    seeds, texts = sorted({s for s, *_ in cells}), sorted({i for _, i, _ in cells})
    by_seed = {s: sum(v for v, (t, *_) in zip(e, cells, strict=True) if t == s) for s in seeds}
    by_text = {i: sum(v for v, (_, j, _) in zip(e, cells, strict=True) if j == i) for i in texts}
    n = len(texts)
    v_texts = n / (n - 1) * sum(v**2 for v in by_text.values())
    design = [[t == s for s in seeds] + [j == i for i in texts] for t, j, _ in cells]
    design = np.array(design, dtype=float)
    rest = e - design @ np.linalg.lstsq(design, np.array(e), rcond=None)[0]
    dof = m - len(seeds) - n + 1
    v_cells = m / dof * sum(r**2 for r in rest) if len(seeds) > 1 else 0.0
    return centre, by_seed, v_texts, n, v_cells


def described(by_seed):
    """Return the estimates and variances that the tests of a cell take, by name."""
    first, second, paired = parts_of(by_seed)
    if paired:
        tables = [{s: {k: first[s][k] - second[s][k] for k in first[s]} for s in first}]
    else:
        tables = [first, second]
    squares = [squares_of(table) for table in tables]
    signs = (1, -1)[: len(tables)]
    seeds = sorted(by_seed)
    count = len(seeds)
    estimate = sum(sign * one[0] for sign, one in zip(signs, squares, strict=True))
    shares = [
        sum(sign * one[1][s] for sign, one in zip(signs, squares, strict=True)) for s in seeds
    ]
    v_seeds = count / (count - 1) * sum(x**2 for x in shares) if count > 1 else 0.0
    v_texts = sum(one[2] for one in squares)
    spread = sum(one[2] ** 2 / (one[3] - 1) for one in squares)
    dof = v_texts**2 / spread if spread else sum(one[3] - 1 for one in squares)
    gaps, errors, dofs = [], [], []
    for s in seeds:
        samples = [list(table[s].values()) for table in tables]
        gaps.append(sum(sign * mean(x) for sign, x in zip(signs, samples, strict=True)))
        shares_of_error = [(variance(x) / len(x), len(x) - 1) for x in samples]
        errors.append(math.sqrt(sum(v for v, _ in shares_of_error)))
        spread = sum(v**2 / k for v, k in shares_of_error)
        dofs.append(errors[-1] ** 4 / spread if spread else 1.0)
    sides = [mean(variance(side[s].values()) for s in seeds) for side in (first, second)]
    return {
        "estimate": estimate,
        "v_seeds": v_seeds,
        "v_texts": v_texts,
        "v_cells": sum(one[4] for one in squares),
        "dof_texts": dof,
        "n_seeds": count,
        "pooled_sd": math.sqrt(mean(sides)),
        "gaps": gaps,
        "errors": errors,
        "dofs": dofs,
    }


def integral(function, low, high, steps=4000):
    """By the midpoint rule, with points that are dense at both ends, where roots begin."""
    low, high = max(low, -60.0), min(high, 60.0)
    if low >= high:
        return 0.0
    angles = (np.arange(steps) + 0.5) * math.pi / steps - math.pi / 2
    z = (low + high) / 2 + (high - low) / 2 * np.sin(angles)
    return (high - low) / 2 * math.pi / steps * float(np.sum(function(z) * np.cos(angles)))


def t_density(z, dof):
    log = sp.gammaln((dof + 1) / 2) - sp.gammaln(dof / 2) - math.log(dof * math.pi) / 2
    return np.exp(log - (dof + 1) / 2 * np.log1p(z * z / dof))


def upper_tail(x, c):
    """P(√A·t_{S−1} + √B·t_ν ≥ x)."""
    a = max(c["v_seeds"], c["v_cells"]) if c["n_seeds"] > 1 else 0.0
    b = max(c["v_texts"] - c["v_cells"], 0.0)
    if a == 0 and b == 0:
        return 0.5 if x == 0 else float(x < 0)
    if a == 0:
        return sp.stdtr(c["dof_texts"], -x / math.sqrt(b))
    if b == 0:
        return sp.stdtr(c["n_seeds"] - 1, -x / math.sqrt(a))

    def integrand(z):
        tail = sp.stdtr(c["n_seeds"] - 1, (math.sqrt(b) * z - x) / math.sqrt(a))
        return t_density(z, c["dof_texts"]) * tail

    return integral(integrand, -60, 60)


def of_q(c, total, seeds, bound, *, upper):
    """The largest P(Q ≥ T), or P(Q ≤ T), over whole degrees."""
    largest = 0.0
    if total == 0:
        return float(upper)
    of_texts = max(c["v_texts"] - c["v_cells"], 0.0)
    for degrees in range(91):
        mu = bound * math.cos(math.radians(degrees))
        v = (bound * math.sin(math.radians(degrees))) ** 2 + c["n_seeds"] * c["v_cells"]
        shift = mu / math.sqrt(v / seeds + of_texts)
        scale = v + seeds * of_texts
        reach = math.sqrt(total / scale)
        low, high = -reach - shift, reach - shift

        def integrand(z, v=v, scale=scale, shift=shift):
            rest = np.maximum(0.0, total - scale * (z + shift) ** 2) / v
            if upper:
                return t_density(z, c["dof_texts"]) * sp.chdtrc(seeds - 1, rest)
            return np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * sp.chdtr(seeds - 1, rest)

        p = integral(integrand, low, high)
        if upper:
            p += sp.stdtr(c["dof_texts"], low) + sp.stdtr(c["dof_texts"], -high)
        largest = max(largest, p)
    return min(largest, 1.0)


def claims_of(c):
    """The p-values of a cell that verdicts are made of, and whether its size is guarded."""
    bound, seeds = DELTA * c["pooled_sd"], c["n_seeds"]
    size = abs(c["estimate"])
    p_mean = min(1.0, 2 * upper_tail(size, c)) if size else 1.0
    if seeds == 1:
        tost = upper_tail(bound - size, c)
        return {"p_mean": p_mean, "p_large": None, "p_small": tost, "p_cross": None}, False
    total = seeds * c["estimate"] ** 2 + seeds * (seeds - 1) * c["v_seeds"]
    sides = []
    for side in (-1, 1):
        ps = [
            sp.stdtr(dof, side * gap / error)
            if error
            else 0.5
            if not gap
            else float(side * gap > 0)
            for gap, error, dof in zip(c["gaps"], c["errors"], c["dofs"], strict=True)
        ]
        sides.append(min(1.0, seeds * min(ps)))
    rest = max(0.0, total - max(gap**2 for gap in c["gaps"]))
    claims = {
        "p_mean": p_mean,
        "p_large": of_q(c, total, seeds, bound, upper=True),
        "p_small": of_q(c, total, seeds, bound, upper=False),
        "p_cross": max(sides),
    }
    return claims, of_q(c, rest, seeds - 1, bound, upper=True) <= ALPHA


def corrected(ps, *, holm):
    """p-values after Holm, or after Benjamini and Hochberg, by the definition."""
    known = sorted(p for p in ps if p is not None)
    m = len(known)
    result = []
    for p in ps:
        if p is None:
            result.append(None)
        elif holm:
            result.append(min(1.0, max((m - known.index(q)) * q for q in known if q <= p)))
        else:
            last = {q: max(j for j, r in enumerate(known, 1) if r == q) for q in known}
            result.append(min(1.0, min(m / last[q] * q for q in known if q >= p)))
    return result


def verdict_of(p, is_guarded):
    """The first verdict whose rule holds."""
    holds = {name: value is not None and value <= ALPHA for name, value in p.items()}
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
        c = described(by_seed)
        cells[key] = c, *claims_of(c)
    return cells


def test_every_cell_is_there(run):
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
    known = [large is not None for large in both["p_large"]]
    both["p_cross"] = [
        max(large, cross) if is_known else None
        for is_known, large, cross in zip(known, both["p_large"], both["p_cross"], strict=True)
    ]
    for suffix, column, is_holm in (("bh", "verdict", False), ("holm", "verdict_strict", True)):
        ps = {name: corrected(values, holm=is_holm) for name, values in both.items()}
        for i, key in enumerate(keys):
            own = {name: values[i] for name, values in ps.items()}
            for name, value in own.items():
                found = run[0][key][f"{name}_{suffix}"]
                expected = math.nan if value is None else value
                assert found == pytest.approx(expected, rel=2e-5, abs=1e-9, nan_ok=True)
            assert run[0][key][column] == verdict_of(own, recomputed[key][2]), key


@pytest.mark.parametrize("method", ["lasting", "mixed"])
def test_the_ends_of_the_interval_are_where_a_claim_would_be_rejected(run, recomputed, method):
    row, (c, *_) = run[0]["pairs", method, "score"], recomputed["pairs", method, "score"]
    total = c["n_seeds"] * (c["estimate"] ** 2 + (c["n_seeds"] - 1) * c["v_seeds"])
    for end, upper in (("rms_low", True), ("rms_high", False)):
        bound = row[end] * row["pooled_sd"]
        p = of_q(c, total, c["n_seeds"], bound, upper=upper)
        assert p == pytest.approx(0.025, rel=1e-3)


def test_the_verdicts_are_those_that_were_planted(run):
    found = {key: row["verdict"] for key, row in run[0].items() if key[2] == "score"}
    assert found["pairs", "alike", "score"] == "equivalent"
    assert "no_differences" in run[0]["pairs", "alike", "score"]["flags"]
    assert found["pairs", "lasting", "score"] == "different"
    assert found["pairs", "changing", "score"] == "unstable"
    for dataset in ("single", "lonely"):
        assert found[dataset, "lasting", "score"] == "different"
        assert found[dataset, "alike", "score"] in ("equivalent", "undecided")
