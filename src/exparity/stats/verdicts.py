"""The verdict of each cell over all trainings, and what each verdict says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from exparity.core.settings import Statistics
from exparity.stats.mean_gap import VARIANCES, Estimate
from exparity.stats.multiplicity import (
    CELL_IDS,
    benjamini_hochberg,
    families,
    holm,
)
from exparity.stats.power import detectable_effect
from exparity.types import BoolArray, FloatArray

CLAIMS = ("p_mean", "p_large", "p_small", "p_cross")
"""Columns of the p-values that verdicts are made of; each is corrected apart from the others."""


@dataclass(frozen=True)
class Verdict:
    """One of the words for a cell.

    Attributes:
        id: as in the ``verdict`` columns.
        label: display name.
        meaning: template of what it says in general; its fields are ``threshold`` and ``run``.
        sentence: template of what it says of a kind of classifier. Its fields are ``threshold``,
            ``d``, ``rms_gap``, ``rms_low`` and ``rms_high``; ``favoured`` and ``other``, the names
            of the group that the mean gap favours and of the other one; and ``n_seeds``,
            ``n_favoured`` and ``n_other``, how many runs there are and favour each; ``run``, what
            each of them is; ``better`` and ``favour``, what is said of a favoured group, which has
            better explanations, or better scores alone; and ``detectable``, the mean |d| that would
            have been found in a family of this size.
        sentence_of_one: template of what it says of a single classifier; empty if it says nothing.
        tone: ``good``, ``bad`` or ``open``: whether groups are shown to be treated alike.
        is_gap: whether it counts as a gap.
        favours: whether it says which group is favoured.
        settles: whether no further training is needed for it.
        holds: whether it is true of cells, by which of their claims are significant, and which are
            ``guarded``: large without the training of the largest gap, too.
    """

    id: str
    label: str
    meaning: str
    sentence: str
    sentence_of_one: str
    tone: Literal["good", "bad", "open"]
    is_gap: bool
    favours: bool
    settles: bool
    holds: Callable[[Mapping[str, BoolArray]], BoolArray]


VERDICTS = (
    Verdict(
        "equivalent",
        "Equivalent",
        "The gap of a {run} is typically below {threshold:g}.",
        "A {run} of this kind typically has a gap below {threshold:g} (R at most {rms_high:.2f}).",
        "The gap of this classifier is below {threshold:g} (d = {d:+.2f}).",
        "good",
        is_gap=False,
        favours=False,
        settles=True,
        holds=lambda claim: claim["p_small"],
    ),
    Verdict(
        "different",
        "Different",
        "The mean gap is not zero: the group named has the better explanations.",
        "Averaged over {run}s, {favoured} texts {better} (d = {d:+.2f}).",
        "For this classifier, {favoured} texts {better} (d = {d:+.2f}).",
        "bad",
        is_gap=True,
        favours=True,
        settles=True,
        holds=lambda claim: claim["p_mean"],
    ),
    Verdict(
        "unstable",
        "Unstable",
        "A {run} has a gap above {threshold:g}; the group that it favours changes.",
        "A {run} has a considerable gap (R = {rms_low:.2f} to {rms_high:.2f}); which group it "
        "favours changes: {n_favoured} of {n_seeds} {favour} {favoured}, {n_other} {other}.",
        "",
        "bad",
        is_gap=True,
        favours=False,
        settles=True,
        holds=lambda claim: claim["p_cross"] & claim["guarded"],
    ),
    Verdict(
        "considerable",
        "Considerable",
        "A {run} has a gap above {threshold:g}; whom the next one favours is not settled.",
        "A {run} has a considerable gap (R = {rms_gap:.2f}); {n_favoured} of {n_seeds} {favour} "
        "{favoured}; whether the next does is not settled.",
        "",
        "bad",
        is_gap=True,
        favours=True,
        settles=False,
        holds=lambda claim: claim["p_large"] & claim["guarded"],
    ),
    Verdict(
        "undecided",
        "Undecided",
        "Neither a gap of {threshold:g} nor its absence is shown.",
        "Neither a gap of {threshold:g} nor its absence is shown; R between {rms_low:.2f} and "
        "{rms_high:.2f}. A mean gap of |d| = {detectable:.2g} would have been found.",
        "Neither a gap of this classifier nor its absence is shown (d = {d:+.2f}). One of |d| = "
        "{detectable:.2g} would have been found.",
        "open",
        is_gap=False,
        favours=False,
        settles=False,
        holds=lambda claim: np.array(True),
    ),
)
"""All verdicts; a cell has the first that holds, see :func:`_words`."""
TEXTS_DOMINATE = 0.5
"""``text_share`` above which more texts help a cell, and more trainings do not."""
DEPENDS_ON_SCALE = "depends_on_scale"
"""Flag of a skill that differs in one direction on one scale, and in the other on another."""
_CORRECTIONS = {"bh": benjamini_hochberg, "holm": holm}
JUDGED: Mapping[str, float | None] = {
    **{f"{claim}_{name}": float("nan") for name in _CORRECTIONS for claim in CLAIMS},
    **dict.fromkeys(("verdict", "verdict_strict")),
    "minimal_detectable_effect_corrected": float("nan"),
    "text_share": float("nan"),
}
"""Columns that :func:`judge` adds to a row, and their values for a cell without a verdict."""
JUDGED_COLUMNS = [f"{k}: {'string?' if v is None else 'float64'}" for k, v in JUDGED.items()]
"""The same columns with their types."""


def judge(
    rows: Sequence[Mapping[str, Any]],
    family: Sequence[str] = ("dataset",),
    *,
    alpha: float = Statistics.alpha,
) -> list[dict[str, Any]]:
    """Give every cell its verdict, corrected for how many cells its family has.

    Each claim is corrected apart from the others. ``verdict`` is by Benjamini and Hochberg: among
    the decided cells of a family, the expected share of wrong verdicts is at most α.
    ``verdict_strict`` is by Holm: the probability of any wrong verdict is at most α.

    For a cell with a single training, only the mean gap is tested, over other texts: it is
    *different*, *equivalent* (by ``equivalence_p``) or *undecided* for this classifier alone. A row
    without scores, or that is not informative, has no verdict.

    Returns the rows with the columns :data:`JUDGED`. ``text_share`` is the share of texts in the
    variance of the mean gap, and ``minimal_detectable_effect_corrected`` the mean |d| that the test
    finds at α over the number of tests of its family.
    """
    judged = [dict(row) for row in rows]
    for members in families(rows, [name for name in family if name != "seed"]):
        of_quantity: dict[Any, list[int]] = defaultdict(list)
        for i in members:
            if rows[i].get("n_seeds", 2):
                of_quantity[rows[i].get("quantity")].append(i)
        for tested in of_quantity.values():
            columns = _judged([rows[i] for i in tested], alpha)
            for name, values in columns.items():
                for i, value in zip(tested, values, strict=True):
                    judged[i][name] = value
    for row in judged:
        for name, missing in JUDGED.items():
            row.setdefault(name, missing)
    return judged


STANDING = ("skill", "excess", "score")
"""Quantities of a cell, the most informative about its explanations first."""


def standing(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with ``stands``: whether each is the first of :data:`STANDING` of its cell.

    The quantities of random explanations, whose names begin with ``random_``, are cells of their
    own.
    """
    places: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    for i, row in enumerate(rows):
        quantity = row["quantity"].removeprefix("random_")
        cell = (*(row[id] for id in CELL_IDS), quantity != row["quantity"])
        if quantity in STANDING:
            places[cell][quantity] = i
    first = {own[next(q for q in STANDING if q in own)] for own in places.values()}
    return [{**row, "stands": i in first} for i, row in enumerate(rows)]


