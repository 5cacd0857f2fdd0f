"""The verdict of each cell over all trainings, and what each verdict says."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.resources import shipped
from exparity.stats.mean_gap import VARIANCES, Estimate
from exparity.stats.multiplicity import (
    CELL_IDS,
    Gate,
    behind_gates,
    benjamini_hochberg,
    families,
    holm,
    quantity_of,
)
from exparity.stats.power import detectable_effect
from exparity.stats.skill import SCALES
from exparity.types import BoolArray, FloatArray, Row

SHARE_OF_CLAIM = 0.5
"""Share of α at which a claim counts: one half for equivalence, and one for gaps of any kind."""
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
            each of them is; ``better`` and ``favour``, what a metric allows to say of the
            favoured group; and ``detectable``, a sentence on the mean
            |d| that would have been found in a family of this size, empty where it is not tested.
        sentence_of_one: template of what it says of a single classifier; empty if it says nothing.
        tone: ``good``, ``bad`` or ``open``: whether groups are shown to be treated alike.
        is_gap: whether it counts as a gap.
        favours: whether it names the favoured group.
        settles: whether no further training is needed for it.
        claims: claims that must all hold: :data:`CLAIMS`, which are significant; ``guarded``, a gap
            that is large without the training of the largest one, too; ``no_scale_differs``, for
            no way to count falls is the cell different; and ``uncontradicted``, no other metric
            that removes words shows the other group to be better.
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
VERDICTS = tuple(Verdict(name, **facts) for name, facts in _FACTS.items())
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
REMOVALS_DISAGREE = "removals_disagree"
"""Flag of a gap by removal that another metric shows in the other direction, for one method."""
_CORRECTIONS = {"bh": benjamini_hochberg, "holm": holm}
JUDGED: Mapping[str, float | None] = {
    **{f"{claim}_{name}": np.nan for name in _CORRECTIONS for claim in CLAIMS},
    **dict.fromkeys(("verdict", "verdict_strict")),
    "minimal_detectable_effect_corrected": np.nan,
    **dict.fromkeys(TWICE.values(), np.nan),
    "text_share": np.nan,
}
"""Columns that :func:`judge` adds to a row, and their values for a cell without a verdict."""
GATES = {f"omnibus_p_{name}": np.nan for name in _CORRECTIONS}
"""Columns that :func:`judge` adds to a row with the test of all groups of its cell."""
JUDGED_COLUMNS = [f"{k}: {'string?' if v is None else 'float64'}" for k, v in JUDGED.items()]
"""The same columns with their types."""


def judge(
    rows: Sequence[Row],
    family: Sequence[str] = ("dataset",),
    *,
    alpha: float = DEFAULTS.alpha,
) -> list[dict[str, object]]:
    """Give every cell its verdict, corrected for how many cells its family has.

    A family holds what readers see together: cells that stand and come first, those that stand
    beside them, descriptions, and each quantity of the rest by itself; see :func:`standing`. Cells
    that nobody reads a verdict of would otherwise lower the bar for the others.

    Each claim is corrected apart from the others, and holds where its corrected p-value is at most
    α times :data:`SHARE_OF_CLAIM`: a cell may be called equivalent or gapped, and either may be
    wrong. ``verdict`` is by Benjamini and Hochberg: among the decided cells of a family, the
    expected share of wrong verdicts is about α. ``verdict_strict`` is by Holm: the probability of
    any wrong verdict is about α.

    Of three groups or more, ``p_mean`` of a pair is corrected behind the test of all groups,
    ``omnibus_p``, where a row has it; see :func:`~exparity.stats.multiplicity.behind_gates`.

    For a cell with a single training, only the mean gap is tested, over other texts: it is
    *different*, *equivalent* (by ``equivalence_p``) or *undecided* for this classifier alone. A row
    without a p-value, or that is not informative, has no verdict.

    Returns the rows with the columns :data:`JUDGED`, and :data:`GATES` where a row has
    ``omnibus_p``. ``text_share`` is the share of texts in the
    variance of the mean gap, and ``minimal_detectable_effect_corrected`` the mean |d| that the test
    finds at the level of a claim over the number of tests of its family; the columns :data:`TWICE`
    hold the same for twice as many texts or trainings. All are NaN where that is not tested.
    """
    judged = [{**row, **JUDGED, **(GATES if "omnibus_p" in row else {})} for row in rows]
    all_members = families(rows, [name for name in family if name != "seed"], _part_of)
    contradicted = _contradicted(rows, all_members, SHARE_OF_CLAIM * alpha)
    for members in all_members:
        values_by_name = _judged([rows[i] for i in members], alpha, contradicted[members])
        for name, values in values_by_name.items():
            for i, value in zip(members, values, strict=True):
                if name in judged[i] or name not in GATES:
                    judged[i][name] = value
    return judged


def is_description(row: Row) -> bool:
    """Return whether the values of a row describe explanations, so that neither end is better."""
    return row.get("metric_kind") == "complexity"


def _part_of(row: Row) -> str:
    """Return what rows of one family share: their rank, or their quantity."""
    quantity = quantity_of(row)
    if not row.get("stands"):
        return quantity
    if quantity.startswith("random_"):
        return "random_stands"
    return rank_of(row)


HEADLINE = "simulatability"
"""Kind of the metrics whose verdicts come first: chance is 0 in them, and certainty cancels."""
WITNESSES: Mapping[str, str] = {
    HEADLINE: "forward simulation",
    "faithfulness": "removal",
    "communication": "communication",
    "correctness": "rationales",
}
"""Ways to ask whether explanations are good, by the kind of a metric; each errs in another way. The
classifier without half of a text, and without the words that are named; a reader of these words;
and the people, or the rules behind the data, that marked words."""
RANKS = ("headline", "beside", "description")
"""Ranks of standing verdicts, in the order of the report; see :func:`rank_of`."""
STANDING = ("skill", "excess", "score")
"""Quantities of a cell, the most informative about its explanations first."""


def standing(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return rows with ``stands``: whether each is the first of :data:`STANDING` of its cell.

    The quantities of random explanations, whose names begin with ``random_``, are cells of their
    own. ``headline`` marks the standing rows that come first: those of metrics of the kind
    :data:`HEADLINE`, or all but descriptions where a method has none. ``witness`` is the one of
    :data:`WITNESSES` that the metric asks; None of other kinds.
    """
    places: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
    for i, row in enumerate(rows):
        quantity = row["quantity"].removeprefix("random_")
        cell = (*(row[name] for name in CELL_IDS), quantity != row["quantity"])
        if quantity in STANDING:
            places[cell][quantity] = i
    first = {by_quantity[min(by_quantity, key=STANDING.index)] for by_quantity in places.values()}
    marked = [{**row, "stands": i in first} for i, row in enumerate(rows)]
    foreseen = {_method_of(row) for row in marked if row["stands"] and foresees(row)}
    return [
        {
            **row,
            "headline": _is_headline(row, foreseen),
            "witness": WITNESSES.get(row.get("metric_kind") or ""),
        }
        for row in marked
    ]


