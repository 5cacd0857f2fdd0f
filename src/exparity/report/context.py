"""What the sections of the page are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.artefacts.exports import Export
from exparity.published.comparison import Comparison
from exparity.report.bias import BiasTable
from exparity.report.gather import Study
from exparity.report.provenance import Origin
from exparity.report.sample import Sample
from exparity.report.scores import Scores
from exparity.report.tables import Table

if TYPE_CHECKING:
    from exparity.report.sections.section import Section


@dataclass(frozen=True)
class Context:
    """A study and all that its page may show.

    Attributes:
        study: the tests and what is needed to read them.
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returned.
        results: folder of all results.
        folder: folder of the page.
        tables: the disparity tables.
        bias_tables: the tables of model bias.
        published: the comparison with published numbers; None if there is nothing to compare with.
        scores: distributions of the scores.
        samples: explanations to show.
        origins: provenance of every artefact.
        costs: what each job took, as :func:`~exparity.report.costs.read_costs` returns it.
        exports: every table as it is downloaded.
        sections: those of the analyses, as the page takes them.
    """

    study: Study
    options: Mapping[str, Any]
    results: Path
    folder: Path
    tables: Sequence[Table]
    bias_tables: Sequence[BiasTable]
    published: Comparison | None
    scores: Scores
    samples: Sequence[Sample]
    origins: Sequence[Origin]
    costs: Sequence[Mapping[str, Any]]
    exports: Sequence[Export]
    sections: Sequence[Section] = ()
