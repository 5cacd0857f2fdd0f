"""Quadrature rules for integrals along a path."""

from __future__ import annotations

import numpy as np

from exparity.interface import FloatArray


def gauss_legendre(n_steps: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of the Gauss–Legendre rule on [0, 1].

    Args:
        n_steps: number of nodes, at least 1.

    Returns:
        (n_steps,) nodes, ascending, and (n_steps,) weights, which sum to 1.
    """
    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    return (nodes + 1) / 2, weights / 2
