"""References for several statistics, written as loops over rows."""

import math
from bisect import bisect_right
from itertools import pairwise
from statistics import variance

import numpy as np
import scipy.integrate
import scipy.special as sp
import scipy.stats


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def moments(values, ddof):
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((v - mean) ** 2 for v in values) / (len(values) - ddof)


def cohens_d(a, b, ddof=1):
    """Cohen's d with the mean of both variances."""
    (mean_a, var_a), (mean_b, var_b) = moments(a, ddof), moments(b, ddof)
    return (mean_a - mean_b) / math.sqrt((var_a + var_b) / 2)


def jackknife(statistic, strata, confidence=0.95):
    """A statistic of the rows that are not left out, and its interval.

    Each unit of each stratum, a tuple of row numbers, is left out in turn.
    """
    parts = []
    for units in strata:
        left = [statistic(set(unit)) for unit in units]
        mean = math.fsum(left) / len(left)
        parts.append((len(left) - 1) / len(left) * math.fsum((x - mean) ** 2 for x in left))
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(units) - 1) for part, units in zip(parts, strata, strict=True)
    )
    reach = scipy.stats.t.ppf((1 + confidence) / 2, freedom) * math.sqrt(sum(parts))
    estimate = statistic(set())
    return estimate, estimate - reach, estimate + reach


def corrected(ps, *, is_holm):
    """p-values after Holm, or after Benjamini and Hochberg; NaN is of no family."""
    known = sorted(p for p in ps if p == p)
    m = len(known)

    def correct(p):
        if p != p:
            return p
        if is_holm:
            return min(1.0, max((m - known.index(q)) * q for q in known if q <= p))
        return min(1.0, min(m / bisect_right(known, q) * q for q in known if q >= p))

    return [correct(p) for p in ps]


def two_way(table):
    """D̄, Σ_i e by seed, V_I with its n, and V_E of {seed: {text: value}}, some of them missing.

    e is each cell's share in the error of D̄.
    """
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


def cell_of(first, second, *, paired):
    """Estimates and variances that the tests of a cell take, by name.

    Each side is {seed: {set or text: value}}; of sets, both sides hold the same.
    """
    if paired:
        tables = [{s: {k: first[s][k] - second[s][k] for k in first[s]} for s in first}]
    else:
        tables = [first, second]
    squares = [two_way(table) for table in tables]
    signs = (1, -1)[: len(tables)]
    seeds = sorted(first)
    count = len(seeds)
    estimate = sum(sign * one[0] for sign, one in zip(signs, squares, strict=True))
    shares = [
        sum(sign * one[1][s] for sign, one in zip(signs, squares, strict=True)) for s in seeds
    ]
    v_texts = sum(one[2] for one in squares)
    spread = sum(one[2] ** 2 / (one[3] - 1) for one in squares)
    gaps, errors, dofs = [], [], []
    for s in seeds:
        samples = [list(table[s].values()) for table in tables]
        gaps.append(sum(sign * mean(x) for sign, x in zip(signs, samples, strict=True)))
        of_error = [(variance(x) / len(x), len(x) - 1) for x in samples]
        errors.append(math.sqrt(sum(v for v, _ in of_error)))
        of_dof = sum(v**2 / k for v, k in of_error)
        dofs.append(errors[-1] ** 4 / of_dof if of_dof else 1.0)
    sides = [mean(variance(side[s].values()) for s in seeds) for side in (first, second)]
    return {
        "estimate": estimate,
        "v_seeds": count / (count - 1) * sum(x**2 for x in shares) if count > 1 else 0.0,
        "v_texts": v_texts,
        "v_cells": sum(one[4] for one in squares),
        "dof_texts": v_texts**2 / spread if spread else sum(one[3] - 1 for one in squares),
        "n_seeds": count,
        "pooled_sd": math.sqrt(mean(sides)),
        "gaps": gaps,
        "errors": errors,
        "dofs": dofs,
    }


def t_density(z, dof):
    log = sp.gammaln((dof + 1) / 2) - sp.gammaln(dof / 2) - math.log(dof * math.pi) / 2
    return np.exp(log - (dof + 1) / 2 * np.log1p(z * z / dof))


def variances_of(cell):
    """Variances A of trainings and B of texts in the estimate of a cell."""
    of_trainings = max(cell["v_seeds"], cell["v_cells"]) if cell["n_seeds"] > 1 else 0.0
    return of_trainings, max(cell["v_texts"] - cell["v_cells"], 0.0)


def upper_tail(cell, x):
    """P(√A·t_{S−1} + √B·t_ν ≥ x), by adaptive integration over the texts' t."""
    a, b = variances_of(cell)
    if a == b == 0:
        return 0.5 if x == 0 else float(x < 0)
    if a == 0:
        return sp.stdtr(cell["dof_texts"], -x / math.sqrt(b))
    if b == 0:
        return sp.stdtr(cell["n_seeds"] - 1, -x / math.sqrt(a))

    def both(z):
        tail = sp.stdtr(cell["n_seeds"] - 1, (math.sqrt(b) * z - x) / math.sqrt(a))
        return t_density(z, cell["dof_texts"]) * tail

    ends = pairwise((-np.inf, -10.0, 0.0, 10.0, np.inf))
    return sum(scipy.integrate.quad(both, *piece, epsrel=1e-9)[0] for piece in ends)


