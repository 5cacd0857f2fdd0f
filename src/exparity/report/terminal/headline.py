"""How often groups differ, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exparity.core.formats import percent
from exparity.report.terminal.selection import GAP, Selection
from exparity.stats.significance import control_rates, headline_shares

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


_NAMES = {
    "plain": "Mann–Whitney U",
    "holm": "  by Holm",
    "bh": "  by Benjamini–Hochberg",
    "paired": "Signed rank, matched sets",
}


def headline(selection: Selection, width: int | None) -> Table:
    """Return shares of significant tests, with intervals, beside the permutation control's."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="")
    table.add_column(f"significant at p ≤ {selection.alpha:g}")
    heads = ["", "share", "95 % interval", "permuted"]
    # The rest goes first where there is no room.
    kept = [True, True, width is None or width >= 74, width is None or width >= 54]
    for head, keep in zip(heads, kept, strict=True):
        if keep:
            table.add_column(head, justify="right", no_wrap=True)
    names = {**_NAMES, "considerable": f"  and |d| ≥ {selection.threshold:g}"}
    controls = control_rates(selection.controls)
    shares = headline_shares(selection.rows, alpha=selection.alpha, controls=controls)
    for counted, share in shares.items():
        low, high = share.interval()
        values: list[str | Text] = [
            f"{share.hits:,} of {share.n:,}",
            Text(percent(share.share), style="bold"),
            f"{100 * low:.1f} to {percent(high)}",
            "" if share.control is None else percent(share.control.rate),
        ]
        table.add_row(names[counted], *(v for v, keep in zip(values, kept, strict=True) if keep))
    return table
