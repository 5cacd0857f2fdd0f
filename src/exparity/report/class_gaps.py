"""Statistical and causal gaps of each class, beside those of a published study.

Chen, Ji and Evans (2024), figures 2, 5, 10 and 11: a point is a class of one classifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.files import read_artefact
from exparity.core.grouping import grouped
from exparity.published.gaps import GapComparison
from exparity.published.output import Comparison
from exparity.report.bias import RATES
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd
from exparity.report.rows import ClassifierBias

_METRICS = {"tpr_gap": "sg_tpr", "causal_tpr_gap": "cg_tpr"}
_METRICS |= {"fpr_gap": "sg_fpr", "causal_fpr_gap": "cg_fpr"}
"""Published metrics by our quantity."""


@dataclass(frozen=True)
class ClassGap:
    """Gaps of one class and rate of a model: first minus second group, means over seeds.

    Attributes:
        dataset, model, group, group_b, class_name, rate: what they are of.
        statistical, causal: the gaps, in [-1, 1]; None where undefined.
        share: share of the first group among the training examples of the class that are of either;
            None without any, or where the data are not there.
        published_statistical, published_causal: those of the study; None without a counterpart.
    """

    dataset: str
    model: str
    group: str
    group_b: str
    class_name: str
    rate: str
    statistical: float | None
    causal: float | None
    share: float | None
    published_statistical: float | None
    published_causal: float | None


def class_gaps(study: Study, published: Mapping[str, Comparison]) -> list[ClassGap]:
    """Return the gaps of every class, of datasets with counterfactuals."""
    comparison = published.get("gaps")
    theirs = _published(comparison) if isinstance(comparison, GapComparison) else {}
    sign = comparison.study.sign if isinstance(comparison, GapComparison) else None
    gaps = []
    with_causal = {row.dataset for row in study.bias if row.quantity == "flip_rate"}
    quantities = {f"{kind}{rate}_gap" for rate in RATES for kind in ("", "causal_")}
    ids = attrgetter("dataset", "model", "group", "group_b", "class_name")
    rows = (
        row
        for row in study.bias
        if row.dataset in with_causal and row.quantity in quantities and row.class_name
    )
    shares = {dataset: _shares(study, dataset) for dataset in with_causal}
    for key, cell in grouped(rows, ids).items():
        dataset, model, group, group_b, class_name = key
        means = {quantity: _mean(part) for quantity, part in _by_quantity(cell).items()}
        share = _share(shares[dataset], class_name, group, group_b)
        direction = sign(group, group_b) if sign else 0
        for rate in RATES:
            statistical = f"{rate}_gap"
            causal = f"causal_{rate}_gap"
            gaps.append(
                ClassGap(
                    dataset=dataset,
                    model=model,
                    group=group,
                    group_b=group_b,
                    class_name=class_name,
                    rate=rate,
                    statistical=means.get(statistical),
                    causal=means.get(causal),
                    share=share,
                    published_statistical=_signed(
                        theirs, direction, model, statistical, class_name
                    ),
                    published_causal=_signed(theirs, direction, model, causal, class_name),
                )
            )
    return gaps


def _signed(
    published: Mapping[tuple[str, str, str], float],
    direction: int,
    model: str,
    quantity: str,
    class_name: str,
) -> float | None:
    """Return a published gap with our sign; None without one, or of other groups."""
    gap = published.get((model, _METRICS.get(quantity, ""), class_name))
    return None if gap is None or not direction else direction * gap


def _by_quantity(rows: Sequence[ClassifierBias]) -> dict[str, list[ClassifierBias]]:
    return grouped(rows, attrgetter("quantity"))


def _mean(rows: Sequence[ClassifierBias]) -> float | None:
    return mean_and_sd([row.value for row in rows])[0]


def _published(comparison: GapComparison) -> dict[tuple[str, str, str], float]:
    """Return the published gaps of classes by our model, their metric and the class."""
    gaps: dict[tuple[str, str, str], float] = {}
    for match in comparison.gaps:
        if match.class_name and match.theirs is not None and not match.note:
            for model in match.our_model.split(", "):
                # The mean over runs comes last, after the single run of another figure.
                gaps[model, match.metric, match.class_name] = match.theirs
    return gaps


def _shares(study: Study, dataset: str) -> Mapping[tuple[str, str], int]:
    """Count the training examples of each class and group; none where the data are not there."""
    path = study.path("data", dataset=dataset)
    if not path.is_file():
        return {}
    classes = study.declared(dataset).classes
    columns = read_artefact(path, "data")[0].select(["split", "label", "group"]).to_pandas()
    trained = columns[columns["split"] == "train"]
    counts = trained.groupby(["label", "group"], observed=True).size()
    return {(classes[label], str(group)): int(n) for (label, group), n in counts.items()}


def _share(
    counts: Mapping[tuple[str, str], int], class_name: str, group: str, group_b: str
) -> float | None:
    n_first = counts.get((class_name, group), 0)
    n_both = n_first + counts.get((class_name, group_b), 0)
    return n_first / n_both if n_both else None
