"""The verdict of each cell over all trainings, and what each verdict says."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.resources import shipped
from exparity.stats.mean_gap import VARIANCES, Estimate
from exparity.stats.multiplicity import (
    CELL_IDS,
    benjamini_hochberg,
    families,
    holm,
    quantity_of,
)
from exparity.stats.power import detectable_effect
from exparity.types import FloatArray

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
            better explanations, or better scores alone; and ``detectable``, a sentence on the mean
            |d| that would have been found in a family of this size, empty where it is not tested.
        sentence_of_one: template of what it says of a single classifier; empty if it says nothing.
        tone: ``good``, ``bad`` or ``open``: whether groups are shown to be treated alike.
        is_gap: whether it counts as a gap.
        favours: whether it says which group is favoured.
        settles: whether no further training is needed for it.
        claims: claims that must all be significant: :data:`CLAIMS`, and ``guarded``, a gap that is
            large without the training of the largest one, too.
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
    claims: Sequence[str]


_FACTS = tomllib.loads(shipped("verdicts.toml").read_text("utf-8"))
VERDICTS = tuple(Verdict(id, **facts) for id, facts in _FACTS.items())
"""All verdicts, in the order in which they are asked for: a cell has the first that holds.

A mean gap can differ from zero where the typical gap is below the threshold: with enough trainings
and texts every gap differs. Such a cell is *equivalent*, because the question is whether
explanations serve groups unequally."""
TWICE = {
    "texts": "detectable_with_twice_the_texts",
    "trainings": "detectable_with_twice_the_trainings",
}
"""Columns of the mean |d| that would be found with twice as many texts or trainings."""
DEPENDS_ON_SCALE = "depends_on_scale"
"""Flag of a skill that differs in one direction on one scale, and in the other on another."""
_CORRECTIONS = {"bh": benjamini_hochberg, "holm": holm}
JUDGED: Mapping[str, float | None] = {
    **{f"{claim}_{name}": np.nan for name in _CORRECTIONS for claim in CLAIMS},
    **dict.fromkeys(("verdict", "verdict_strict")),
    "minimal_detectable_effect_corrected": np.nan,
    **dict.fromkeys(TWICE.values(), np.nan),
    "text_share": np.nan,
}
"""Columns that :func:`judge` adds to a row, and their values for a cell without a verdict."""
JUDGED_COLUMNS = [f"{k}: {'string?' if v is None else 'float64'}" for k, v in JUDGED.items()]
"""The same columns with their types."""


def judge(
    rows: Sequence[Mapping[str, Any]],
    family: Sequence[str] = ("dataset",),
    *,
    alpha: float = DEFAULTS.alpha,
) -> list[dict[str, Any]]:
    """Give every cell its verdict, corrected for how many cells its family has.

    A family holds what is told together: cells that stand and come first, those that stand beside
    them, descriptions, and of the rest each quantity by itself; see :func:`standing`. Cells that
    nobody reads a verdict of would otherwise lower the bar for the others.

    Each claim is corrected apart from the others. ``verdict`` is by Benjamini and Hochberg: among
    the decided cells of a family, the expected share of wrong verdicts is at most α.
    ``verdict_strict`` is by Holm: the probability of any wrong verdict is at most α.

    For a cell with a single training, only the mean gap is tested, over other texts: it is
    *different*, *equivalent* (by ``equivalence_p``) or *undecided* for this classifier alone. A row
    without a p-value, or that is not informative, has no verdict.

    Returns the rows with the columns :data:`JUDGED`. ``text_share`` is the share of texts in the
    variance of the mean gap, and ``minimal_detectable_effect_corrected`` the mean |d| that the test
    finds at α over the number of tests of its family; the columns :data:`TWICE` hold the same for
    twice as many texts or trainings. All are NaN where that is not tested.
    """
    judged = [{**row, **JUDGED} for row in rows]
    for members in families(rows, [name for name in family if name != "seed"], _part_of):
        for name, values in _judged([rows[i] for i in members], alpha).items():
            for i, value in zip(members, values, strict=True):
                judged[i][name] = value
    return judged


def is_description(row: Mapping[str, Any]) -> bool:
    """Return whether the values of a row describe explanations, so that neither end is better."""
    return row.get("metric_kind") == "complexity"


def _part_of(row: Mapping[str, Any]) -> str:
    """Return what rows of one family share: they are told together, or of one quantity."""
    quantity = quantity_of(row)
    if not row.get("stands"):
        return quantity
    if quantity.startswith("random_"):
        return "random_stands"
    return rank_of(row)


HEADLINE = "simulatability"
"""Kind of the metrics whose verdicts come first: chance is 0 in them, and certainty cancels."""
RANKS = ("headline", "beside", "description")
"""What standing verdicts are told as, in this order; see :func:`rank_of`."""
STANDING = ("skill", "excess", "score")
"""Quantities of a cell, the most informative about its explanations first."""


def standing(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with ``stands``: whether each is the first of :data:`STANDING` of its cell.

    The quantities of random explanations, whose names begin with ``random_``, are cells of their
    own. ``headline`` says which of the standing rows are told first: those of metrics of the kind
    :data:`HEADLINE`, or all but descriptions where a method has none.
    """
    places: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    for i, row in enumerate(rows):
        quantity = row["quantity"].removeprefix("random_")
        cell = (*(row[id] for id in CELL_IDS), quantity != row["quantity"])
        if quantity in STANDING:
            places[cell][quantity] = i
    first = {own[next(q for q in STANDING if q in own)] for own in places.values()}
    found = [{**row, "stands": i in first} for i, row in enumerate(rows)]
    foreseen = {_method_of(row) for row in found if row["stands"] and foresees(row)}
    return [{**row, "headline": _is_headline(row, foreseen)} for row in found]


