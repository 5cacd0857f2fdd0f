"""The flags of tests and other rows: what each means, and whether a test with it counts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from exparity.resources import shipped


@dataclass(frozen=True)
class Flag:
    """A flag, an entry of ``resources/flags.toml``.

    Attributes:
        meaning: a clause for readers of the report.
        counts: whether a test that has it counts: in headlines, families and over seeds.
    """

    meaning: str
    counts: bool = True


_FACTS = tomllib.loads(shipped("flags.toml").read_text("utf-8"))
FLAGS: Mapping[str, Flag] = {name: Flag(**facts) for name, facts in _FACTS.items()}
"""Every flag of exparity, by its id."""
