"""What the permutation control found over many results: is a test's error rate what it says?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.stats.exact import exact_interval

NAN = float("nan")


@dataclass(frozen=True)
class ControlRate:
    """How often one test found a difference between permuted groups, over many results.

    Attributes:
        scheme: how labels were permuted.
        test: the test.
        n_results: results (files and pairs of groups) whose permutations were tested.
        n_degenerate: results where nothing could be tested; they are in no other count.
        n_permutations: permutations tested.
        n_significant: of these, the significant ones.
        rate: their share, to be compared with α; NaN without permutations.
        low: lower end of its interval.
        high: upper end of its interval.
    """

    scheme: str
    test: str
    n_results: int
    n_degenerate: int
    n_permutations: int
    n_significant: int
    rate: float
    low: float
    high: float


def control_rates(
    rows: Sequence[Mapping[str, Any]], *, confidence: float = 0.95
) -> list[ControlRate]:
    """Sum up rows of the controls artefact by scheme and test.

    Permutations are drawn independently of each other, also those of different results, so that
    their number of significant ones is a sum of independent draws. The interval is that of Clopper
    and Pearson (1934). It is wider than needed where results differ in their rates, never narrower.

    Args:
        rows: rows of the controls artefact, all or some of them.
        confidence: coverage of the interval, in (0, 1).

    Returns:
        One rate per scheme and test, sorted by both.
    """
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["scheme"], row["test"]].append(row)
    return [_rate(*key, grouped[key], confidence) for key in sorted(grouped)]


def _rate(
    scheme: str, test: str, rows: Sequence[Mapping[str, Any]], confidence: float
) -> ControlRate:
    tested = [row for row in rows if row["n_permutations"]]
    total = sum(row["n_permutations"] for row in tested)
    significant = sum(row["n_significant"] for row in tested)
    rate, low, high = NAN, NAN, NAN
    if total:
        rate = significant / total
        low, high = exact_interval(significant, total, confidence)
    return ControlRate(
        scheme=scheme,
        test=test,
        n_results=len(tested),
        n_degenerate=len(rows) - len(tested),
        n_permutations=total,
        n_significant=significant,
        rate=rate,
        low=low,
        high=high,
    )
