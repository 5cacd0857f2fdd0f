"""The rule by which skill was judged before limits were of an explanation's own sizes.

Limits were computed at tenths of the words and interpolated between them, the reference was that of
the search alone (both in ``closed_forms.py``), equivalence was one of ranks, and each claim had all
of α. There was no forward simulation. The rule is kept to show what changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from exparity.stats.crossed import CrossedTest
from exparity.stats.skill import Scale


def earlier_word(tests: Mapping[Scale, CrossedTest], alpha: float) -> str | None:
    """Return the verdict of a family of one cell; None where nothing is tested."""
    shown = tests["ranks"]
    if math.isnan(shown.p_mean):
        return None
    signs = {np.sign(test.d) for test in tests.values()}
    p_mean = _largest(tests, "p_mean") if len(signs) == 1 else 1.0
    if shown.n_seeds == 1:
        p_small = shown.equivalence_p
        p_large = p_cross = p_large_others = 1.0
    else:
        p_small = shown.p_small
        p_large = _largest(tests, "p_large")
        p_cross = max(p_large, _largest(tests, "p_cross"))
        p_large_others = _largest(tests, "p_large_others")
    if p_small <= alpha:
        return "equivalent"
    if p_mean <= alpha:
        return "different"
    if p_cross <= alpha and p_large_others <= alpha:
        return "unstable"
    if p_large <= alpha and p_large_others <= alpha:
        return "considerable"
    return "undecided"


def _largest(tests: Mapping[Scale, CrossedTest], name: str) -> float:
    """Return the largest p-value of a claim, 1 where a scale cannot be tested."""
    values = [float(getattr(test, name)) for test in tests.values()]
    return max(1.0 if math.isnan(value) else value for value in values)
