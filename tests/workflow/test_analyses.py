"""Analyses run where the config names them, and redo nothing else."""

import re

import pytest
from support import TINY
from workflow.conftest import planned

import exparity
from exparity.tools.show import show

pytestmark = pytest.mark.workflow

METRICS = {**TINY["metrics"], "mass_accuracy": {}}
ANALYSES = {"correctness": {}, "attribution_difference": {"min_sets": 3}, "dataset_bias": {}}


def test_named_analyses_are_added_to_a_finished_run(finished):
    figures = {"figures": True}
    finished.configure(metrics=METRICS, analyses=ANALYSES, report=figures)
    assert planned(finished.snakemake().stderr) == {
        "evaluate": 2, "compare": 1, "correctness": 1, "attribution_difference": 1,
        "dataset_bias": 1, "judge": 1, "ranking": 1, "negative_control": 1, "cost": 1, "report": 1,
    }  # fmt: skip
    found = exparity.read_results(finished.results, "correctness")
    assert set(found["metric"]) == {"mass_accuracy"}
    assert set(found["method"]) == set(TINY["methods"])
    differences = exparity.read_results(finished.results, "attribution_differences")
    assert differences["n_sets"].max() == 8
    assert len(exparity.read_results(finished.results, "dataset_bias")) > 20
    snakemakes_report_holds_page_tables_and_figures_with_captions(finished)


def snakemakes_report_holds_page_tables_and_figures_with_captions(finished):
    """It is made without a network."""
    run = finished.snakemake("--report", "report.html")
    assert "ERROR" not in run.stderr  # a caption that is no valid reStructuredText
    added = [line.split()[1] for line in run.stderr.splitlines() if line.startswith("Adding ")]
    files = {
        "disparity-pairs_all-male-female.csv",
        "verdicts.csv",
        "effects-pairs_all-male-female_2col.svg",
    }
    assert {"index.html", *files} <= set(added)
    page = (finished.root / "report.html").read_text(encoding="utf-8")
    for text in ("Tables", "Everything on one page", "disparity-pairs_all-male-female"):
        assert text in page


def test_classifiers_are_measured_where_nothing_is_explained(finished):
    finished.configure(methods={}, metrics={}, report={"figures": True})
    assert planned(finished.snakemake().stderr) == {"cost": 1, "report": 1}
    page = (finished.results / "report" / "index.html").read_text()
    shown = set(re.findall(r'<section id="(\w+)"', page))
    assert {"overview", "bias", "downloads"} <= shown
    assert not {"disparity", "distributions", "explanations"} & shown
    assert "Nothing was explained: the configuration names no methods and metrics." in page
    figures = {path.name.split("-")[0] for path in (finished.results / "report/figures").iterdir()}
    assert figures <= {".snakemake_timestamp", "class_gaps", "roc"}  # of the classifiers alone
    with pytest.raises(exparity.InputError, match="there are no verdicts yet"):
        show(finished.results)
