"""What a section of the page is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from exparity.report.context import Context


@dataclass(frozen=True)
class Content:
    """What a section shows.

    Attributes:
        values: what its template is given, beside ``study``.
        data: what its script reads, made of mappings, sequences, text and numbers; None if it has
            none. NaN becomes ``null``, infinity the text ``inf`` or ``-inf``.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None


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
