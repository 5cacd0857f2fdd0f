"""The examples of several artefacts with one row an example, each told apart once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from exparity.artefacts.columns import KEY
from exparity.types import IntArray


class Examples:
    """The examples of several scores artefacts, each once with its facts.

    Each has a number, its place in :attr:`groups` and :attr:`sets`.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, str, str | None]] = {}  # place, group, set
        self._last: tuple[pa.Table, IntArray] | None = None

    def __len__(self) -> int:
        return len(self._known)

    @property
    def ids(self) -> list[str]:
        """(n,) id of each example."""
        return list(self._known)

    @property
    def groups(self) -> list[str]:
        """(n,) group of each example."""
        return [group for _, group, _ in self._known.values()]

    @property
    def sets(self) -> list[str | None]:
        """(n,) matched set of each example, None for one without."""
        return [match for _, _, match in self._known.values()]

    def places(self, table: pa.Table) -> IntArray:
        """Return the number of each row's example; most files hold the examples of the last."""
        keys = table.select([field.name for field in KEY])
        if self._last is not None and keys.equals(self._last[0]):
            return self._last[1]
        rows = zip(*(column.to_pylist() for column in keys.columns), strict=True)
        places = [
            self._known.setdefault(example, (len(self._known), group, match))[0]
            for example, group, match in rows
        ]
        self._last = keys, np.array(places, dtype=np.int64)
        return self._last[1]
