"""Change of gaps under debiasing over all trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
from exparity.core.grouping import grouped
from exparity.report.verdicts import named
from exparity.stages.judge import CHANGES
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.verdicts import JUDGED

if TYPE_CHECKING:
    from exparity.report.gather import Study

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Change:
    """The change of |d| by a recipe over all trainings; see the debiasing artefact.

    Attributes:
        quantity: ``score``, ``excess`` or ``skill``.
        p_mean_bh, p_small_bh: corrected over the cells of a family.
        verdict: one of :data:`~exparity.stats.verdicts.VERDICTS`; None where nothing is tested.
    """

    dataset: str
    group_a: str
    group_b: str
    model: str
    base: str
    method: str
    metric: str
    quantity: str
    n_seeds: int
    absolute_d: float
    base_absolute_d: float
    change: float
    ci_low: float
    ci_high: float
    p_mean_bh: float
    p_small_bh: float
    verdict: str | None
    minimal_detectable_effect: float

    @property
    def outcome(self) -> str:
        """The verdict, with the direction of a difference."""
        if self.verdict and named(self.verdict).favours:
            return f"{self.verdict}, {'smaller' if self.change < 0 else 'larger'}"
        return self.verdict or "not tested"


def findings(rows: Rows, study: Study, options: Mapping[str, Any]) -> Findings:
    """Return what the report says: changes with their verdicts."""
    changes = []
    for row in rows:
        if row["seed"] is None:
            verdict = study.verdicts[tuple(row[id] for id in CELL_IDS)][CHANGES[row["quantity"]]]
            judged = {**row, **{name: verdict[name] for name in JUDGED}}
            changes.append(Change(**{one.name: judged[one.name] for one in fields(Change)}))
    tables = grouped(changes, lambda one: (one.dataset, one.group_a, one.group_b))
    export = Export.of("debiasing", "Change of gaps under debiasing", Change, changes)
    return Findings({"changes": tables}, [export])
