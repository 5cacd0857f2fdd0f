"""Snakemake's own report of a finished run, made without a network."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.workflow


def test_it_holds_page_tables_and_figures_with_captions(finished):
    finished.configure(report={"figures": True})
    assert finished.plan() == {"report": 1}
    finished.snakemake()
    run = finished.snakemake("--report", "report.html")
    assert "ERROR" not in run.stderr  # a caption that is no valid reStructuredText
    added = [line.split()[1] for line in run.stderr.splitlines() if line.startswith("Adding ")]
    files = {"disparity-pairs_all-male-female.csv", "rates.csv", "significance_2col.svg"}
    assert {"index.html", *files} <= set(added)
    page = (finished.root / "report.html").read_text(encoding="utf-8")
    for text in ("Tables", "Everything on one page", "disparity-pairs_all-male-female"):
        assert text in page
