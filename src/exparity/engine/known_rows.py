"""Rows of numbers by key, to which one call after the other adds more."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from exparity.types import FloatArray

Key = TypeVar("Key", bound=Hashable)


@dataclass
class KnownRows(Generic[Key]):
    """Rows that were computed, by key.

    Attributes:
        table: (m, ...) rows; those beyond the n keys are empty.
        row_of: row of each key.
    """

    table: FloatArray
    row_of: dict[Key, int] = field(default_factory=dict)

    def add(self, keys: Sequence[Key], computed: FloatArray) -> None:
        """Add the (k, ...) rows of further keys."""
        n_known = len(self.row_of)
        n_all = n_known + len(keys)
        if n_all > len(self.table):
            # Twice as many, so that calls of few keys do not copy all others each time.
            n_rows = max(n_all, 2 * n_known)
            room = np.empty((n_rows, *computed.shape[1:]), dtype=self.table.dtype)
            if n_known:
                room[:n_known] = self.table[:n_known]
            self.table = room
        self.table[n_known:n_all] = computed
        self.row_of.update(zip(keys, range(n_known, n_all), strict=True))
