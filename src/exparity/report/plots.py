"""Figures for notebooks, drawn by the same code as the report's.

Figures are none of pyplot's: a notebook shows what a cell
returns, a script saves it with ``savefig``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from exparity.artefacts.columns import records
from exparity.core.calls import array_of, checked, listed
from exparity.core.errors import InputError, shown
from exparity.core.escaping import visible
from exparity.core.settings import DEFAULTS
from exparity.report.figures.distributions import (
    distributions_panel,
    group_marks,
)
from exparity.report.figures.effects import effects_figure
from exparity.report.figures.style import WIDTHS, house_style, new_figure
from exparity.report.figures.verdicts import verdicts_figure
from exparity.report.names import fitted, registered_name
from exparity.report.picture import panels_of
from exparity.report.rows import VerdictRow
from exparity.report.spreads import score_spread
from exparity.report.tables import tables_of
from exparity.stats.seeds import SeedTest, of_quantity
from exparity.stats.verdicts import standing
from exparity.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

Values = Sequence[float] | FloatArray
Groups = Sequence[str]


@checked
def plot_distributions(
    values: Values | Mapping[str, Values],
    groups: Groups | Mapping[str, Groups],
    order: Sequence[str] = ("male", "female"),
    *,
    label: str = "score",
    width: float = WIDTHS["2col"],
) -> Figure:
    """Plot the distribution of scores in each group: violins with boxes.

    Violins end at the 1 % and 99 % quantiles, whiskers at 5 % and 95 %; boxes are quartiles.

    Args:
        values: (n,) scores, NaN where undefined; or several such, by what to write below them.
        groups: (n,) group of each score, or one such for each of ``values``.
        order: the groups, in the order to draw them.
        label: what the scores are.
        width: of the figure, in inches.

    Returns:
        A figure of matplotlib, none of pyplot's.

    Raises:
        InputError: there are no scores, lengths disagree, or a group is not in ``order``.

    Examples:
        >>> import exparity
        >>> figure = exparity.plot_distributions(
        ...     [0.1, 0.2, 0.4, 0.3], ["male", "male", "female", "female"], label="Gini index"
        ... )
        >>> figure.savefig("distributions.pdf")
    """
    order = listed(order, "order", "groups")
    many: Mapping[str, Values] = values if isinstance(values, Mapping) else {"": values}
    if not many:
        raise InputError("there are no scores to plot")
    by_name = groups if isinstance(groups, Mapping) else dict.fromkeys(many, groups)
    places = [_split(part, by_name[name], order, name) for name, part in many.items()]
    with house_style():
        figure = new_figure(width, 2.0)
        axes = figure.subplots()
        distributions_panel(axes, [[score_spread(x) for x in parts] for parts in places])
        names = [fitted(registered_name("method", name), 16) for name in many]
        axes.set_xticks(range(len(many)), names)
        axes.set_ylabel(visible(label, keep="\n"))
        axes.legend(
            handles=group_marks(order), loc="lower right", bbox_to_anchor=(1, 1), ncols=len(order)
        )
    return figure


@checked
def plot_effects(
    tests: pd.DataFrame | Iterable[Mapping[str, object]],
    *,
    threshold: float = DEFAULTS.threshold,
    width: float = WIDTHS["2col"],
) -> Figure:
    """Plot effect sizes with their intervals: a panel per metric, a line per method and model.

    A mark is the mean of Cohen's d over all seeds, filled if most of them are significant; ticks
    are seeds, and the line spans their intervals.

    Args:
        tests: rows of ``tests`` or ``disparity`` as :func:`exparity.read_results` returns them, or
            mappings such as ``{"method": ..., "metric": ..., **vars(comparison)}``; of one dataset
            and one pair of groups.
        threshold: |d| from which an effect is considerable; smaller ones lie on grey.
        width: of the figure, in inches.

    Returns:
        A figure of matplotlib, none of pyplot's.

    Raises:
        InputError: there are no tests, or they are of several datasets or pairs of groups.

    Examples:
        >>> import exparity
        >>> figure = exparity.plot_effects(exparity.read_results("results", "tests"))
        >>> figure.savefig("effects.pdf")
    """
    scores = of_quantity(records(SeedTest, _rows(tests, "tests")), "score")
    if not scores:
        raise InputError("there are no tests to plot whose quantity is 'score'")
    tables = tables_of(scores, threshold=threshold)
    if len(tables) > 1:
        several = ", ".join(f"{t.dataset} ({t.group_a} − {t.group_b})" for t in tables)
        raise InputError(f"tests are of {several}; choose one dataset and pair of groups")
    with house_style():
        return effects_figure(tables[0], width, registered_name, threshold=threshold)


@checked
def plot_verdicts(
    verdicts: pd.DataFrame | Iterable[Mapping[str, object]],
    *,
    threshold: float = DEFAULTS.threshold,
    width: float = WIDTHS["2col"],
) -> Figure:
    """Plot the verdict of every cell: a panel per dataset and pair of groups.

    Args:
        verdicts: rows of ``verdicts`` as :func:`exparity.read_results` returns them. If a cell has
            several quantities, its skill is drawn, else its excess or score.
        threshold: |d| from which a gap is considerable.
        width: of the figure, in inches.

    Returns:
        A figure of matplotlib, none of pyplot's.

    Raises:
        InputError: there are no verdicts.

    Examples:
        >>> import exparity
        >>> figure = exparity.plot_verdicts(exparity.read_results("results", "verdicts"))
        >>> figure.savefig("verdicts.pdf")
    """
    rows = standing(_rows(verdicts, "verdicts"))
    panels = panels_of(records(VerdictRow, rows), registered_name, threshold)
    if not panels:
        raise InputError("there are no verdicts to plot; give rows of 'verdicts'")
    with house_style():
        return verdicts_figure(panels, width)


def _rows(table: pd.DataFrame | Iterable[Mapping[str, object]], name: str) -> list[Any]:
    """Return the rows of a table as mappings."""
    mappings = table.to_dict("records") if hasattr(table, "to_dict") else table
    rows = listed(mappings, name, f"rows of {name}")
    if not rows:
        raise InputError(f"there are no {name} to plot")
    return rows


def _split(values: Values, groups: Groups, order: list[str], name: str) -> list[FloatArray]:
    """Return the scores of each group."""
    scores = f"scores of '{name}'" if name else "scores"
    values = array_of(float, values, scores)
    groups = list(groups)
    if len(values) != len(groups):
        raise InputError(f"{len(values)} {scores}, but there are {len(groups)} groups")
    if unknown := set(groups) - set(order):
        raise InputError(f"{shown(unknown.pop())} is not in order={shown(order)}; name all groups")
    group_of = np.array(groups, dtype=object)
    return [values[group_of == group] for group in order]
