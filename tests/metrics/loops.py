"""References for several metrics, written as loops."""

import math


def naive_gini(scores):
    ordered = sorted(abs(s) for s in scores)
    n, total = len(ordered), math.fsum(ordered)
    if total == 0:
        return math.nan
    return 1 - 2 * math.fsum(
        s / total * ((n - i + 0.5) / n) for i, s in enumerate(ordered, start=1)
    )


def naive_sets(scores, special, based_on, thresholds, only_positive, average_over="distinct"):
    """Token sets per step, with lists and sorting by (score, position)."""
    content = [i for i, s in enumerate(special) if not s]
    ranked = sorted(content, key=lambda i: (scores[i], i), reverse=True)
    sets = []
    for t in thresholds:
        if based_on == "fraction":
            step = ranked[: math.floor(round(t * len(content), 9))]
        else:
            step = [i for i in ranked if scores[i] > t]
        if only_positive:
            step = [i for i in step if scores[i] > 0]
        if average_over == "all" or (step and (not sets or set(step) != sets[-1])):
            sets.append(set(step))
    return sets
