"""The verdict of each cell over all trainings: *different*, *equivalent* or *undecided*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from exparity.stats.multiplicity import benjamini_hochberg, families, holm
from exparity.stats.power import DETECTED, minimal_detectable_effect

Verdict = Literal["different", "equivalent", "undecided"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_SILENT: Mapping[str, Any] = {
    **dict.fromkeys(("p_holm", "p_bh", "equivalence_p_holm", "equivalence_p_bh"), float("nan")),
    **dict.fromkeys(("verdict", "verdict_bh", "verdict_uncorrected")),
    "minimal_detectable_effect_corrected": float("nan"),
}


def verdict_of(p: float, equivalence_p: float, alpha: float) -> Verdict:
    """Return what two tests of one gap say together.

    A gap can differ from zero and still be smaller than the threshold: with enough trainings and
    texts every gap differs. Such a cell is ``equivalent``, because the question is whether
    explanations serve groups unequally, and that no considerable gap is left is the stronger
    answer. ``different`` then always says both: the gap is not zero, and it is not shown to be
    negligible. A gap that was not tested is ``undecided``.

    Args:
        p: p-value of "there is no gap"; NaN if not tested.
        equivalence_p: p-value of "the gap is at least the threshold"; NaN if not tested.
        alpha: largest p-value that is significant.
    """
    if equivalence_p <= alpha:
        return "equivalent"
    return "different" if p <= alpha else "undecided"


def judge(
    rows: Sequence[Mapping[str, Any]],
    family: Sequence[str] = ("dataset",),
    *,
    alpha: float = 0.05,
    power: float = DETECTED,
    prefix: str = "",
) -> list[dict[str, Any]]:
    """Give every cell its verdict, corrected for how many cells its family has.

    The p-values of gaps and those of equivalence are corrected apart from each other. By Holm's,
    the probability of calling any cell of a family different that has no gap is at most α, and so
    is that of calling any equivalent that has a considerable one.

    Args:
        rows: rows of the ``across_trainings`` artefact, with the ids that ``family`` names.
        family: see :func:`~exparity.stats.multiplicity.families`; ``seed`` does not count, since a
            row stands for all seeds.
        alpha: largest corrected p-value that is significant.
        power: of the minimal detectable effect.
        prefix: of the columns, such as ``excess_``.

    Returns:
        The rows with ``p_holm``, ``p_bh``, ``equivalence_p_holm`` and ``equivalence_p_bh``;
        ``verdict`` (by Holm's p-values), ``verdict_bh`` and ``verdict_uncorrected``; and
        ``minimal_detectable_effect_corrected``, the |d| that a test finds at α over the number of
        tests of its family. All names have the prefix. A row without any scores, or that is not
        :func:`~exparity.stats.informative.is_informative`, has no verdict.

    Raises:
        InputError: ``family`` names something else than an id.
    """
    judged = [dict(row) for row in rows]
    for members in families(rows, [name for name in family if name != "seed"]):
        tested = [i for i in members if rows[i].get(f"{prefix}n_seeds", 1)]
        columns = _judged([rows[i] for i in tested], prefix, alpha, power)
        for name, values in columns.items():
            for i, value in zip(tested, values, strict=True):
                judged[i][prefix + name] = value
    for row in judged:
        for name, missing in _SILENT.items():
            row.setdefault(prefix + name, missing)
    return judged


def _judged(
    rows: Sequence[Mapping[str, Any]], prefix: str, alpha: float, power: float
) -> dict[str, list[Any]]:
    """Return the new columns of one family, without the prefix of their names."""
    p, equivalence_p, error, dof, sd = (
        np.array([row[prefix + name] for row in rows], dtype=np.float64)
        for name in ("p", "equivalence_p", "standard_error", "dof", "pooled_sd")
    )
    p_values = {
        "_holm": (holm(p), holm(equivalence_p)),
        "_bh": (benjamini_hochberg(p), benjamini_hochberg(equivalence_p)),
        "_uncorrected": (p, equivalence_p),
    }
    columns: dict[str, list[Any]] = {}
    for by in ("_holm", "_bh"):
        for name, values in zip(("p", "equivalence_p"), p_values[by], strict=True):
            columns[name + by] = values.tolist()
    for by, pair in p_values.items():
        verdicts = [verdict_of(one, other, alpha) for one, other in zip(*pair, strict=True)]
        columns["verdict" + by.removesuffix("_holm")] = verdicts
    tests = max(1, int((~np.isnan(p)).sum()))
    detectable = minimal_detectable_effect(error / sd, dof, alpha=alpha / tests, power=power)
    columns["minimal_detectable_effect_corrected"] = detectable.tolist()
    return columns
