"""Words after the five answers: cautions, untested comparisons, and counts of verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from exparity.report.cautions import dependence_sentences, finding_cautions, small_samples
from exparity.report.conclusions import conclusions_of, in_lines
from exparity.report.context import Context
from exparity.report.gather import Study
from exparity.report.picture import is_controlled
from exparity.report.tables import Table
from exparity.report.verdicts import (
    counts_of,
    is_foreseen,
    moved,
    nothing_found,
    only_certainty,
    untested_sentences,
)
from exparity.report.written import unread_sentences

_COUNTED = {
    "headline": "{clear} results are clear{how}",
    "beside": "By other measures, {clear} are clear",
    "description": "In how concentrated explanations are, {clear} are clear",
}
"""Beginnings of the lines on how many verdicts are decided."""


def finding_words(study: Study, tables: Sequence[Table]) -> dict[str, object]:
    """Return the variables of the findings' template."""
    cells = [cell for table in tables for cell in table.cells.values()]
    rows = [cell.standing for cell in cells if cell.standing is not None]
    compared = [row for row in rows if row.headline]
    return {
        "untested_sentences": untested_sentences(rows),
        "cautions": finding_cautions(study, tables),
        "controlled": is_controlled(study),
        "nothing_found": nothing_found(compared, one_training=study.one_training),
        "certainty_alone": certainty_sentences(study, tables),
    }


def certainty_sentences(study: Study, tables: Sequence[Table]) -> list[str]:
    """Return a sentence for each metric whose scores or excess differ but whose skill does not."""
    methods_of: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        name = study.display("dataset", table.dataset)
        if len(study.declared(table.dataset).groups) > 2:
            name += f", {table.group_a} − {table.group_b}"
        for (model, method, metric), cell in table.cells.items():
            sentence = only_certainty(cell.verdicts)
            if sentence:
                reason = f"{study.display('metric', metric)}, {model} on {name}. {sentence}"
                gaps = f"{study.display('method', method)}: {moved(cell.verdicts)}"
                methods_of[reason].append(gaps)
    return [f"{reason} {'; '.join(methods)}." for reason, methods in methods_of.items()]


def in_plain_words(context: Context) -> Iterator[str]:
    """Yield the beginning of the page as lines of text: the five answers, cautions and counts."""
    study = context.study
    tables = context.tables
    yield from in_lines(conclusions_of(context))
    for sentence in [*dependence_sentences(study), *small_samples(study, tables)]:
        yield f"Caution: {sentence}"
    yield from unread_sentences(context.written, study)
    rows = [cell.standing for table in tables for cell in table.cells.values() if cell.standing]
    how = ", by how well explanations foresee the classifier" if is_foreseen(rows) else ""
    for counts in counts_of(rows):
        if counts.quantity not in _COUNTED:
            continue
        several = {verdict: n for verdict, n in counts.by_verdict.items() if n}
        several |= {"not tested": counts.untested} if counts.untested else {}
        clear = f"{counts.decided:,} of {counts.total:,}"
        yield (
            f"{_COUNTED[counts.quantity].format(clear=clear, how=how)}: "
            f"{', '.join(f'{n:,} {verdict}' for verdict, n in several.items())}."
        )
