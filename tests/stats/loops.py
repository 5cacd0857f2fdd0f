"""References for several statistics, written as loops over rows."""

import math

import scipy.stats


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
