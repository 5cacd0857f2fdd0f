"""Sections of the page, and the study that they are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exparity.artefacts.columns import Export
from exparity.published.output import Comparison
from exparity.report.bias import BiasTable
from exparity.report.gather import Study
from exparity.report.means import MeanTable
from exparity.report.provenance import ArtefactOrigin
from exparity.report.scores import Scores
from exparity.report.tables import Table


@dataclass(frozen=True)
class Content:
    """Content of a section.

    Attributes:
        values: what its template is given, beside ``study``.
        data: what its script reads, made of mappings, sequences, text and numbers; None if it has
            none. NaN becomes ``null``, infinity the text ``inf`` or ``-inf``.
        unfolded: whether readers see it without opening it.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None
    unfolded: bool = False


@dataclass(frozen=True)
class Section:
    """One section.

    Attributes:
        id: its anchor.
        title: its heading.
        build: turns the context into content; None leaves the section out.
        script: file under ``assets`` that makes it interactive; None if nothing does.
        template: its template's text; ``templates/sections/{id}.html.j2`` if None.
    """

    id: str
    title: str
    build: Callable[[Context], Content | None]
    script: str | None = None
    template: str | None = None


@dataclass(frozen=True)
class Context:
    """A study and all that its page may show."""

    study: Study
    folder: Path
    tables: Sequence[Table]
    means: Sequence[MeanTable]
    bias_tables: Sequence[BiasTable]
    causal_tables: Sequence[BiasTable]
    published: Mapping[str, Comparison]
    scores: Scores
    origins: Sequence[ArtefactOrigin]
    costs: Sequence[Mapping[str, Any]]
    exports: Sequence[Export]
    sections: Sequence[Section]
