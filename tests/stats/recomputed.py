"""The verdicts of a study, computed again from its scores with numpy, scipy and pandas alone.

Nothing of exparity is imported. Formulas are those of docs/statistics.md and docs/calibration.md,
written as plainly as they stand there: integrals by quadrature with many nodes, fits by least
squares, roots by Brent's method. ``test_recomputed.py`` compares the results with the product's.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

ALPHA, THRESHOLD, CONFIDENCE, POWER = 0.05, 0.2, 0.95, 0.8
SCALES = "ranks", "log_odds", "probability"
CLAIMS = "p_mean", "p_large", "p_small", "p_cross"
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)


# Gain, room and skill of texts


def share_below(pool, falls):
    """Return the share of a pool below each fall, a tie counting half."""
    below = (pool[:, None] < falls).mean(axis=0)
    return below + (pool[:, None] == falls).mean(axis=0) / 2


def gain_and_room(own, random, reference):
    """Return (gain, room) of a text by scale.

    Each is a dict of ``size``, ``probability`` and ``log_odds``: (k,), of random orders (r, k).
    """
    own_size = np.asarray(own["size"])
    taken = own_size > 0
    if not taken.any():
        return dict.fromkeys(SCALES, (np.nan, np.nan))
    places = [int(np.flatnonzero(random["size"] == size)[0]) for size in own_size[taken]]
    pool = random["log_odds"].ravel()
    found = {}
    for scale in SCALES:
        name = "probability" if scale == "probability" else "log_odds"
        kinds = [np.asarray(part[name]) for part in (own, random, reference)]
        if scale == "ranks":
            kinds = [share_below(pool, kind.ravel()).reshape(kind.shape) for kind in kinds]
        explained, by_chance, searched = kinds
        chance = by_chance.mean(axis=0)[places].mean()
        found[scale] = explained[taken].mean() - chance, searched[places].mean() - chance
    return found


def units_that_count(log_odds):
    """Return (Σ f)² ÷ Σ f² of what each unit adds to the fall of the reference."""
    added = np.abs(np.diff([0.0, *log_odds]))
    return round(added.sum() ** 2 / (added**2).sum(), 9)


def linearised(gain, room, groups, least_room):
    """Return values whose mean in a group is Σ gain ÷ Σ room."""
    values = np.full(len(gain), np.nan)
    for group in set(groups):
        known = (groups == group) & np.isfinite(gain + room)
        if not known.any() or not room[known].mean() > 0 or room[known].mean() < least_room:
            continue
        skill = gain[known].sum() / room[known].sum()
        values[known] = skill + (gain[known] - skill * room[known]) / room[known].mean()
    return values


# Like with like


def strata_of(covariate, is_first):
    """Return the stratum of each text; −1 for a text longer, or shorter, than all of one group."""
    first = covariate[is_first]
    second = covariate[~is_first]
    low = max(first.min(), second.min())
    high = min(first.max(), second.max())
    shared = (covariate >= low) & (covariate <= high)
    strata = np.full(len(covariate), -1)
    smaller = min((shared & is_first).sum(), (shared & ~is_first).sum())
    count = min(4, max(1, smaller // 10))
    ordered = np.sort(covariate[shared])
    ranks = [int(np.ceil(len(ordered) * level / count)) - 1 for level in range(1, count)]
    edges = sorted({ordered[rank] for rank in ranks})
    strata[shared] = [sum(value > edge for edge in edges) for value in covariate[shared]]
    return strata


def standardised(values, is_first, strata):
    """Return the values of a training, with the means of strata that weigh alike in both groups."""
    known = np.isfinite(values)
    common = [
        s
        for s in range(strata.max() + 1)
        if min((known & (strata == s) & side).sum() for side in (is_first, ~is_first)) >= 5
    ]
    result = np.full(len(values), np.nan)
    cells = {}
    for side in (True, False):
        in_group = known & (is_first == side) & np.isin(strata, common)
        for s in common:
            cell = in_group & (strata == s)
            cells[side, s] = cell, cell.sum() / in_group.sum(), values[cell].mean()
    for side in (True, False):
        pi = {s: (cells[True, s][1] + cells[False, s][1]) / 2 for s in common}
        level = sum(pi[s] * cells[side, s][2] for s in common)
        plain = sum(cells[side, s][1] * cells[side, s][2] for s in common)
        for s in common:
            cell, share, mean = cells[side, s]
            x = values[cell]
            result[cell] = x + (level - plain) + (pi[s] / share - 1) * (x - mean)
    return result


def like_with_like(a, b, covariate_a, covariate_b, paired):
    """Return the (s, n) values of two groups standardised over strata, and whether all are left."""
    values = np.hstack([a, b])
    covariate = np.concatenate([covariate_a, covariate_b])
    is_first = np.arange(values.shape[1]) < a.shape[1]
    known = np.isfinite(values).any(axis=0)
    strata = np.full(len(covariate), -1)
    strata[known] = strata_of(covariate[known], is_first[known])
    alike = np.full_like(values, np.nan)
    for row, x in zip(alike, values, strict=True):
        left = x
        while True:
            row[:] = standardised(left, is_first, strata)
            if not paired:
                break
            halves = np.isnan(row).reshape(2, -1)
            partial = halves.any(axis=0) & ~halves.all(axis=0)
            if not partial.any():
                break
            left = np.where(np.tile(partial, 2) | np.isnan(row), np.nan, x)
    is_whole = np.array_equal(np.isfinite(alike), np.isfinite(values))
    return alike[:, is_first], alike[:, ~is_first], is_whole


# The crossed test


class Variances(NamedTuple):
    """A mean gap, the parts of its variance, and the gaps of single trainings."""

    gap: float
    v_seeds: float
    v_texts: float
    v_cells: float
    n_seeds: int
    dof: float
    gaps: np.ndarray
    gap_errors: np.ndarray
    gap_dof: np.ndarray


def variances_of(*parts):
    """Return the variances of a mean gap: of differences within sets, or of two groups."""
    n_seeds = len(parts[0])
    gap = v_cells = 0.0
    share = np.zeros(n_seeds)
    gaps = np.zeros(n_seeds)
    texts = []
    within = []
    for sign, part in zip((1, -1), parts, strict=False):
        known = np.isfinite(part)
        m = known.sum()
        n = known.any(axis=0).sum()
        error = np.where(known, part - part[known].mean(), 0.0) / m
        gap += sign * part[known].mean()
        gaps += sign * np.nanmean(part, axis=1)
        share += sign * error.sum(axis=1)
        texts.append((n / (n - 1) * (error.sum(axis=0) ** 2).sum(), n - 1))
        if n_seeds > 1:
            dof = m - n_seeds - n + 1
            v_cells += m / dof * (_residuals(error, known) ** 2).sum()
        counts = known.sum(axis=1)
        within.append((np.nanvar(part, axis=1, ddof=1) / counts, counts - 1))
    v_seeds = n_seeds / (n_seeds - 1) * (share**2).sum() if n_seeds > 1 else 0.0
    v_texts, dof = _welch(texts)
    v_gaps, gap_dof = _welch(within)
    return Variances(gap, v_seeds, v_texts, v_cells, n_seeds, dof, gaps, np.sqrt(v_gaps), gap_dof)


def _residuals(error, known):
    """Return what trainings and texts leave of the cells, by least squares."""
    rows, columns = np.nonzero(known)
    design = np.zeros((len(rows), sum(error.shape)))
    design[np.arange(len(rows)), rows] = 1
    design[np.arange(len(rows)), error.shape[0] + columns] = 1
    y = error[known]
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]


def _welch(parts):
    variance = sum(v for v, _ in parts)
    return variance, variance**2 / sum(v**2 / dof for v, dof in parts)


class Errors(NamedTuple):
    """Variances of trainings and of texts alone, and their degrees of freedom."""

    first: float
    first_dof: float
    second: float
    second_dof: float


def errors_of(v):
    """Return what the mean gap is compared with."""
    return Errors(max(v.v_seeds, v.v_cells), v.n_seeds - 1, max(v.v_texts - v.v_cells, 0.0), v.dof)


def tail(x, errors):
    """Return P(√A t + √B t′ ≥ x), by quadrature over the quantiles of the second."""
    a, a_dof, b, b_dof = errors
    if b == 0:
        return special.stdtr(a_dof, -x / np.sqrt(a))
    half = np.pi / 2
    total = 0.0
    middle = np.arctan(x / np.sqrt(b * b_dof))  # where the first variable has to be zero
    for low, high in ((-half, middle), (middle, half)):
        u = (3 * _NODES - _NODES**3) / 2
        angle = (low + high) / 2 + (high - low) / 2 * u
        slope = (high - low) / 2 * 1.5 * (1 - _NODES**2)
        t = np.sqrt(b_dof) * np.tan(angle)
        density = stats.t.pdf(t, b_dof) * np.sqrt(b_dof) / np.cos(angle) ** 2
        beyond = special.stdtr(a_dof, -(x - np.sqrt(b) * t) / np.sqrt(a))
        total += (_WEIGHTS * slope * density * beyond).sum()
    return total


def critical(level, errors):
    """Return the size from which a mean gap is significant."""
    error = np.sqrt(errors.first + errors.second)
    return optimize.brentq(
        lambda x: np.log(2 * tail(x, errors)) - np.log(level), 1e-6 * error, 1e4 * error, xtol=1e-14
    )


def detectable(level, errors):
    """Return the mean gap that is found with a power of 80 %."""
    size = critical(level, errors)
    ratio = size / np.sqrt(errors.first + errors.second)
    ends = np.log([1.0, 1e9])
    lowest, highest = special.stdtrit(np.exp(ends[::-1]), 1 - level / 2)
    ratio = np.clip(ratio, lowest, highest)
    log_dof = optimize.brentq(
        lambda log_dof: special.stdtrit(np.exp(log_dof), 1 - level / 2) - ratio, *ends, xtol=1e-13
    )
    dof = np.exp(log_dof)
    quantile = special.stdtrit(dof, 1 - level / 2)
    return special.nctdtrinc(dof, 1 - POWER, quantile) * size / quantile


def p_of_typical_gap(total, v, n_seeds, rms, upper):
    """Return the largest P(Q ≥ T), or P(Q ≤ T), over all whole degrees between μ and τ."""
    if total <= 0:
        return 1.0 if upper else 0.0
    if not n_seeds:
        return 1.0
    b = v.n_seeds * v.v_cells
    shared = max(v.v_texts - v.v_cells, 0.0)
    angles = np.deg2rad(np.arange(91))[:, None]
    variance = (rms * np.sin(angles)) ** 2 + b
    spread = np.sqrt(variance + n_seeds * shared)
    centre = np.sqrt(n_seeds) * rms * np.cos(angles)
    low = (-np.sqrt(total) - centre) / spread
    high = (np.sqrt(total) - centre) / spread
    z_of = stats.t(v.dof) if upper else stats.norm()
    chi_square = special.chdtrc if upper else special.chdtr
    if not upper:
        low = np.clip(low, -9, 9)
        high = np.clip(high, -9, 9)
    turn = _NODES * np.pi / 2
    z = (low + high) / 2 + (high - low) / 2 * np.sin(turn)
    rest = np.maximum(total - (spread * z + centre) ** 2, 0) / variance
    inside = chi_square(n_seeds - 1, rest) * z_of.pdf(z) * np.cos(turn) * (high - low) / 2
    p = (inside * _WEIGHTS).sum(axis=1) * np.pi / 2
    if upper:
        p += (z_of.cdf(low) + z_of.sf(high))[:, 0]
    return float(np.clip(p, 0, 1).max())


def known_of(a, b, paired):
    """Return the values of trainings and texts that have some, and the variances of their gap."""
    rows = np.isfinite(a).any(axis=1) & np.isfinite(b).any(axis=1)
    a = a[rows][:, np.isfinite(a[rows]).any(axis=0)]
    b = b[rows][:, np.isfinite(b[rows]).any(axis=0)]
    return a, b, variances_of(a - b) if paired else variances_of(a, b)


def interval_of_typical_gap(total, v):
    """Return the ends of R: what is refuted as its upper, and as its lower, bound at half of α."""
    level = (1 - CONFIDENCE) / 2
    scale = np.sqrt(total + v.v_seeds + v.v_texts + v.v_cells)
    ends = []
    for upper in (True, False):

        def beyond(log_rms, upper=upper):
            p = p_of_typical_gap(total, v, v.n_seeds, np.exp(log_rms), upper=upper)
            return np.log(max(p, 1e-300)) - np.log(level)

        low = np.log(1e-9 * scale)
        high = np.log(100 * scale)
        if beyond(low) * beyond(high) > 0:
            ends.append(0.0)  # no R is refuted as a bound from above, or every one from below
        else:
            ends.append(np.exp(optimize.brentq(beyond, low, high, xtol=1e-12, rtol=1e-12)))
    return ends


def crossed(a, b, paired):
    """Return the test of a gap between (s, n) values of two groups."""
    a, b, v = known_of(a, b, paired)
    spread = [np.nanvar(part, axis=1, ddof=1).mean() for part in (a, b)]
    sd = np.sqrt(np.mean(spread))
    errors = errors_of(v)
    total = v.n_seeds * v.gap**2 + v.n_seeds * (v.n_seeds - 1) * v.v_seeds
    others = max(total - np.abs(v.gaps).max() ** 2, 0.0)
    bound = THRESHOLD * sd
    t = v.gaps / v.gap_errors
    sides = [v.n_seeds * special.stdtr(v.gap_dof, sign * t).min() for sign in (-1, 1)]
    half = critical(1 - CONFIDENCE, errors)
    square = v.gap**2 + (v.n_seeds - 1) * (v.v_seeds - v.v_cells) - errors.second
    return {
        "total": total,
        "variances": v,
        "n_seeds": v.n_seeds,
        "mean_a": np.nanmean(a),
        "mean_b": np.nanmean(b),
        "estimate": v.gap,
        "pooled_sd": sd,
        "d": v.gap / sd,
        "seeds_above": (v.gaps > 0).sum(),
        "seeds_below": (v.gaps < 0).sum(),
        "v_seeds": v.v_seeds,
        "v_texts": v.v_texts,
        "v_cells": v.v_cells,
        "dof_texts": v.dof,
        "standard_error": np.sqrt(errors.first + errors.second),
        "p_mean": min(1.0, 2 * tail(abs(v.gap), errors)),
        "ci_low": v.gap - half,
        "ci_high": v.gap + half,
        "equivalence_p": tail(bound - abs(v.gap), errors),
        "p_large": p_of_typical_gap(total, v, v.n_seeds, bound, upper=True),
        "p_small": p_of_typical_gap(total, v, v.n_seeds, bound, upper=False),
        "p_large_others": p_of_typical_gap(others, v, v.n_seeds - 1, bound, upper=True),
        "p_cross": min(1.0, max(sides)),
        "rms_gap": np.sqrt(max(square, 0.0)) / sd,
        "seed_sd": np.sqrt(max(v.n_seeds * (v.v_seeds - v.v_cells), 0.0)) / sd,
        "minimal_detectable_effect": detectable(ALPHA, errors) / sd,
    }


def on_all_scales(tests):
    """Return the intersection–union test of a skill, and its columns by scale."""
    shown = tests["ranks"]
    row = dict(shown)
    row["test flags"] = {flag for test in tests.values() for flag in test["test flags"]}
    for name in ("p_mean", "p_large", "p_large_others", "p_cross", "minimal_detectable_effect"):
        row[name] = max(test[name] for test in tests.values())
    if len({np.sign(test["d"]) for test in tests.values()}) > 1:
        row["p_mean"] = 1.0
    for name in ("p_small", "equivalence_p"):
        row[name] = max(tests[scale][name] for scale in ("ranks", "log_odds"))
    effect = shown["minimal_detectable_effect"]
    row["detectable_ratio"] = row["minimal_detectable_effect"] / effect
    for scale, test in tests.items():
        row |= {f"{name}_{scale}": test[name] for name in ("d", "p_small")}
        row[f"p_{scale}"] = test["p_mean"]
    return row


# The rows of a study

METHODS = "integrated_gradients_x_input", "lime", "shap", "uniform_random"
QUANTITIES = {
    "forward_simulation": ("score",),
    "comprehensiveness": ("score", "excess", "skill"),
    "gini": ("score", "excess"),
}
"""What is compared of each metric; the last is what stands."""


class Study(NamedTuple):
    """The scores of a dataset with two groups, "male" first.

    ``values`` are (s, n) by name: ``metric/quantity/method``, for a skill ``gain/scale/method`` and
    ``room/scale/method``, and ``certainty``, ``right``, ``ceiling`` and ``counting``. Of a random
    explanation (``uniform_random``), quantities are those beside the others of its text.
    """

    is_first: np.ndarray
    sets: np.ndarray  # (n,) number of the matched set, −1 without
    n_units: np.ndarray
    n_words: np.ndarray
    values: dict


def rows_of(dataset, study):
    """Return a row of numbers for each method, metric and quantity."""
    rows = []
    right = study.values["right"] > 0
    for metric, quantities in QUANTITIES.items():
        for method in METHODS:
            for quantity in quantities:
                row = _tested(study, metric, quantity, method, np.ones_like(right))
                among_right = _tested(study, metric, quantity, method, right)
                prefix = "random_" if method == METHODS[-1] else ""
                ids = {"dataset": dataset, "method": method, "metric": metric}
                stands = {"quantity": prefix + quantity, "stands": quantity == quantities[-1]}
                low, high = interval_of_typical_gap(row.pop("total"), row["variances"])
                row |= {"rms_low": low / row["pooled_sd"], "rms_high": high / row["pooled_sd"]}
                if quantity == "score":
                    row |= sources_of(study, metric, method)
                row |= {**ids, **stands, **facts_of(study, metric)}
                row["flags"] = flags_of(study, row, method)
                among_right = {k: v for k, v in among_right.items() if k in row} | ids | stands
                row["among right"] = {k: v for k, v in among_right.items() if k[-5:] not in _APART}
                rows.append(row)
    return rows


_APART = tuple(scale[-5:] for scale in SCALES)


def _tested(study, metric, quantity, method, chosen):
    """Return the test of a quantity among some texts of each training."""
    if quantity != "skill":
        values = study.values[f"{metric}/{quantity}/{method}"]
        return _between_groups(study, np.where(chosen, values, np.nan), metric)
    tests = {}
    for scale in SCALES:
        gain, room = (study.values[f"{part}/{scale}/{method}"] for part in ("gain", "room"))
        values = [
            linearised(np.where(c, g, np.nan), r, study.is_first, 0.05 if scale == "ranks" else 0.0)
            for c, g, r in zip(chosen, gain, room, strict=True)
        ]
        tests[scale] = _between_groups(study, np.array(values), metric)
    return on_all_scales(tests)


def sources_of(study, metric, method):
    """Return the parts of a gap in scores, with intervals: chance, room and explanations.

    A part is a function of the groups' mean gains and rooms, and a text's value is its derivative
    by these times what the text has. Functions are of degree one, so that the difference of the
    groups' mean values is the part.
    """
    if metric == "forward_simulation":
        return {}
    score = study.values[f"{metric}/score/{method}"]
    gain = study.values[f"{metric}/excess/{method}"]
    has_room = "skill" in QUANTITIES[metric]
    if has_room:
        in_units = study.values[f"gain/probability/{method}"]
        gain = np.where(np.isfinite(in_units), in_units, gain)
        room = study.values[f"room/probability/{method}"]
    sides = study.is_first, ~study.is_first
    values = {"chance": score - gain}
    if has_room:
        values |= {name: np.full_like(score, np.nan) for name in ("room", "explanations")}
        for t, (m, g, r) in enumerate(zip(score, gain, room, strict=True)):
            known = np.isfinite(m + g + r)
            values["chance"][t] = np.where(known, m - g, np.nan)
            rooms = [r[known & side].mean() for side in sides]
            skills = [g[known & side].mean() / r[known & side].mean() for side in sides]
            room_gap = rooms[0] - rooms[1]
            skill_gap = skills[0] - skills[1]
            for side, sign, b, skill in zip(sides, (1, -1), rooms, skills, strict=True):
                cell = known & side
                # Of S̄ ΔB and B̄ ΔS, what a text's gain and room add by the means of its group.
                by_gain = room_gap / (2 * b)
                by_room = sign * np.mean(skills) - room_gap * skill / (2 * b)
                values["room"][t, cell] = sign * (by_gain * g[cell] + by_room * r[cell])
                by_gain = sign * np.mean(rooms) / b
                by_room = skill_gap / 2 - sign * np.mean(rooms) * skill / b
                values["explanations"][t, cell] = sign * (by_gain * g[cell] + by_room * r[cell])
    columns = {}
    for name, of_texts in values.items():
        a, b, paired = _aligned(study, of_texts)
        _, _, v = known_of(a, b, paired)
        half = critical(1 - CONFIDENCE, errors_of(v))
        columns[f"gap_{name}"] = v.gap
        columns |= {f"gap_{name}_low": v.gap - half, f"gap_{name}_high": v.gap + half}
    return columns


def _aligned(study, values):
    """Return the (s, n) values of both groups, sets side by side, and whether there are sets."""
    first = study.is_first
    paired = (study.sets >= 0).all()
    order = np.argsort(study.sets, kind="stable") if paired else np.arange(len(first))
    a = values[:, order[first[order]]]
    b = values[:, order[~first[order]]]
    if paired:
        is_whole = np.isfinite(a) & np.isfinite(b)
        a = np.where(is_whole, a, np.nan)
        b = np.where(is_whole, b, np.nan)
    return a, b, paired


def _between_groups(study, values, metric):
    """Return the crossed test of (s, n) values."""
    a, b, paired = _aligned(study, values)
    first = study.is_first
    order = np.argsort(study.sets, kind="stable") if paired else np.arange(len(first))
    flags = ["missing_cells"] if np.isnan(values).any() else []
    if metric == "forward_simulation":
        units = study.n_units
        a, b, is_whole = like_with_like(
            a, b, units[order[first[order]]], units[order[~first[order]]], paired
        )
        flags += [] if is_whole else ["texts_left_out"]
    test = crossed(a, b, paired)
    if test["p_large"] <= ALPHA < test["p_large_others"]:
        flags.append("driven_by_one_training")
    return {**test, "test flags": flags}


def cohens_d(a, b):
    """Return the difference of means over the root of the mean variance."""
    return (a.mean() - b.mean()) / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)


def _surer_of(study, by_training):
    """Return the group of the higher certainty, where a test over trainings and texts shows one."""
    first = study.is_first
    d = np.mean([cohens_d(row[first], row[~first]) for row in by_training])
    if abs(d) < THRESHOLD or crossed(*_aligned(study, by_training))["p_mean"] > ALPHA:
        return ""
    return "male" if d > 0 else "female"


def facts_of(study, metric):
    """Return what groups differ in beside their explanations."""
    first = study.is_first
    by_training = study.values["certainty"]
    right = study.values["right"]
    facts = {
        "certainty_d": np.mean([cohens_d(row[first], row[~first]) for row in by_training]),
        "length_d": cohens_d(study.n_words[first], study.n_words[~first]),
        "surer_of": _surer_of(study, by_training),
        "share_right_a": right[:, first].mean(),
        "share_right_b": right[:, ~first].mean(),
    }
    if metric == "forward_simulation":
        ceilings = study.values["ceiling"]
        facts["ceiling_a"] = np.nanmean(ceilings[:, first])
        facts["ceiling_b"] = np.nanmean(ceilings[:, ~first])
    return facts


def flags_of(study, row, method):
    """Return the flags of a row but ``depends_on_scale``, and give a skill its levels and rooms."""
    flags = set(row.pop("test flags"))
    if row["metric"] == "forward_simulation":
        ceilings = row["ceiling_a"], row["ceiling_b"]
        flags |= {"no_room"} if min(ceilings) < 0.2 else set()
        by_training = study.values["ceiling"]
        is_shown = crossed(*_aligned(study, by_training))["p_mean"] <= ALPHA
        are_unlike = abs(ceilings[0] - ceilings[1]) >= 0.05
        flags |= {"ceilings_differ"} if is_shown and are_unlike else set()
    if not row["quantity"].endswith("skill"):
        return flags
    sides = {"a": study.is_first, "b": ~study.is_first}
    rooms = {}
    for scale in SCALES:
        room = study.values[f"room/{scale}/{method}"]
        rooms[scale] = [np.nanmean(room[:, side]) for side in sides.values()]
        if scale != "ranks" and not 0 < max(rooms[scale]) <= 3 * min(rooms[scale]):
            flags.add(f"{scale}_cannot_tell")
    gain, room = (study.values[f"{part}/ranks/{method}"] for part in ("gain", "room"))
    counting = study.values["counting"]
    for name, side in sides.items():
        sums = [
            np.nansum(part[:, side], axis=1) for part in (gain, np.where(gain == gain, room, 0))
        ]
        row[f"skill_{name}"] = (sums[0] / sums[1]).mean()
        row[f"room_{name}"] = np.mean([np.nanmean(each) for each in room[:, side]])
        row[f"counting_{name}"] = np.mean([np.nanmean(each) for each in counting[:, side]])
    first = study.is_first
    row["counting_d"] = np.mean([cohens_d(each[first], each[~first]) for each in counting])
    n_a, n_b = (side.sum() for side in sides.values())
    limits = {
        "room_differs": abs(row["room_a"] - row["room_b"]) > 0.1,
        "reference_beaten": max(row["skill_a"], row["skill_b"]) > 1 + 1e-9,
        "counting_units_differ": abs(row["counting_d"]) >= max(0.5, 2 * np.sqrt(1 / n_a + 1 / n_b)),
        "stepless": np.isnan(gain).any(),
    }
    return flags | {name for name, holds in limits.items() if holds}


def verdicts_of(studies):
    """Return the judged rows of some datasets, each with its word among rightly predicted texts."""
    rows = [row for name, study in studies.items() for row in rows_of(name, study)]
    judge(rows)
    among_right = [row.pop("among right") for row in rows]
    judge(among_right)
    for row, right in zip(rows, among_right, strict=True):
        row["verdict_right"] = right["verdict"]
        if len(row["signs"]) > 1:
            row["flags"].add("depends_on_scale")
    return rows


# Families and words


def benjamini_hochberg(p):
    """Return p-values corrected step by step, from the largest down."""
    corrected = np.empty(len(p))
    least = 1.0
    for rank, place in zip(range(len(p), 0, -1), np.argsort(p)[::-1], strict=True):
        least = min(least, p[place] * len(p) / rank)
        corrected[place] = least
    return corrected


def holm(p):
    """Return p-values corrected step by step, from the smallest up."""
    corrected = np.empty(len(p))
    most = 0.0
    for rank, place in enumerate(np.argsort(p)):
        most = max(most, min(1.0, p[place] * (len(p) - rank)))
        corrected[place] = most
    return corrected


def family_of(row):
    """Return what the rows that are corrected together share."""
    quantity = row["quantity"]
    if not row["stands"]:
        return row["dataset"], quantity
    if quantity.startswith("random_"):
        return row["dataset"], "random, standing"
    kinds = {"forward_simulation": "headline", "gini": "description"}
    return row["dataset"], kinds.get(row["metric"], "beside")


def judge(rows):
    """Give rows, dicts, their corrected p-values and words, within families."""
    families = {}
    for row in rows:
        families.setdefault(family_of(row), []).append(row)
    for members in families.values():
        _correct(members)
        for row in members:
            for name, word in (("bh", "verdict"), ("holm", "verdict_strict")):
                row[word] = _word(row, name)


def _correct(rows):
    level = ALPHA / 2
    p_values = {claim: np.array([row[claim] for row in rows]) for claim in CLAIMS}
    p_values["p_cross"] = np.maximum(p_values["p_cross"], p_values["p_large"])
    for name, correct in (("bh", benjamini_hochberg), ("holm", holm)):
        for claim, p in p_values.items():
            for row, value in zip(rows, correct(p), strict=True):
                row[f"{claim}_{name}"] = value
    for row in rows:
        row["signs"] = set()
    for scale in SCALES:
        on_scale = [row for row in rows if f"p_{scale}" in row]
        shown = benjamini_hochberg(np.array([row[f"p_{scale}"] for row in on_scale]))
        small = benjamini_hochberg(np.array([row[f"p_small_{scale}"] for row in on_scale]))
        for row, p, p_small in zip(on_scale, shown, small, strict=True):
            if p <= level < p_small:
                row["signs"].add(np.sign(row[f"d_{scale}"]))
    for row in rows:
        v = row["variances"]
        errors = errors_of(v)
        unit = row["pooled_sd"] / row.get("detectable_ratio", 1.0)
        row["minimal_detectable_effect_corrected"] = detectable(level / len(rows), errors) / unit
        row["text_share"] = errors.second / (v.v_seeds + errors.second)


def _word(row, name):
    level = ALPHA / 2
    holds = {claim: row[f"{claim}_{name}"] <= level for claim in CLAIMS}
    guarded = row["p_large_others"] <= ALPHA
    if holds["p_small"] and not row["signs"]:
        return "equivalent"
    if holds["p_mean"]:
        return "different"
    if holds["p_cross"] and guarded:
        return "unstable"
    if holds["p_large"] and guarded:
        return "considerable"
    return "undecided"