def rank_of(row: Row) -> str:
    """Return the rank of a standing row of a method, one of :data:`RANKS`."""
    if row["headline"]:
        return "headline"
    return "description" if is_description(row) else "beside"


def foresees(row: Row) -> bool:
    """Return whether a row is of a metric of the kind :data:`HEADLINE`."""
    return row.get("metric_kind") == HEADLINE


def _method_of(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in CELL_IDS if name != "metric")


def _is_headline(row: Row, foreseen: Collection[tuple[object, ...]]) -> bool:
    if not row["stands"] or is_description(row):
        return False
    return foresees(row) or _method_of(row) not in foreseen


def _contradicted(
    rows: Sequence[Row], all_members: Sequence[Sequence[int]], level: float
) -> BoolArray:
    """Return (n,) whether a gap by removal is shown, and another one in the other direction.

    Both stand, and are of one method and pair of groups. What is worse when its words are removed
    cannot be better when they are kept alone: certainty does that, or a search that misses words.
    """
    signs = np.zeros(len(rows))
    for members in all_members:
        family = [rows[i] for i in members]
        p_mean = _column(family, "p_mean")
        (shown, _) = behind_gates(p_mean, _gates(family, p_mean))["bh"]
        higher = np.array([row.get("metric_direction") == "higher" for row in family])
        signs[members] = np.where(shown <= level, np.sign(_column(family, "d")), 0.0)
        signs[members] *= np.where(higher, 1.0, -1.0)
    contradicted = np.zeros(len(rows), dtype=bool)
    removals = [i for i, row in enumerate(rows) if row.get("stands") and _is_removal(row)]
    for places in grouped(removals, lambda i: _compared_in(rows[i])).values():
        directions = signs[places]
        if directions.max() > 0 > directions.min():
            contradicted[places] = directions != 0
    return contradicted


def _is_removal(row: Row) -> bool:
    return WITNESSES.get(row.get("metric_kind") or "") == "removal"


def _compared_in(row: Row) -> tuple[object, ...]:
    """Return what the metrics share that are asked about one gap."""
    return *_method_of(row), quantity_of(row)


