"""Change of gaps under debiasing over all trainings, beside what changed in the classifiers."""

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
    random_change: float

    @property
    def outcome(self) -> str:
        """The verdict, with the direction of a difference."""
        if self.verdict and named(self.verdict).favours:
            return f"{self.verdict}, {'smaller' if self.change < 0 else 'larger'}"
        return self.verdict or "not tested"


@dataclass(frozen=True)
class ClassifierChange:
    """What a recipe changes in the classifier: means over trainings, and the base's beside them."""

    dataset: str
    group_a: str
    group_b: str
    model: str
    n_seeds: int
    accuracy: float
    base_accuracy: float
    statistical_gap: float
    base_statistical_gap: float
    causal_gap: float
    base_causal_gap: float


def findings(rows: Rows, study: Study, options: Mapping[str, Any]) -> Findings:
    """Return what the report says: changes with their verdicts, and the classifiers."""
    judged = []
    for row in rows:
        if row["seed"] is None:
            verdicts = study.verdicts[tuple(row[id] for id in CELL_IDS)]
            verdict = verdicts[CHANGES[row["quantity"]]]
            judged.append({**row, **{name: verdict[name] for name in JUDGED}})
    changes = [_record(Change, row) for row in judged]
    of_model = {tuple(row[n] for n in ("dataset", "group_a", "group_b", "model")): row
                for row in judged}  # fmt: skip
    classifiers = [_record(ClassifierChange, row) for row in of_model.values()]
    return Findings(
        {"changes": grouped(changes, _table), "classifiers": grouped(classifiers, _table)},
        [
            Export.of("debiasing", "Change of gaps under debiasing", Change, changes),
            Export.of(
                "debiased_classifiers", "Debiased classifiers", ClassifierChange, classifiers
            ),
        ],
    )


def _table(row: Change | ClassifierChange) -> tuple[str, str, str]:
    return row.dataset, row.group_a, row.group_b


def _record(kind: type[Any], row: Mapping[str, Any]) -> Any:
    return kind(**{one.name: row[one.name] for one in fields(kind)})
