"""How many tests are significant: the one count behind the page, the terminal and the figures.

Beside it stands how often a test finds a difference between groups permuted within matched sets: is
its error rate what it says?
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exparity.stats.informative import informative

Rows = Sequence[Mapping[str, Any]]
NAN = float("nan")

HEADLINE = {
    "plain": ("p", ""),
    "considerable": ("p", "considerable"),
    "holm": ("p_holm", ""),
    "bh": ("p_bh", ""),
    "paired": ("wilcoxon_p", ""),
    "paired_holm": ("wilcoxon_p_holm", ""),
    "paired_bh": ("wilcoxon_p_bh", ""),
    "excess": ("excess_p", ""),
    "excess_holm": ("excess_p_holm", ""),
    "excess_bh": ("excess_p_bh", ""),
    "excess_paired": ("excess_wilcoxon_p", ""),
    "excess_paired_holm": ("excess_wilcoxon_p_holm", ""),
    "excess_paired_bh": ("excess_wilcoxon_p_bh", ""),
}
"""What a headline counts, in its order: a column of p-values, and one that must hold too."""
_PERMUTED = {"plain": "mann_whitney", "paired": "wilcoxon"}
"""The test whose permutations within matched sets a count stands beside. Over all rows they are no
control: there any test of any scores finds α."""


def exact_interval(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (1934) of a share of independent trials.

    It covers at least as often as it says.

    Args:
        hits: trials that count.
        n: trials.
        confidence: coverage, in (0, 1).

    Returns:
        Low and high end, in [0, 1]; NaN without trials.
    """
    # Not scipy.stats, which takes a second to load.
    from scipy.special import betaincinv

    if not n:
        return NAN, NAN
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


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
        low, high: ends of its interval.
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


def control_rates(rows: Rows, *, confidence: float = 0.95) -> list[ControlRate]:
    """Sum up rows of the controls artefact by scheme and test.

    Permutations are drawn independently of each other, also those of different results, so that
    their number of significant ones is a sum of independent draws. The interval is that of Clopper
    and Pearson (1934). It is wider than needed where results differ in their rates, never narrower.

    Args:
        rows: rows of the controls artefact, all or some of them. Those that are not
            :func:`~exparity.stats.informative.is_informative` are left out.
        confidence: coverage of the interval, in (0, 1).

    Returns:
        One rate per scheme and test, sorted by both.
    """
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["scheme"], row["test"]].append(row)
    rates = []
    for scheme, test in sorted(grouped):
        tested = [row for row in informative(grouped[scheme, test]) if row["n_permutations"]]
        degenerate = sum(not row["n_permutations"] for row in grouped[scheme, test])
        n = sum(row["n_permutations"] for row in tested)
        hits = sum(row["n_significant"] for row in tested)
        ends = exact_interval(hits, n, confidence)
        rate = hits / n if n else NAN
        rates.append(ControlRate(scheme, test, len(tested), degenerate, n, hits, rate, *ends))
    return rates


@dataclass(frozen=True)
class SignificantShare:
    """A share of tests that are significant.

    Attributes:
        hits: significant tests.
        n: tests with a p-value.
        control: the same share with groups dealt at random within matched sets; None if that was
            not done.
        random: the same share of the scores of random explanations; None if there are none.
    """

    hits: int
    n: int
    control: ControlRate | None = None
    random: SignificantShare | None = None

    @property
    def share(self) -> float:
        """Share of the tests, in [0, 1]; NaN without tests."""
        return self.hits / self.n if self.n else NAN

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact interval of the share, as if tests were independent."""
        return exact_interval(self.hits, self.n, confidence)


def count_significant(
    rows: Rows,
    *,
    alpha: float,
    counted: str = "plain",
    controls: Sequence[ControlRate] = (),
    random_rows: Rows = (),
) -> SignificantShare:
    """Count the significant ones among tests.

    Those without a p-value are not counted, nor those that are not
    :func:`~exparity.stats.informative.is_informative`.

    Args:
        rows: rows of the tests or disparity artefact.
        alpha: largest p-value that is significant.
        counted: what counts, of :data:`HEADLINE`.
        controls: rates of the permutation control of these tests.
        random_rows: rows of the random_tests artefact: of the same metrics and classifiers.
    """
    p, column = HEADLINE[counted]
    tested = [row for row in informative(rows) if row[p] == row[p]]
    hits = sum(bool(row[p] <= alpha and (not column or row[column])) for row in tested)
    key = _PERMUTED.get(counted), "within_sets"
    control = next((c for c in controls if (c.test, c.scheme) == key and c.n_permutations), None)
    random = None
    if counted in _PERMUTED and random_rows:
        random = count_significant(random_rows, alpha=alpha, counted=counted)
    return SignificantShare(hits, len(tested), control, random)


def headline_shares(
    rows: Rows, *, alpha: float, controls: Sequence[ControlRate] = (), random_rows: Rows = ()
) -> dict[str, SignificantShare]:
    """Count the significant tests by each way of :data:`HEADLINE` that applies to them.

    Args:
        rows: rows of the tests or disparity artefact; without corrections these are left out.
        alpha: largest p-value that is significant.
        controls: rates of the permutation control of these tests.
        random_rows: see :func:`count_significant`.
    """
    beside: Mapping[str, Any] = {"controls": controls, "random_rows": random_rows}
    shares = {
        counted: count_significant(rows, alpha=alpha, counted=counted, **beside)
        for counted, (p, _) in HEADLINE.items()
        if rows and p in rows[0]
    }
    return {counted: share for counted, share in shares.items() if share.n}
