"""Comparisons of groups as HTML, for notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from exparity.core.markup import FONT, escape, number_text

if TYPE_CHECKING:
    from exparity.stats.compare import GroupComparison


def comparison_html(comparison: GroupComparison) -> str:
    """Return a comparison of two groups as a table."""
    a, b = escape(comparison.group_a), escape(comparison.group_b)
    rows = [("", "n", "mean", "standard deviation")]
    rows += [
        (name, str(n), _plain(mean), _plain(sd))
        for name, n, mean, sd in (
            (a, comparison.n_a, comparison.mean_a, comparison.sd_a),
            (b, comparison.n_b, comparison.mean_b, comparison.sd_b),
        )
    ]
    facts = [
        (f"{a} − {b}", f"<b>{_signed(comparison.mean_difference)}</b>"),
        ("Cohen’s d", _effect(comparison)),
        (
            "Mann–Whitney U",
            f"U = {_count(comparison.U)}, {_p(comparison.p)}"
            f"{', significant' if comparison.significant else ''}",
        ),
    ]
    if comparison.n_pairs:
        facts.append(
            (
                "signed rank",
                f"{comparison.n_pairs} matched sets, {_p(comparison.wilcoxon_p)}, "
                f"d<sub>z</sub> = {_signed(comparison.d_z)}",
            )
        )
    if comparison.omnibus:
        facts.append(
            (
                f"all {comparison.n_groups} groups",
                f"{escape(comparison.omnibus.replace('_', '–').title())} "
                f"H = {_plain(comparison.omnibus_statistic)}, {_p(comparison.omnibus_p)}",
            )
        )
    if comparison.n_undefined:
        facts.append(
            ("undefined", f"{comparison.n_undefined} of {comparison.n_examples}, left out")
        )
    if comparison.flags:
        facts.append(("flags", escape(", ".join(comparison.flags))))
    head, *body = rows
    cell = "padding:2px 10px;text-align:right"
    table = "<tr>" + "".join(f'<th style="{cell}">{text}</th>' for text in head) + "</tr>"
    for name, *values in body:
        table += f'<tr><th style="{cell}">{name}</th>'
        table += "".join(f'<td style="{cell}">{value}</td>' for value in values) + "</tr>"
    for name, text in facts:
        table += (
            f'<tr><th style="{cell}">{name}</th>'
            f'<td colspan="3" style="padding:2px 10px;text-align:left">{text}</td></tr>'
        )
    return f'<table style="{FONT};border-collapse:collapse;color:inherit">{table}</table>'


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
