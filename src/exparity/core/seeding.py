"""Random numbers that depend on what is drawn, never on when or beside what.

Every draw comes from a generator keyed by (seed, stage, id, example), so that results are the same
for any batch size and order.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(seed: int, *key: str | int) -> int:
    """Return a seed in [0, 2**63), the same on every machine, for a run's seed and a key."""
    text = "\x1f".join([str(seed), *map(str, key)])
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """Return a numpy generator keyed by ``seed`` and ``key`` (see :func:`derive_seed`)."""
    return np.random.default_rng(derive_seed(seed, *key))
