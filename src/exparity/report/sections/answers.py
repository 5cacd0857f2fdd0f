"""Questions of an auditor of one classifier, each answered in a sentence at the end of the page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

from exparity.core.formats import signed
from exparity.report.context import Content, Context
from exparity.report.sections.findings import (
    dependence_sentences,
    judged_rows,
    one_training,
    unreliable_sentences,
)
from exparity.report.tables import CellKey, Row, Table
from exparity.report.verdicts import detectable, effect_size, is_decided, named


class _Largest(NamedTuple):
    """The cell of the largest gap whose verdict says who is favoured, and its verdict."""

    table: Table
    key: CellKey
    row: Row

    @property
    def better(self) -> str:
        """The group whose explanations are better."""
        return str(self.row["better_group"])

    @property
    def worse(self) -> str:
        """The other group."""
        groups = self.row["group_a"], self.row["group_b"]
        return str(groups[self.better == groups[0]])


def build(context: Context) -> Content | None:
    """Return what the section shows; None where models were trained several times."""
    study = context.study
    if not study.rows or not study.verdicts or not one_training(study):
        return None
    cells = [
        _Largest(table, key, row)
        for table in context.tables
        for key, row in judged_rows(table).items()
        if named(row["verdict"]).favours and row["better_group"]
    ]
    largest = max(cells, key=lambda cell: effect_size(cell.row), default=None)
    answers = {
        "How large is that?": _in_plain_numbers(largest),
        "What should I do next?": " ".join(_next(context, largest))
        or "Nothing, for these groups and texts; check again after each training.",
    }
    return Content({"answers": answers}, unfolded=True)


def _in_plain_numbers(largest: _Largest | None) -> str:
    if largest is None:
        return "No gap was found whose size could be told."
    d, better, worse = largest.row["d"], largest.better, largest.worse
    if not math.isfinite(d):
        return "Every text of one group scores higher than every text of the other."
    if largest.row["quantity"] == "skill":
        of = {largest.row[f"group_{side}"]: 100 * largest.row[f"skill_{side}"] for side in "ab"}
        return (
            "From words at random to the best words that a search finds, explanations of "
            f"{better} go {of[better]:.0f} % of the way, and those of {worse} {of[worse]:.0f} % "
            f"(d = {signed(d)})."
        )
    share = NormalDist().cdf(abs(d) / math.sqrt(2))
    return (
        f"The largest gap is d = {signed(d)}: of one text of {better} and one of {worse}, drawn at "
        f"random, that of {better} is the better explained in {100 * share:.0f} of 100 draws; "
        "without a gap it would be 50."
    )


def _next(context: Context, largest: _Largest | None) -> Iterator[str]:
    study = context.study
    if next(iter(unreliable_sentences(study)), None):
        yield "Improve the classifier first: explanations of one that guesses show little."
    if dependence_sentences(study):
        yield (
            "Compare within classes, since label and group go together: the dialog of each cell "
            "has the gap at equal class."
        )
    if largest is not None:
        yield (
            f"Read explanations of {largest.worse} in the section Explanations, and train the "
            "classifier again with other seeds: a gap that stays is one of the model."
        )
    rows = [row for table in context.tables for row in judged_rows(table).values()]
    n_open = sum(not is_decided(row["verdict"]) for row in rows)
    least = detectable(rows)
    if 2 * n_open > len(rows) and least == least:
        yield (
            f"Take more texts: {n_open} of {len(rows)} cells are undecided, and with these texts "
            f"half of the cells show no gap below |d| = {least:.2g}."
        )
