"""A cell of ours beside the published one; both are counted as the study counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CellMatch:
    """One of our cells beside its published one.

    Attributes:
        dataset, model, method, metric: its published ids.
        our_dataset, our_model, our_method, our_metric: ours.
        significant_ours, significant_published: significant runs.
        total_ours, total_published: all runs.
        direction_ours, direction_published: signs of the mean d: 1 where the study's first group
            scores higher; None where no mean is printed.
        mean_d_ours, mean_d_published: mean d over the significant runs; over all of ours where none
            is; None where undefined or not printed.
        sd_d_published: its standard deviation over runs.
        considerable_ours, considerable_published: whether the effect is considerable; None where
            that was not published.
        n_examples: examples that each of our tests had, at least.
        flags: flags of our tests, with blanks between them.
        table: where the count is printed.
        effect_table, effect_label: where the mean is printed, and under which metric.
    """

    dataset: str
    model: str
    method: str
    metric: str
    our_dataset: str
    our_model: str
    our_method: str
    our_metric: str
    significant_ours: int
    significant_published: int
    total_ours: int
    total_published: int
    direction_ours: int
    direction_published: int | None
    mean_d_ours: float | None
    mean_d_published: float | None
    sd_d_published: float | None
    considerable_ours: bool
    considerable_published: bool | None
    n_examples: int
    flags: str
    table: str
    effect_table: str | None
    effect_label: str | None
