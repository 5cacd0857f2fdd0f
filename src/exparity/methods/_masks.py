"""Registration of methods that ask for the probabilities of a text with parts of it absent."""

from __future__ import annotations

from functools import partial

from exparity.methods import method

masking_method = partial(
    method, signed=True, needs_gradient=False, target="probability", per="token"
)
"""Registers such a method, of tokens or larger units."""