def integral(function, low, high, steps=4000):
    """By the midpoint rule, with points that are dense at both ends, where roots begin."""
    low, high = max(low, -60.0), min(high, 60.0)
    if low >= high:
        return 0.0
    angles = (np.arange(steps) + 0.5) * math.pi / steps - math.pi / 2
    z = (low + high) / 2 + (high - low) / 2 * np.sin(angles)
    return (high - low) / 2 * math.pi / steps * float(np.sum(function(z) * np.cos(angles)))


def p_of_size(cell, bound, *, upper, largest=None):
    """The largest P(Q ≥ T), or P(Q ≤ T), of a typical gap of ``bound`` over whole degrees.

    Without the training whose gap is ``largest``, if it is given.
    """
    count = cell["n_seeds"]
    total = count * cell["estimate"] ** 2 + count * (count - 1) * cell["v_seeds"]
    seeds = count if largest is None else count - 1
    total = total if largest is None else max(0.0, total - largest**2)
    if total == 0:
        return float(upper)
    _, of_texts = variances_of(cell)
    dof, found = cell["dof_texts"], 0.0
    for degrees in range(91):
        mu = bound * math.cos(math.radians(degrees))
        v = (bound * math.sin(math.radians(degrees))) ** 2 + count * cell["v_cells"]
        shift = mu / math.sqrt(v / seeds + of_texts)
        scale = v + seeds * of_texts
        reach = math.sqrt(total / scale)
        low, high = -reach - shift, reach - shift

        def integrand(z, v=v, scale=scale, shift=shift):
            rest = np.maximum(0.0, total - scale * (z + shift) ** 2) / v
            if upper:
                return t_density(z, dof) * (sp.chdtrc(seeds - 1, rest) if seeds > 1 else 0.0)
            return np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * sp.chdtr(seeds - 1, rest)

        p = integral(integrand, low, high)
        if upper:
            p += sp.stdtr(dof, low) + sp.stdtr(dof, -high)
        found = max(found, p)
    return min(found, 1.0)


def p_cross(cell):
    """The weaker of both signs, each of which one training of all has to show."""
    sides = []
    for side in (-1, 1):
        ps = [
            sp.stdtr(dof, side * gap / error)
            if error
            else 0.5
            if not gap
            else float(side * gap > 0)
            for gap, error, dof in zip(cell["gaps"], cell["errors"], cell["dofs"], strict=True)
        ]
        sides.append(min(1.0, cell["n_seeds"] * min(ps)))
    return max(sides)


def share_below(pool, value):
    return sum(0.5 if one == value else float(one < value) for one in pool) / len(pool)


def skill(scale, sizes, random, reference, own, at):
    """Gain and room of a text, falls by falls."""
    if scale == "ranks":
        pool = [fall for order in random for fall in order]
        random = [[share_below(pool, fall) for fall in order] for order in random]
        reference = [share_below(pool, fall) for fall in reference]
        own = [share_below(pool, fall) for fall in own]
    chance = [math.fsum(column) / len(random) for column in zip(*random, strict=True)]
    by_chance = math.fsum(chance[sizes.index(size)] for size in at) / len(at)
    by_reference = math.fsum(reference[sizes.index(size)] for size in at) / len(at)
    return math.fsum(own) / len(at) - by_chance, by_reference - by_chance


def searched(odds_with, n, stages, keep=False):
    """The order of a search for what to take first, by the log-odds with some of n units."""
    left, order = list(range(n)), []
    for stage in range(1, stages + 1):
        goal = stage * n // stages
        if goal > len(order):
            odds = {i: odds_with([j for j in left if j != i]) for i in left}
            ranked = sorted(left, key=lambda i, odds=odds: (-odds[i] if keep else odds[i], -i))
            order += ranked[: goal - len(order)]
            left = [i for i in left if i not in order]
    return order[::-1] if keep else order


def reference(odds_with, n, stages, keep=False):
    """The best of the search, of units by what they say alone, and of this begun by the search."""
    alone = [odds_with([i]) for i in range(n)]
    by_search = searched(odds_with, n, stages, keep)
    by_value = sorted(range(n), key=lambda i: (-alone[i], -i))
    first = by_search[: max(1, n // stages)]
    orders = [by_search, by_value, first + [i for i in by_value if i not in first]]
    values = []
    for order in orders:
        sizes = sorted({stage * n // stages for stage in range(1, stages + 1)} - {0})
        lefts = [order[:size] if keep else order[size:] for size in sizes]
        values.append([odds_with(sorted(left)) for left in lefts])
    pooled = [value for own in values for value in own]
    sums = [sum(below(pooled, value) for value in own) for own in values]
    return orders[sums.index(max(sums) if keep else min(sums))]


def below(values, value):
    """How many values are below one, a tie counting half."""
    return sum((other < value) + (other == value) / 2 for other in values)
