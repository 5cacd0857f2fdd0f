"""Comparisons of groups as HTML, for notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from exparity.core.markup import FONT, escape, number_text

if TYPE_CHECKING:
    from exparity.stats.compare import GroupComparison


def comparison_html(found: GroupComparison) -> str:
    """Return a comparison of two groups as a table."""
    a, b = escape(found.group_a), escape(found.group_b)
    rows = [("", "n", "mean", "standard deviation")]
    rows += [
        (name, str(n), _plain(mean), _plain(sd))
        for name, n, mean, sd in (
            (a, found.n_a, found.mean_a, found.sd_a),
            (b, found.n_b, found.mean_b, found.sd_b),
        )
    ]
    facts = [
        (f"{a} − {b}", f"<b>{_signed(found.mean_difference)}</b>"),
        ("Cohen’s d", _effect(found)),
        ("Mann–Whitney U", f"U = {_count(found.U)}, {_p(found.p)}"
         f"{', significant' if found.significant else ''}"),
    ]  # fmt: skip
    if found.n_pairs:
        facts.append(
            ("signed rank", f"{found.n_pairs} matched sets, {_p(found.wilcoxon_p)}, "
             f"d<sub>z</sub> = {_signed(found.d_z)}")
        )  # fmt: skip
    if found.omnibus:
        facts.append(
            (f"all {found.n_groups} groups", f"{escape(found.omnibus.replace('_', '–').title())} "
             f"H = {_plain(found.omnibus_statistic)}, {_p(found.omnibus_p)}")
        )  # fmt: skip
    if found.n_undefined:
        facts.append(("undefined", f"{found.n_undefined} of {found.n_examples}, left out"))
    if found.flags:
        facts.append(("flags", escape(", ".join(found.flags))))
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


def _effect(found: GroupComparison) -> str:
    text = _signed(found.cohens_d)
    if math.isfinite(found.d_ci_low):
        text += f" ({_signed(found.d_ci_low)} to {_signed(found.d_ci_high)})"
    return text + (", considerable" if found.considerable else "")


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
