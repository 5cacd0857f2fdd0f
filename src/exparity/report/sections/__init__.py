"""The sections of the page, in order: each is one module here and one template.

A module turns the study into plain values for its template, and into data for its script if it has
one. To add a section, write both and put the module's ``SECTION`` into :data:`SECTIONS`. Those of
analyses are written beside the analyses.
"""

from __future__ import annotations

from exparity.report.context import Section
from exparity.report.sections import (
    bias,
    cost,
    definitions,
    disparity,
    distributions,
    downloads,
    explanations,
    overview,
    published,
)

SECTIONS: tuple[Section, ...] = (
    overview.SECTION,
    disparity.SECTION,
    distributions.SECTION,
    explanations.SECTION,
    bias.SECTION,
    published.SECTION,
    cost.SECTION,
    definitions.SECTION,
    downloads.SECTION,
)
