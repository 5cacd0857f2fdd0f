"""Bias of the datasets themselves."""

from __future__ import annotations

from exparity.report.analyses.dataset_bias import dataset_biases
from exparity.report.analyses.gecobench import REFERENCE
from exparity.report.analyses.reading import read_analysis
from exparity.report.context import Context
from exparity.report.sections.section import Content, Section


def _build(context: Context) -> Content | None:
    rows = read_analysis(context.results, context.options, "dataset_bias")
    if not rows:
        return None
    found = dataset_biases(rows, context.study.datasets)
    return Content({"dataset_biases": found, "reference": REFERENCE})


SECTION = Section("dataset_bias", "Dataset bias", _build)