def _judged(rows: Sequence[Row], alpha: float, contradicted: BoolArray) -> dict[str, list[object]]:
    level = SHARE_OF_CLAIM * alpha
    n_seeds = _column(rows, "n_seeds", 2)
    p_large = _column(rows, "p_large")
    is_single = n_seeds == 1
    p_mean = _column(rows, "p_mean")
    p_values = {
        "p_large": p_large,
        "p_small": np.where(is_single, _column(rows, "equivalence_p"), _column(rows, "p_small")),
        "p_cross": np.maximum(p_large, _column(rows, "p_cross")),
    }
    guarded = _column(rows, "p_large_others") <= alpha
    signs = _signs_by_scale(rows, level)
    no_scale_differs = (signs == 0).all(axis=0)
    untested = np.isnan([p_mean, *p_values.values()]).all(axis=0)
    columns: dict[str, list[object]] = {}
    gates = _gates(rows, p_mean)
    behind = behind_gates(p_mean, gates)
    for verdict, (name, correct) in zip(
        ("verdict", "verdict_strict"), _CORRECTIONS.items(), strict=True
    ):
        p_mean_behind, gate_p = behind[name]
        corrected = {"p_mean": p_mean_behind}
        corrected |= {claim: correct(p) for claim, p in p_values.items()}
        columns[f"omnibus_p_{name}"] = [*_on_pairs(gates, gate_p, len(rows))]
        columns |= {f"{claim}_{name}": p.tolist() for claim, p in corrected.items()}
        holds = {claim: p <= level for claim, p in corrected.items()}
        holds |= {"guarded": guarded, "no_scale_differs": no_scale_differs}
        holds |= {"uncontradicted": ~contradicted}
        proven = [np.all([holds[claim] for claim in rule.claims], axis=0) for rule in VERDICTS]
        words = np.select([untested, *proven], ["", *(rule.id for rule in VERDICTS)], default="")
        columns[verdict] = [word or None for word in words.tolist()]
    is_tested = ~np.isnan(p_mean)
    for name, values in _planned(rows, level / max(1, is_tested.sum())).items():
        columns[name] = np.where(is_tested, values, np.nan).tolist()
    if all("flags" in row for row in rows):
        depends = (signs.max(axis=0) > 0) & (signs.min(axis=0) < 0)
        raised_flags = {DEPENDS_ON_SCALE: depends, REMOVALS_DISAGREE: contradicted}
        columns["flags"] = [
            [*row["flags"], *(flag for flag, raised in raised_flags.items() if raised[i])]
            for i, row in enumerate(rows)
        ]
    return columns


def _gates(rows: Sequence[Row], p_mean: FloatArray) -> list[Gate]:
    """Return the cells of a family, each with the test of all its groups where there is one."""
    places: dict[tuple[object, ...], list[int]] = defaultdict(list)
    omnibus = _column(rows, "omnibus_p")
    for i in np.flatnonzero(~np.isnan(p_mean)).tolist():
        if np.isnan(omnibus[i]):
            places[(i,)].append(i)
        else:
            ids = (rows[i].get(name) for name in CELL_IDS if not name.startswith("group_"))
            places[(*ids, quantity_of(rows[i]))].append(i)
    return [
        Gate(pairs, p_mean[pairs[0]], 2)
        if np.isnan(omnibus[pairs[0]])
        else Gate(pairs, omnibus[pairs[0]], int(rows[pairs[0]]["n_groups"]))
        for pairs in places.values()
    ]


def _on_pairs(gates: Sequence[Gate], p: FloatArray, n_rows: int) -> list[float]:
    """Return the corrected p-value of a cell's gate in each of its rows; NaN of a single pair."""
    values = np.full(n_rows, np.nan)
    for gate, corrected in zip(gates, p.tolist(), strict=True):
        if gate.n_groups > 2:
            values[gate.places] = corrected
    return values.tolist()


def _column(rows: Sequence[Row], name: str, missing: float = np.nan) -> FloatArray:
    return np.array([row.get(name, missing) for row in rows], dtype=np.float64)


def _planned(rows: Sequence[Row], level: float) -> dict[str, FloatArray]:
    """Return what would be found at a level, now and in larger studies, and the share of texts."""
    n_seeds = _column(rows, "n_seeds", 2)
    sd = _column(rows, "pooled_sd", 1.0)
    variances = (n_seeds if name == "n_seeds" else _column(rows, name) for name in VARIANCES)
    estimate = Estimate(np.zeros_like(n_seeds), *variances)
    errors = estimate.errors
    studies = {
        "minimal_detectable_effect_corrected": errors,
        TWICE["texts"]: estimate.with_twice_the_texts.errors,
        TWICE["trainings"]: estimate.with_twice_the_trainings.errors,
    }
    unit = sd / np.nan_to_num(_column(rows, "detectable_ratio", 1.0), nan=1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        planned = {
            name: detectable_effect(study_errors, alpha=level) / unit
            for name, study_errors in studies.items()
        }
        planned["text_share"] = errors.second / (estimate.v_seeds + errors.second)
    return planned


def _signs_by_scale(rows: Sequence[Row], level: float) -> FloatArray:
    """Return the sign of each row's gap on each scale that is *different* by itself: (scales, n).

    It is 0 on the others: where no gap is shown, or one that is shown to be small, or none is
    tested.
    """
    signs = []
    for scale in SCALES:
        is_shown = benjamini_hochberg(_column(rows, f"p_{scale}")) <= level
        is_small = benjamini_hochberg(_column(rows, f"p_small_{scale}")) <= level
        sign = np.sign(_column(rows, f"d_{scale}"))
        signs.append(np.where(is_shown & ~is_small, sign, 0.0))
    return np.array(signs)
