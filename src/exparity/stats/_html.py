"""Comparisons of groups as HTML, for notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from exparity.core.markup import FONT, escape, number_text

if TYPE_CHECKING:
    from exparity.stats.compare import GroupComparison


_CELL = "padding:2px 10px;text-align:right"
_WIDE_CELL = "padding:2px 10px;text-align:left"


def comparison_html(comparison: GroupComparison) -> str:
    """Return a comparison of two groups as a table."""
    lines = [
        "".join(
            f'<th style="{_CELL}">{head}</th>' for head in ("", "n", "mean", "standard deviation")
        )
    ]
    for group, n, mean, sd in (
        (comparison.group_a, comparison.n_a, comparison.mean_a, comparison.sd_a),
        (comparison.group_b, comparison.n_b, comparison.mean_b, comparison.sd_b),
    ):
        values = (str(n), _plain(mean), _plain(sd))
        cells = "".join(f'<td style="{_CELL}">{value}</td>' for value in values)
        lines.append(f'<th style="{_CELL}">{escape(group)}</th>{cells}')
    lines += [
        f'<th style="{_CELL}">{name}</th><td colspan="3" style="{_WIDE_CELL}">{text}</td>'
        for name, text in _facts(comparison).items()
    ]
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="{FONT};border-collapse:collapse;color:inherit">{rows}</table>'


def _facts(comparison: GroupComparison) -> dict[str, str]:
    """Return the lines below the two groups: those that the comparison has something to say in."""
    a, b = escape(comparison.group_a), escape(comparison.group_b)
    significant = ", significant" if comparison.significant else ""
    facts = {
        f"{a} − {b}": f"<b>{_signed(comparison.mean_difference)}</b>",
        "Cohen’s d": _effect(comparison),
        "Mann–Whitney U": f"U = {_count(comparison.U)}, {_p(comparison.p)}{significant}",
    }
    if comparison.n_pairs:
        facts["signed rank"] = (
            f"{comparison.n_pairs} matched sets, {_p(comparison.wilcoxon_p)}, "
            f"d<sub>z</sub> = {_signed(comparison.d_z)}"
        )
    if comparison.omnibus:
        facts[f"all {comparison.n_groups} groups"] = (
            f"{escape(comparison.omnibus.replace('_', '–').title())} "
            f"H = {_plain(comparison.omnibus_statistic)}, {_p(comparison.omnibus_p)}"
        )
    if comparison.n_undefined:
        facts["undefined"] = f"{comparison.n_undefined} of {comparison.n_examples}, left out"
    if comparison.flags:
        facts["flags"] = escape(", ".join(comparison.flags))
    return facts


def _effect(comparison: GroupComparison) -> str:
    text = _signed(comparison.cohens_d)
    if math.isfinite(comparison.d_ci_low):
        text += f" ({_signed(comparison.d_ci_low)} to {_signed(comparison.d_ci_high)})"
    return text + (", considerable" if comparison.considerable else "")


def _plain(value: float) -> str:
    return "undefined" if value != value else number_text(value, signed=False)


def _count(value: float) -> str:
    return "undefined" if value != value else f"{value:,.1f}".removesuffix(".0")


def _signed(value: float) -> str:
    return "undefined" if value != value else number_text(value)


def _p(value: float) -> str:
    if value != value:
        return "p undefined"
    return "p &lt; 0.001" if value < 0.001 else f"p = {value:.3f}"
