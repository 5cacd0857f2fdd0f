"""Statistical and causal gaps of classes (Chen et al. 2024, figures 2, 5, 10 and 11).

Three panels: the gaps of every model, causal against statistical gaps, and gaps against the share
of a group in the training data. Crosses are published.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from exparity.core.escaping import visible
from exparity.report.class_gaps import ClassGap
from exparity.report.figures.style import (
    BLUE,
    GREY,
    PALE,
    VERMILION,
    WIDTHS,
    new_figure,
    tint,
)
from exparity.report.names import Names, fitted

_KINDS = (("statistical", BLUE, -0.17), ("causal", VERMILION, 0.17))
"""Kinds of gap, their colour, and where they lie beside the place of a model."""


def class_gaps_figure(gaps: Sequence[ClassGap], width: float, names: Names) -> Figure:
    """Draw the gaps of one dataset, rate and pair of groups; each point is a class of a model."""
    narrow = width <= WIDTHS["1col"]
    models = list(dict.fromkeys(gap.model for gap in gaps))
    shape = (3, 1) if narrow else (1, 3)
    figure = new_figure(width, 5.6 if narrow else 2.4)
    ratios = {"height_ratios": [1, 1, 1]} if narrow else {"width_ratios": [1.4, 1, 1]}
    by_model, against, by_share = figure.subplots(*shape, gridspec_kw=ratios)
    _by_model(by_model, gaps, models)
    labels = [fitted(names("model", model), 16) for model in models]
    turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    by_model.set_xticks(range(len(models)), labels, **(turned if len(models) > 3 else {}))
    _against(against, gaps)
    _by_share(by_share, gaps)
    group_a = visible(gaps[0].group)
    by_model.set_ylabel(f"gap, {group_a} − {visible(gaps[0].group_b)}")
    by_share.set_xlabel(f"share of {group_a} in the training data")
    figure.legend(handles=_legend(gaps), loc="outside upper left", ncols=3)
    return figure


def _by_model(axes: Axes, gaps: Sequence[ClassGap], models: Sequence[str]) -> None:
    axes.axhline(0, color=GREY, lw=0.5)
    for place, model in enumerate(models):
        own_gaps = [gap for gap in gaps if gap.model == model]
        for kind, colour, shift in _KINDS:
            ours = [getattr(gap, kind) for gap in own_gaps]
            theirs = [getattr(gap, f"published_{kind}") for gap in own_gaps]
            _points(axes, [place + shift] * len(ours), ours, "o", colour)
            _points(axes, [place + shift + 0.1] * len(ours), theirs, "x", colour)
    axes.set_xlim(-0.5, len(models) - 0.5)


def _against(axes: Axes, gaps: Sequence[ClassGap]) -> None:
    """Draw causal against statistical gaps; where their signs differ, the ground is grey."""
    both = [abs(v) for gap in gaps for v in (gap.statistical, gap.causal) if v is not None]
    reach = 1.1 * max([*both, 1e-3])
    axes.fill_between([-reach, 0], 0, reach, color=PALE, lw=0)
    axes.fill_between([0, reach], -reach, 0, color=PALE, lw=0)
    axes.plot([-reach, reach], [-reach, reach], "--", color=GREY, lw=0.5)
    _points(axes, [g.statistical for g in gaps], [g.causal for g in gaps], "o", GREY)
    theirs = [gap.published_statistical for gap in gaps]
    _points(axes, theirs, [gap.published_causal for gap in gaps], "x", GREY)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_xlabel("statistical gap")
    axes.set_ylabel("causal gap")


def _by_share(axes: Axes, gaps: Sequence[ClassGap]) -> None:
    axes.axhline(0, color=GREY, lw=0.5)
    shares = [gap.share for gap in gaps]
    for kind, colour, _ in _KINDS:
        _points(axes, shares, [getattr(gap, kind) for gap in gaps], "o", colour)
        _points(axes, shares, [getattr(gap, f"published_{kind}") for gap in gaps], "x", colour)
    axes.set_xlim(-0.03, 1.03)


def _points(
    axes: Axes,
    x: Sequence[float | None],
    y: Sequence[float | None],
    shape: str,
    colour: str,
) -> None:
    """Draw the points that have both values."""
    pairs = [pair for pair in zip(x, y, strict=True) if None not in pair]
    if pairs:
        fill = tint(colour, 0.4)
        axes.plot(*zip(*pairs, strict=True), shape, color=colour, ms=2.2, mew=0.5, mfc=fill)


def _legend(gaps: Sequence[ClassGap]) -> list[Line2D]:
    marks = [(f"{kind} gap", "o", colour) for kind, colour, _ in _KINDS]
    if any(gap.published_statistical is not None for gap in gaps):
        marks.append(("published", "x", GREY))
    return [
        Line2D([], [], marker=shape, color=colour, label=label, ls="", ms=3, mew=0.6)
        for label, shape, colour in marks
    ]
