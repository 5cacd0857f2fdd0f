"""How often groups differ, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from exparity.report.terminal.shown import GAP, Shown
from exparity.stats.exact import exact_interval

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def headline(shown: Shown, width: int | None) -> Table:
    """Return shares of significant tests, with intervals, beside the permutation control's."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="")
    table.add_column(f"significant at p ≤ {shown.alpha:g}")
    heads = ["", "share", "95 % interval", "permuted"]
    # The rest goes first where there is no room.
    kept = [True, True, width is None or width >= 74, width is None or width >= 54]
    for head, keep in zip(heads, kept, strict=True):
        if keep:
            table.add_column(head, justify="right", no_wrap=True)
    for name, hits, n, control in _shares(shown):
        low, high = exact_interval(hits, n)
        values: list[str | Text] = [
            f"{hits:,} of {n:,}",
            Text(_percent(hits / n), style="bold"),
            f"{100 * low:.1f} to {_percent(high)}",
            "" if control is None else _percent(control),
        ]
        table.add_row(name, *(v for v, keep in zip(values, kept, strict=True) if keep))
    return table


def _shares(shown: Shown) -> Iterator[tuple[str, int, int, float | None]]:
    """Yield what is counted, how many of how many, and the control's share; as the page does."""
    rows = [row for row in shown.rows if row["p"] == row["p"]]
    if not rows:
        return
    n = len(rows)
    control = _control(shown, "mann_whitney", "across_rows")
    yield "Mann–Whitney U", sum(row["significant"] for row in rows), n, control
    both = sum(row["significant"] and row["considerable"] for row in rows)
    yield f"  and |d| ≥ {shown.threshold:g}", both, n, None
    for column, name in (("significant_holm", "Holm"), ("significant_bh", "Benjamini–Hochberg")):
        if column in rows[0]:
            yield f"  by {name}", sum(row[column] for row in rows), n, None
    p = [row["wilcoxon_p"] for row in shown.rows if row["wilcoxon_p"] == row["wilcoxon_p"]]
    if p:
        control = _control(shown, "wilcoxon", "within_sets")
        hits = sum(value <= shown.alpha for value in p)
        yield "Signed rank, matched sets", hits, len(p), control


def _control(shown: Shown, test: str, scheme: str) -> float | None:
    rows = [row for row in shown.controls if (row["test"], row["scheme"]) == (test, scheme)]
    total = sum(row["n_permutations"] for row in rows)
    return sum(row["n_significant"] for row in rows) / total if total else None


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
