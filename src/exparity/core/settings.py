"""How groups are compared: one set of settings for tests, verdicts and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from exparity.core.errors import InputError
from exparity.core.flags import Range, Share
from exparity.core.schema import json_schema, violation
from exparity.core.wording import reason


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """How groups are compared.

    Attributes:
        alpha: largest p-value that counts as significant.
        threshold: Cohen's |d| from which an effect counts as considerable.
        ddof: degrees of freedom taken off in the variances of Cohen's d; 0 to match studies that
            divide by n.
        confidence: coverage of intervals.
        resamples: bootstrap resamples, and permutations, of prediction differences; 0 leaves these
            out, and the interval of Cohen's d.
    """

    alpha: Share = 0.05
    threshold: Annotated[float, Range(at_least=0)] = 0.2
    ddof: Literal[0, 1] = 1
    confidence: Share = 0.95
    resamples: Annotated[int, Range(at_least=0, at_most=1_000_000)] = 2000

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        for name, schema in json_schema(Statistics)["properties"].items():
            if error := violation(schema, getattr(self, name)):
                raise InputError(f"statistics.{name}: {reason(error)}")
