"""The exact interval of a share."""

from __future__ import annotations


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
        return float("nan"), float("nan")
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high
