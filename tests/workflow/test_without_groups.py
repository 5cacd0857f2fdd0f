"""Data without groups, beside data with groups and alone: scored and shown, and not compared."""

import re

import pytest
from data.tables import rows_of, write
from support import TINY
from workflow.conftest import planned

import exparity
from exparity.tools.show import show

pytestmark = pytest.mark.workflow
VERBS = ("breaks", "works")


def own_table(checkout) -> dict:
    """Reviews whose verb is the label, and marked."""
    rows = rows_of(
        60,
        text=lambda i: ["the", ["plain", "fine"][i % 3 > 0], "tool", str(i), VERBS[i % 2]],
        label=(0, 1),
        why=[[0, 0, 0, 0, 1]],
    )
    write(checkout.root / "own.jsonl", rows)
    return {"use": "table", "path": "own.jsonl", "rationale": "why", "groups": []}


def sections(checkout) -> set[str]:
    page = (checkout.results / "report" / "index.html").read_text()
    return set(re.findall(r'<section id="(\w+)"', page))


def test_beside_others_and_alone(finished, capsys):
    compared = exparity.read_results(finished.results, "disparity")
    own = own_table(finished)
    metrics = {**TINY["metrics"], "mass_accuracy": {"datasets": ["own"]}}
    finished.configure(datasets={**TINY["datasets"], "own": own}, metrics=metrics)
    added = {"prepare": 1, "finetune": 1, "bias": 1, "explain": 2, "evaluate": 6,
             "cost": 1, "report": 1}  # fmt: skip
    run = finished.snakemake()
    assert planned(run.stderr) == added
    line = "exparity: datasets.own: it has no groups, so it is not compared"
    assert (run.stdout + run.stderr).count(line) == 1
    assert exparity.read_results(finished.results, "disparity").equals(compared)
    assert {"disparity", "means", "bias", "explanations"} <= sections(finished)
    assert "accuracy" not in sections(finished)
    tables = finished.results / "report" / "tables"
    # Of its classifier alone.
    assert {path.name.split("-")[0] for path in tables.glob("*own*")} <= {"confusion", "roc"}
    lines = (tables / "means.csv").read_text().splitlines()
    of_own = [row.split(",")[2:4] for row in lines if row.startswith("own,")]
    assert of_own == [[method, metric] for method in TINY["methods"] for metric in metrics]
    assert len(lines) == 1 + 4 + 6
    show(finished.results, cells=True)
    both = capsys.readouterr().out
    show(finished.results, dataset=["own"], metric=["mass_accuracy"])
    filtered = capsys.readouterr().out

    finished.configure(datasets={"own": own}, metrics=metrics, report={"figures": True})
    assert planned(finished.snakemake().stderr) == {"cost": 1, "report": 1}
    assert {"overview", "means", "distributions", "explanations", "accuracy"} <= sections(finished)
    assert not {"disparity", "bias", "causal_bias"} & sections(finished)
    page = (finished.results / "report" / "index.html").read_text()
    assert "1 dataset without groups: nothing is compared." in page
    figures = {path.name.split("-")[0] for path in (finished.results / "report/figures").iterdir()}
    assert figures - {".snakemake_timestamp"} == {"distributions", "roc"}

    title = "own  no groups: mean score and its interval"
    assert re.search(r"pairs_all  gap .Cohen's d. of male − female", both)
    assert title in both
    assert title in filtered
    assert "pairs_all" not in filtered
    assert "gini" not in filtered
    assert re.search(r"gradient +mass_accuracy +[\d.]+ +\(?[\d.]+ to [\d.]+", filtered)
    with pytest.raises(exparity.InputError, match="there is no metric 'gin'"):
        show(finished.results, metric=["gin"])
