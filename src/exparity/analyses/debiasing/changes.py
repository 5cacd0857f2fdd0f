"""Changes of gaps under debiasing, arranged by dataset and pair of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from exparity.core.grouping import grouped
from exparity.report.verdicts import named
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.rank_correlation import rank_correlation
from exparity.stats.verdicts import JUDGED

if TYPE_CHECKING:
    from exparity.report.gather import Study

Rows = Sequence[Mapping[str, Any]]
KINDS = ("statistical", "causal")


@dataclass(frozen=True)
class Change:
    """The change of |d| by a recipe over all trainings; see the debiasing artefact.

    Attributes:
        quantity: ``score`` or ``excess``.
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
        return self.verdict or ""

    @property
    def is_shown(self) -> bool:
        """Whether the verdict says that there is a change."""
        return bool(self.verdict) and named(str(self.verdict)).is_gap


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


@dataclass(frozen=True)
class ChangeCorrelation:
    """Spearman's correlation over recipes and seeds of the change of |d| with that of a gap.

    Attributes:
        kind: which gap of the classifier, ``statistical`` or ``causal``.
    """

    dataset: str
    group_a: str
    group_b: str
    method: str
    metric: str
    kind: str
    n: int
    correlation: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True)
class ChangeTable:
    """One dataset and pair of groups.

    Attributes:
        cells: changes of |d| of the scores by (model, method, metric).
        excess: those of the excess over random explanations, where there are any.
        reach: end of the axis of changes; intervals far longer than any change are cut there.
    """

    dataset: str
    group_a: str
    group_b: str
    base: str
    recipes: Sequence[str]
    lines: Sequence[tuple[str, str]]
    cells: Mapping[tuple[str, str, str], Change]
    excess: Mapping[tuple[str, str, str], Change]
    classifiers: Sequence[ClassifierChange]
    correlations: Mapping[tuple[str, str, str], ChangeCorrelation]
    strongest: float
    reach: float

    @property
    def by_metric(self) -> Mapping[str, Sequence[str]]:
        """The methods of each metric."""
        by_metric = grouped(self.lines, itemgetter(1))
        return {metric: [method for method, _ in of] for metric, of in by_metric.items()}

    def place(self, change: float) -> float:
        """Return where a change lies on the axis, from 0 to 100, cut at its ends."""
        return round(50 + 50 * max(-1.0, min(1.0, change / self.reach)), 2)

    def shade(self, change: Change) -> int:
        """Return how large a change is beside the largest, from 0 to 8."""
        known = self.strongest and change.change == change.change
        return round(8 * abs(change.change) / self.strongest) if known else 0


def change_tables(rows: Rows, study: Study) -> list[ChangeTable]:
    """Arrange the changes over trainings, with verdicts, by dataset and pair of groups."""
    judged = []
    for row in rows:
        if row["seed"] is None:
            cell = study.verdicts[tuple(row[id] for id in CELL_IDS)]
            verdict = cell["excess_change" if row["quantity"] == "excess" else "change"]
            judged.append({**row, **{name: verdict[name] for name in JUDGED}})
    of_seeds = [row for row in rows if row["seed"] is not None and row["quantity"] == "score"]
    return [
        _table(key, part, [row for row in of_seeds if _key(row) == key], study)
        for key, part in grouped(judged, _key).items()
    ]


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["dataset"], row["group_a"], row["group_b"]


def _table(key: tuple[str, str, str], judged: Rows, of_seeds: Rows, study: Study) -> ChangeTable:
    cells, excess = (
        {(row["model"], row["method"], row["metric"]): _record(Change, row)
         for row in judged if row["quantity"] == quantity}
        for quantity in ("score", "excess")
    )  # fmt: skip
    changes = cells.values()
    models = [m for d, m in study.pairs if d == key[0]]
    recipes = [model for model in models if any(cell[0] == model for cell in cells)]
    known = {cell[1:] for cell in cells}
    lines = [(k, m) for m in study.metrics for k in study.methods if (k, m) in known]
    of_classifier = {row["model"]: row for row in judged}
    strongest = max([abs(one.change) for one in changes if one.change == one.change], default=0.0)
    ends = [abs(end) for one in changes for end in (one.ci_low, one.ci_high) if end == end]
    return ChangeTable(
        *key,
        base=judged[0]["base"],
        recipes=recipes,
        lines=lines,
        cells=cells,
        excess=excess,
        classifiers=[_record(ClassifierChange, of_classifier[model]) for model in recipes],
        correlations={
            (*line, kind): _correlation(key, line, kind, of_seeds, study.statistics["confidence"])
            for line in lines
            for kind in KINDS
        },
        strongest=strongest,
        reach=max(1.15 * strongest, min(2 * strongest, max(ends, default=0.0))) or 1.0,
    )


def _record(kind: type[Any], row: Mapping[str, Any]) -> Any:
    return kind(**{one.name: row[one.name] for one in fields(kind)})


def _correlation(
    key: tuple[str, str, str], line: tuple[str, str], kind: str, rows: Rows, confidence: float
) -> ChangeCorrelation:
    own = [row for row in rows if (row["method"], row["metric"]) == line]
    correlated = rank_correlation(
        [row["change"] for row in own],
        [row[f"{kind}_gap"] - row[f"base_{kind}_gap"] for row in own],
        confidence=confidence,
    )
    return ChangeCorrelation(*key, *line, kind, **vars(correlated))
