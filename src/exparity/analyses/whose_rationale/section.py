"""The section on agreement with groups of raters."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row
from exparity.artefacts.schemas import schema_of
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.raters import chosen_raters, rater_sentences, rater_tables


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where nothing was compared."""
    # A page may be of a part of the grid.
    places = {(*pair, method) for pair in study.pairs for method in study.methods}
    place_of = itemgetter("dataset", "model", "method")
    shown = [row for row in rows if place_of(row) in places]
    if not shown:
        return None
    datasets = grouped(shown, itemgetter("dataset"))
    compared = set(map(itemgetter("dataset", "model"), shown))
    values = {
        "sentences": rater_sentences(shown, study),
        "tables": rater_tables(shown, study),
        "chosen": [chosen_raters(dataset, study) for dataset in datasets],
        "collapsed": [
            study.place(*pair)
            for pair in study.pairs
            if pair[0] in datasets and pair not in compared
        ],
    }
    export = Export("whose_rationale", "Whose rationale", schema_of("whose_rationale"), shown)
    return Findings(values, [export])