def rank_of(row: Mapping[str, Any]) -> str:
    """Return which of :data:`RANKS` a standing row of a method is told as."""
    if row["headline"]:
        return "headline"
    return "description" if is_description(row) else "beside"


def foresees(row: Mapping[str, Any]) -> bool:
    """Return whether a row is of a metric of the kind :data:`HEADLINE`."""
    return row.get("metric_kind") == HEADLINE


def _method_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[id] for id in CELL_IDS if id != "metric")


def _is_headline(row: Mapping[str, Any], foreseen: Collection[tuple[Any, ...]]) -> bool:
    if not row["stands"] or is_description(row):
        return False
    return foresees(row) or _method_of(row) not in foreseen


def _judged(rows: Sequence[Mapping[str, Any]], alpha: float) -> dict[str, list[Any]]:
    def column(name: str, missing: float = np.nan) -> FloatArray:
        return np.array([row.get(name, missing) for row in rows], dtype=np.float64)

    n_seeds, sd, p_large = column("n_seeds", 2), column("pooled_sd", 1.0), column("p_large")
    p_values = {
        "p_mean": column("p_mean"),
        "p_large": p_large,
        "p_small": np.where(n_seeds == 1, column("equivalence_p"), column("p_small")),
        "p_cross": np.maximum(p_large, column("p_cross")),
    }
    guarded = column("p_large_others") <= alpha
    untested = np.isnan([*p_values.values()]).all(axis=0)
    columns: dict[str, list[Any]] = {}
    for verdict, (name, correct) in zip(
        ("verdict", "verdict_strict"), _CORRECTIONS.items(), strict=True
    ):
        corrected = {claim: correct(p) for claim, p in p_values.items()}
        columns |= {f"{claim}_{name}": p.tolist() for claim, p in corrected.items()}
        holds = {"guarded": guarded, **{claim: p <= alpha for claim, p in corrected.items()}}
        which = [np.all([holds[claim] for claim in one.claims], axis=0) for one in VERDICTS]
        words = np.select([untested, *which], ["", *(one.id for one in VERDICTS)], default="")
        columns[verdict] = [word or None for word in words.tolist()]
    is_tested = ~np.isnan(p_values["p_mean"])
    variances = (n_seeds if name == "n_seeds" else column(name) for name in VARIANCES)
    estimate = Estimate(np.zeros_like(n_seeds), *variances)
    errors = estimate.errors
    level = alpha / max(1, is_tested.sum())
    planned = {
        "minimal_detectable_effect_corrected": errors,
        TWICE["texts"]: estimate.with_twice_the_texts.errors,
        TWICE["trainings"]: estimate.with_twice_the_trainings.errors,
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        of_mean = {
            **{name: detectable_effect(of, alpha=level) / sd for name, of in planned.items()},
            "text_share": errors.second / (estimate.v_seeds + errors.second),
        }
    columns |= {name: np.where(is_tested, x, np.nan).tolist() for name, x in of_mean.items()}
    if all("p_ranks" in row for row in rows):
        columns["flags"] = _flagged(rows, alpha)
    return columns


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
