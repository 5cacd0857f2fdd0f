"""Over- and undersampling: within each class every group becomes equally large."""

from __future__ import annotations

from typing import Literal

from exparity.data.training_set import MADE_BY, TrainingSet
from exparity.debiasing import intervention
from exparity.debiasing._cells import cells_of, shuffled_positions, warn_of_empty_cells


@intervention(
    "resampling",
    reference="Chen et al. 2024, arXiv:2404.00463, section 4.1",
    needs_counterfactuals=False,
)
def resampling(
    training_set: TrainingSet, *, mode: Literal["under", "over"] = "under"
) -> TrainingSet:
    """Give every group of a class the size of its smallest or largest group.

    Classes keep their own sizes, and one whose groups are equally large stays as it is. Examples of
    the data and those that an intervention made are resampled apart, each by its own group.

    Args:
        training_set: what to resample.
        mode: ``under`` draws from larger groups without replacement; ``over`` keeps all examples
            and draws more of smaller groups with replacement.
    """
    are_counterfactual = [MADE_BY in example.attributes for example in training_set.examples]
    kept: list[int] = []
    for counterfactual in sorted(set(are_counterfactual)):
        positions = [
            position
            for position, is_counterfactual in enumerate(are_counterfactual)
            if is_counterfactual == counterfactual
        ]
        cells = cells_of(training_set, positions)
        kind = "counterfactual" if counterfactual else "training example"
        message = f"debias resampling: no {kind} of %s; only the groups that a class has are made"
        warn_of_empty_cells(training_set, cells, f"{message} equally large")
        for (label, group), members in cells.items():
            sizes = [len(others) for (other, _), others in cells.items() if other == label]
            size = min(sizes) if mode == "under" else max(sizes)
            order = shuffled_positions(training_set, members)
            draws = training_set.generator("repeat", label, group, int(counterfactual))
            repeats = draws.integers(len(order), size=max(0, size - len(order)))
            kept += order[:size] + [order[index] for index in repeats]
    return training_set.take(sorted(kept))
