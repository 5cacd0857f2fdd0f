"""What jobs cost: read from finished ones, and estimated from these for those of an experiment."""

from __future__ import annotations

from exparity.costs.kinds import STAGES, Kind

__all__ = ["STAGES", "Kind"]