def _judged(rows: Sequence[Mapping[str, Any]], alpha: float) -> dict[str, list[Any]]:
    def column(name: str) -> FloatArray:
        return np.array([row[name] for row in rows], dtype=np.float64)

    n_seeds, sd = (
        np.array([row.get(name, missing) for row in rows], dtype=np.float64)
        for name, missing in (("n_seeds", 2), ("pooled_sd", 1.0))
    )
    p_large = column("p_large")
    p_values = {
        "p_mean": column("p_mean"),
        "p_large": p_large,
        "p_small": np.where(n_seeds == 1, column("equivalence_p"), column("p_small")),
        "p_cross": np.maximum(p_large, column("p_cross")),
    }
    guarded = column("p_large_others") <= alpha
    columns: dict[str, list[Any]] = {}
    for verdict, (name, correct) in zip(
        ("verdict", "verdict_strict"), _CORRECTIONS.items(), strict=True
    ):
        corrected = {claim: correct(p) for claim, p in p_values.items()}
        columns |= {f"{claim}_{name}": p.tolist() for claim, p in corrected.items()}
        claim = {name: p <= alpha for name, p in corrected.items()}
        columns[verdict] = _words({**claim, "guarded": guarded})
    tests = max(1, int((~np.isnan(p_values["p_mean"])).sum()))
    variances = (n_seeds if name == "n_seeds" else column(name) for name in VARIANCES)
    estimate = Estimate(np.zeros_like(n_seeds), *variances)
    errors = estimate.errors
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = detectable_effect(errors, alpha=alpha / tests) / sd
        columns["text_share"] = (errors.second / (estimate.v_seeds + errors.second)).tolist()
    columns["minimal_detectable_effect_corrected"] = effect.tolist()
    if all("p_ranks" in row for row in rows):
        columns["flags"] = _flagged(rows, alpha)
    return columns


def _words(claim: Mapping[str, BoolArray]) -> list[str]:
    """Return the first verdict that holds of each cell.

    A mean gap can differ from zero where the typical gap is below the threshold: with enough
    trainings and texts every gap differs. Such a cell is *equivalent*, because the question is
    whether explanations serve groups unequally.
    """
    holds, ids = [one.holds(claim) for one in VERDICTS], [one.id for one in VERDICTS]
    return list(np.select(holds, ids, default="").tolist())


def _flagged(rows: Sequence[Mapping[str, Any]], alpha: float) -> list[list[str]]:
    """Return the flags of each row, with that of gaps whose sign depends on how falls are counted.

    Such a gap is *different* on two scales, and favours another group on each.
    """
    signs = []
    for scale in ("ranks", "log_odds", "probability"):
        p, d = (np.array([row[f"{x}_{scale}"] for row in rows], dtype=np.float64) for x in "pd")
        signs.append(np.where(benjamini_hochberg(p) <= alpha, np.sign(d), 0.0))
    depends = (np.max(signs, axis=0) > 0) & (np.min(signs, axis=0) < 0)
    return [
        [*row["flags"], DEPENDS_ON_SCALE] if of_row else list(row["flags"])
        for row, of_row in zip(rows, depends, strict=True)
    ]
